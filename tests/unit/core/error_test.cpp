#include <blockjacobi/error.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

namespace blockjacobi {
namespace {

TEST(ErrorTest, EverythingDerivesFromErrorAndRuntimeError) {
  EXPECT_TRUE((std::is_base_of_v<std::runtime_error, Error>));
  EXPECT_THROW(throw InvalidArgument("x"), Error);
  EXPECT_THROW(throw ParseError("p", 1, "x"), Error);
  EXPECT_THROW(throw BackendUnavailable("x"), Error);
  EXPECT_THROW(throw Unavailable("x"), Error);
  EXPECT_THROW(throw CudaError(2, "x"), Error);
  EXPECT_THROW(throw SingularBlock(0, 0, 1, 1, "x"), Error);
}

TEST(ErrorTest, ParseErrorNamesPathAndLine) {
  const ParseError error("a/b.mtx", 17, "row index '9' is outside 1..5");
  EXPECT_STREQ(error.what(), "a/b.mtx:17: row index '9' is outside 1..5");
  EXPECT_EQ(error.path(), "a/b.mtx");
  EXPECT_EQ(error.line(), 17);
}

TEST(ErrorTest, ParseErrorWithoutALineNamesThePathOnly) {
  const ParseError error("a.mtx", 0, "cannot open");
  EXPECT_STREQ(error.what(), "a.mtx: cannot open");
  EXPECT_EQ(error.line(), 0);
}

TEST(ErrorTest, ParseErrorKeepsLinesBeyond32Bits) {
  const ParseError error("a.mtx", 5'000'000'000, "x");
  EXPECT_EQ(error.line(), 5'000'000'000);
  EXPECT_STREQ(error.what(), "a.mtx:5000000000: x");
}

TEST(ErrorTest, CudaErrorKeepsTheCode) {
  const CudaError error(719, "cudaMemcpy: launch failure");
  EXPECT_EQ(error.code(), 719);
  EXPECT_STREQ(error.what(), "cudaMemcpy: launch failure");
}

TEST(ErrorTest, SingularBlockKeepsItsPlace) {
  const SingularBlock error(3, 12, 4, 2, "block 3 is singular");
  EXPECT_EQ(error.block(), 3);
  EXPECT_EQ(error.first_row(), 12);
  EXPECT_EQ(error.size(), 4);
  EXPECT_EQ(error.info(), 2);
  EXPECT_STREQ(error.what(), "block 3 is singular");
}

}  // namespace
}  // namespace blockjacobi
