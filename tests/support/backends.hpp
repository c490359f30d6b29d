#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <string>

namespace blockjacobi::test {

/// One test body for every backend and scalar: TYPED_TEST_SUITE(Name, BackendCases, BackendCaseName).
template <BackendKind Kind, Scalar T>
struct BackendCase {
  static constexpr BackendKind kind = Kind;
  using Scalar = T;
};

#if defined(BLOCKJACOBI_TEST_CUDA)
using BackendCases =
    ::testing::Types<BackendCase<BackendKind::host, float>, BackendCase<BackendKind::host, double>,
                     BackendCase<BackendKind::host, std::complex<float>>,
                     BackendCase<BackendKind::host, std::complex<double>>, BackendCase<BackendKind::cuda, float>,
                     BackendCase<BackendKind::cuda, double>, BackendCase<BackendKind::cuda, std::complex<float>>,
                     BackendCase<BackendKind::cuda, std::complex<double>>>;
#else
using BackendCases = ::testing::Types<BackendCase<BackendKind::host, float>, BackendCase<BackendKind::host, double>,
                                      BackendCase<BackendKind::host, std::complex<float>>,
                                      BackendCase<BackendKind::host, std::complex<double>>>;
#endif

struct BackendCaseName {
  template <class Case>
  static std::string GetName(int) {
    return std::string(Case::kind == BackendKind::host ? "host_" : "cuda_") +
           to_char(scalar_type<typename Case::Scalar>);
  }
};

/// Fixture with the backend of the case; skips where its device is absent.
template <class Case>
class BackendTest : public ::testing::Test {
 protected:
  using Value = typename Case::Scalar;

  void SetUp() override {
    if (Case::kind == BackendKind::cuda && !Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  }

  static Backend make_backend() { return Case::kind == BackendKind::host ? Backend::host() : Backend::cuda(); }

  /// object.apply(input), through arrays of the backend.
  template <class Object>
  static std::vector<Value> applied(const Object& object, const Backend& backend, const std::vector<Value>& input) {
    Array<Value> in(backend, input), out(backend, input.size());
    object.apply(std::as_const(in).view(), out.view());
    return out.to_host();
  }
};

}  // namespace blockjacobi::test
