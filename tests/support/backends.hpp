#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace blockjacobi::test {

/// The backend of a run, the same for all tests of a program: BLOCKJACOBI_TEST_BACKEND, host or cuda; host if it is not
/// set.
inline BackendKind backend_kind() {
  static const BackendKind kind = [] {
    const char* name = std::getenv("BLOCKJACOBI_TEST_BACKEND");
    if (name == nullptr || std::string_view(name) == "host") return BackendKind::host;
    if (std::string_view(name) == "cuda") return BackendKind::cuda;
    std::fprintf(stderr, "BLOCKJACOBI_TEST_BACKEND is %s, must be host or cuda\n", name);
    std::exit(2);
  }();
  return kind;
}

/// One test body for every scalar, on the backend of the run: TYPED_TEST_SUITE(Name, BackendCases, BackendCaseName).
template <Scalar T>
struct BackendCase {
  using Scalar = T;
};

using BackendCases = ::testing::Types<BackendCase<float>, BackendCase<double>, BackendCase<std::complex<float>>,
                                      BackendCase<std::complex<double>>>;

struct BackendCaseName {
  template <class Case>
  static std::string GetName(int) {
    return std::string(backend_kind() == BackendKind::host ? "host_" : "cuda_") +
           to_char(scalar_type<typename Case::Scalar>);
  }
};

/// Fixture with the backend of the case; skips where its device is absent.
template <class Case>
class BackendTest : public ::testing::Test {
 protected:
  using Value = typename Case::Scalar;

  void SetUp() override {
    if (backend_kind() == BackendKind::cuda && !Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  }

  static Backend make_backend() { return backend_kind() == BackendKind::host ? Backend::host() : Backend::cuda(); }

  /// object.apply(input), through arrays of the backend.
  template <class Object>
  static std::vector<Value> applied(const Object& object, const Backend& backend, const std::vector<Value>& input) {
    Array<Value> in(backend, input), out(backend, input.size());
    object.apply(std::as_const(in).view(), out.view());
    return out.to_host();
  }
};

}  // namespace blockjacobi::test
