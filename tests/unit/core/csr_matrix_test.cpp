#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/error.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi {
namespace {

template <class F>
void expect_invalid(const std::string& text, F&& f) {
  try {
    f();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << "no '" << text << "' in: " << error.what();
    return;
  }
  ADD_FAILURE() << "no InvalidArgument, expected: " << text;
}

template <class T>
std::vector<T> copy(std::span<const T> s) {
  return {s.begin(), s.end()};
}

template <Scalar T>
void expect_matrix(const CsrMatrix<T>& a, index_t rows, index_t cols, const std::vector<offset_t>& offsets,
                   const std::vector<index_t>& columns, const std::vector<T>& values) {
  EXPECT_EQ(a.rows(), rows);
  EXPECT_EQ(a.cols(), cols);
  EXPECT_EQ(a.nnz(), static_cast<offset_t>(columns.size()));
  EXPECT_EQ(copy(a.row_offsets()), offsets);
  EXPECT_EQ(copy(a.columns()), columns);
  EXPECT_EQ(copy(a.values()), values);
}

template <class T>
class CsrMatrixTest : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CsrMatrixTest, Scalars);

TYPED_TEST(CsrMatrixTest, DefaultIsEmpty) { expect_matrix(CsrMatrix<TypeParam>(), 0, 0, {0}, {}, {}); }

TYPED_TEST(CsrMatrixTest, ConstructorKeepsSortedRowsInPlace) {
  using T = TypeParam;
  std::vector<index_t> columns{0, 2, 1};
  std::vector<T> values{T(1), T(0), T(3)};
  const index_t* columns_data = columns.data();
  const T* values_data = values.data();
  const CsrMatrix<T> a(2, 3, {0, 2, 3}, std::move(columns), std::move(values));
  expect_matrix<T>(a, 2, 3, {0, 2, 3}, {0, 2, 1}, {T(1), T(0), T(3)});
  EXPECT_EQ(a.columns().data(), columns_data);
  EXPECT_EQ(a.values().data(), values_data);
}

TYPED_TEST(CsrMatrixTest, ConstructorSortsRowsAndSumsDuplicates) {
  using T = TypeParam;
  const CsrMatrix<T> a(4, 4, {0, 3, 3, 8, 9}, {2, 0, 2, 3, 1, 3, 1, 3, 0},
                       {T(1), T(2), T(4), T(8), T(16), T(32), T(64), T(128), T(256)});
  expect_matrix<T>(a, 4, 4, {0, 2, 2, 4, 5}, {0, 2, 1, 3, 0}, {T(2), T(5), T(80), T(168), T(256)});
}

TYPED_TEST(CsrMatrixTest, DuplicatesOfSortedRowsAreSummed) {
  using T = TypeParam;
  const CsrMatrix<T> a(2, 3, {0, 3, 5}, {0, 0, 2, 1, 1}, {T(1), T(2), T(4), T(8), T(16)});
  expect_matrix<T>(a, 2, 3, {0, 2, 3}, {0, 2, 1}, {T(3), T(4), T(24)});
}

TYPED_TEST(CsrMatrixTest, DuplicatesAreSummedInTheirOrder) {
  using T = TypeParam;
  using R = real_t<T>;
  const R big = std::numeric_limits<R>::max();
  // Adding the 1 any earlier would lose it.
  const CsrMatrix<T> a(1, 2, {0, 5}, {1, 0, 1, 1, 0}, {T(big), T(1), T(-big), T(1), T(2)});
  expect_matrix<T>(a, 1, 2, {0, 2}, {0, 1}, {T(3), T(1)});
}

TYPED_TEST(CsrMatrixTest, FromTripletsSortsAndSums) {
  using T = TypeParam;
  const std::vector<Triplet<T>> triplets{{2, 1, T(1)}, {0, 2, T(2)}, {2, 0, T(3)}, {0, 2, T(4)}, {0, 0, T(0)}};
  expect_matrix<T>(CsrMatrix<T>::from_triplets(3, 3, triplets), 3, 3, {0, 2, 2, 4}, {0, 2, 0, 1},
                   {T(0), T(6), T(3), T(1)});
}

TYPED_TEST(CsrMatrixTest, FromTripletsTakesEmptyMatrices) {
  using T = TypeParam;
  expect_matrix<T>(CsrMatrix<T>::from_triplets(0, 0, {}), 0, 0, {0}, {}, {});
  expect_matrix<T>(CsrMatrix<T>::from_triplets(2, 0, {}), 2, 0, {0, 0, 0}, {}, {});
}

TYPED_TEST(CsrMatrixTest, FromViewTakesBothBasesAndOffsets) {
  using T = TypeParam;
  const std::vector<index_t> columns{3, 1, 3, 2};
  const std::vector<T> values{T(1), T(2), T(4), T(8)};
  const auto check = [&](auto offset) {
    using O = decltype(offset);
    const std::vector<O> offsets{1, 4, 4, 5};
    const CsrView<T, O> view{3, 3, 4, offsets.data(), columns.data(), values.data(), IndexBase::one, MemorySpace::host};
    expect_matrix<T>(CsrMatrix<T>::from_view(view), 3, 3, {0, 2, 2, 3}, {0, 2, 1}, {T(2), T(5), T(8)});
  };
  check(std::int32_t{});
  check(std::int64_t{});
}

TYPED_TEST(CsrMatrixTest, FromViewOfViewIsTheSameMatrix) {
  using T = TypeParam;
  const CsrMatrix<T> a(2, 3, {0, 2, 3}, {0, 2, 1}, {T(1), T(2), T(3)});
  expect_matrix<T>(CsrMatrix<T>::from_view(a.view()), 2, 3, {0, 2, 3}, {0, 2, 1}, {T(1), T(2), T(3)});
}

TYPED_TEST(CsrMatrixTest, ValuesCanBeChanged) {
  using T = TypeParam;
  CsrMatrix<T> a(1, 1, {0, 1}, {0}, {T(1)});
  a.values()[0] = T(7);
  EXPECT_EQ(a.view().values[0], T(7));
}

TYPED_TEST(CsrMatrixTest, AgreesWithAMapOnRandomTriplets) {
  using T = TypeParam;
  std::mt19937 engine(7);
  for (int trial = 0; trial < 200; ++trial) {
    const auto rows = static_cast<index_t>(1 + engine() % 12), cols = static_cast<index_t>(1 + engine() % 12);
    std::vector<Triplet<T>> triplets(engine() % 80);
    std::map<std::pair<index_t, index_t>, T> oracle;
    for (Triplet<T>& t : triplets) {
      // Small whole numbers: their sums are exact in any order.
      t = {static_cast<index_t>(engine() % static_cast<unsigned>(rows)),
           static_cast<index_t>(engine() % static_cast<unsigned>(cols)), T(static_cast<real_t<T>>(engine() % 100))};
      oracle[{t.row, t.col}] += t.value;
    }
    const auto a = CsrMatrix<T>::from_triplets(rows, cols, triplets);
    ASSERT_NO_THROW(validate(a.view()));
    ASSERT_EQ(a.nnz(), static_cast<offset_t>(oracle.size()));
    auto expected = oracle.begin();
    for (index_t row = 0; row < rows; ++row)
      for (auto k = static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(row)]);
           k < static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(row) + 1]); ++k, ++expected) {
        ASSERT_EQ(row, expected->first.first);
        ASSERT_EQ(a.columns()[k], expected->first.second);
        ASSERT_EQ(a.values()[k], expected->second);
      }
  }
}

TEST(CsrMatrixErrors, Constructor) {
  using M = CsrMatrix<double>;
  expect_invalid("CsrMatrix: rows is -1, must be >= 0", [] { M(-1, 2, {0}, {}, {}); });
  expect_invalid("CsrMatrix: cols is -3, must be >= 0", [] { M(1, -3, {0, 0}, {}, {}); });
  expect_invalid("CsrMatrix: 2 row offsets for 2 rows, must be rows + 1 = 3", [] { M(2, 2, {0, 0}, {}, {}); });
  expect_invalid("CsrMatrix: 0 row offsets for 0 rows", [] { M(0, 0, {}, {}, {}); });
  expect_invalid("CsrMatrix: 1 values for 2 columns", [] { M(1, 2, {0, 2}, {0, 1}, {1.0}); });
  expect_invalid("CsrMatrix: row_offsets[0] is 1, must be 0", [] { M(1, 2, {1, 1}, {0}, {1.0}); });
  expect_invalid("CsrMatrix: row 1 starts at offset 2 and ends at 1", [] { M(2, 2, {0, 2, 1}, {0}, {1.0}); });
  expect_invalid("CsrMatrix: row_offsets[1] is 2, must be nnz + base = 1 + 0", [] { M(1, 2, {0, 2}, {0}, {1.0}); });
  expect_invalid("CsrMatrix: row 1 holds column 2 (position 1), must be >= 0 and < 2", [] {
    M(2, 2, {0, 1, 2}, {0, 2}, {1.0, 2.0});
  });
  expect_invalid("row 0 holds column -5", [] { M(2, 2, {0, 1, 2}, {-5, 1}, {1.0, 2.0}); });
}

TEST(CsrMatrixErrors, FromTriplets) {
  const auto from = [](index_t rows, index_t cols, std::vector<Triplet<double>> t) {
    return [=] { static_cast<void>(CsrMatrix<double>::from_triplets(rows, cols, t)); };
  };
  expect_invalid("rows is -2", from(-2, 1, {}));
  expect_invalid("cols is -1", from(2, -1, {}));
  expect_invalid("from_triplets: entry 1 stands at (4, 0), outside 4 x 5", from(4, 5, {{0, 0, 1.0}, {4, 0, 1.0}}));
  expect_invalid("entry 0 stands at (3, 5), outside 4 x 5", from(4, 5, {{3, 5, 1.0}}));
  expect_invalid("entry 0 stands at (-1, 2)", from(4, 5, {{-1, 2, 1.0}}));
  expect_invalid("entry 0 stands at (1, -2)", from(4, 5, {{1, -2, 1.0}}));
}

template <class O>
class ValidateTest : public testing::Test {
 protected:
  std::vector<O> offsets{0, 2, 2, 3};
  std::vector<index_t> columns{0, 1, 2};
  std::vector<double> values{1.0, 2.0, 3.0};
  CsrView<double, O> view{3, 3, 3, offsets.data(), columns.data(), values.data(), IndexBase::zero, MemorySpace::host};

  void expect(const std::string& text) {
    expect_invalid("validate: " + text, [&] { validate(view); });
  }
};
using Offsets = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(ValidateTest, Offsets);

TYPED_TEST(ValidateTest, AcceptsGoodViews) {
  EXPECT_NO_THROW(validate(this->view));
  this->view.values = nullptr;
  EXPECT_NO_THROW(validate(this->view)) << "patterns need no values";
  this->columns = {1, 0, 2};
  EXPECT_NO_THROW(validate(this->view)) << "unsorted rows are accepted";
  this->columns = {1, 1, 2};
  EXPECT_NO_THROW(validate(this->view)) << "duplicates are accepted";
  this->offsets = {1, 3, 3, 4};
  this->columns = {1, 3, 2};
  this->view.base = IndexBase::one;
  EXPECT_NO_THROW(validate(this->view));
}

TYPED_TEST(ValidateTest, AcceptsNoEntries) {
  this->offsets = {0, 0, 0, 0};
  this->view.nnz = 0;
  this->view.columns = nullptr;
  EXPECT_NO_THROW(validate(this->view));
}

TYPED_TEST(ValidateTest, NamesNegativeSizes) {
  this->view.rows = -4;
  this->expect("rows is -4, must be >= 0");
  this->view.rows = 3;
  this->view.cols = -5;
  this->expect("cols is -5, must be >= 0");
  this->view.cols = 3;
  this->view.nnz = -6;
  this->expect("nnz is -6, must be >= 0");
}

TYPED_TEST(ValidateTest, NamesNullArrays) {
  this->view.columns = nullptr;
  this->expect("columns is null, must hold nnz = 3 columns");
  this->view.row_offsets = nullptr;
  this->expect("row_offsets is null, must hold rows + 1 = 4 offsets");
}

TYPED_TEST(ValidateTest, NamesAWrongFirstOffset) {
  this->offsets[0] = 1;
  this->expect("row_offsets[0] is 1, must be 0, the base");
  this->offsets[0] = 0;
  this->view.base = IndexBase::one;
  this->expect("row_offsets[0] is 0, must be 1, the base");
}

TYPED_TEST(ValidateTest, NamesTheRowWhoseOffsetsDecrease) {
  this->offsets = {0, 3, 2, 3};
  this->expect("row 1 starts at offset 3 and ends at 2");
}

TYPED_TEST(ValidateTest, NamesALastOffsetThatIsNotNnz) {
  this->view.nnz = 2;
  this->expect("row_offsets[3] is 3, must be nnz + base = 2 + 0");
  this->view.nnz = 4;
  this->expect("row_offsets[3] is 3, must be nnz + base = 4 + 0");
}

TYPED_TEST(ValidateTest, NamesAColumnOutOfRange) {
  this->columns[2] = 3;
  this->expect("row 2 holds column 3 (position 2), must be >= 0 and < 3");
  this->columns[2] = -1;
  this->expect("row 2 holds column -1 (position 2)");
  this->offsets = {1, 3, 3, 4};
  this->view.base = IndexBase::one;
  this->columns = {1, 0, 4};
  this->expect("row 0 holds column 0 (position 1), must be >= 1 and < 4");
  this->columns[1] = 2;
  this->expect("row 2 holds column 4 (position 2), must be >= 1 and < 4");
}

TYPED_TEST(ValidateTest, RefusesDeviceViews) {
  this->view.space = MemorySpace::device;
  this->expect("the matrix lies on the device, must be on the host");
}

TYPED_TEST(ValidateTest, FromViewChecksAsValidateAndNeedsValues) {
  this->view.values = nullptr;
  expect_invalid("CsrMatrix::from_view: values is null, must hold nnz = 3 values",
                 [&] { static_cast<void>(CsrMatrix<double>::from_view(this->view)); });
  this->columns[0] = 9;
  expect_invalid("CsrMatrix::from_view: row 0 holds column 9",
                 [&] { static_cast<void>(CsrMatrix<double>::from_view(this->view)); });
}

}  // namespace
}  // namespace blockjacobi
