#pragma once

#include "backend/host_isa.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace blockjacobi::test {

/// Under a tool of compute-sanitizer (.ci/gpu), which makes kernels slow: tests may do with what reaches the same ones.
inline bool is_under_tool() { return std::getenv("BLOCKJACOBI_TEST_UNDER_TOOL") != nullptr; }

/// The backend of a run, the same for all tests of a program: BLOCKJACOBI_TEST_BACKEND, host or cuda; host if it is not
/// set. host_baseline, host_v2, host_v3 and host_v4 are the host with the kernels for that instruction set; without
/// them the program ends at once, and ctest takes the status for a test that was skipped.
inline BackendKind backend_kind() {
  static const BackendKind kind = [] {
    const char* variable = std::getenv("BLOCKJACOBI_TEST_BACKEND");
    const std::string name = variable != nullptr ? variable : "host";
    if (name == "host") return BackendKind::host;
    if (name == "cuda") return BackendKind::cuda;
    for (const auto isa : {detail::Isa::baseline, detail::Isa::v2, detail::Isa::v3, detail::Isa::v4}) {
      if (name != std::string("host_") + detail::to_string(isa)) continue;
      if (std::ranges::find(detail::host_isas(), isa) == detail::host_isas().end()) {
        std::printf("[  SKIPPED ] no kernels for %s in this library, or the machine does not run them\n", name.c_str());
        std::exit(77);
      }
      detail::use_host_isa(isa);
      return BackendKind::host;
    }
    std::fprintf(stderr, "BLOCKJACOBI_TEST_BACKEND is %s, must be host, cuda or host_ with an instruction set\n",
                 name.c_str());
    std::exit(2);
  }();
  return kind;
}

#ifndef BLOCKJACOBI_TEST_SCALARS  // of a build that leaves some out
#define BLOCKJACOBI_TEST_SCALARS float, double, std::complex<float>, std::complex<double>
#endif

/// One test body for every scalar, on the backend of the run: TYPED_TEST_SUITE(Name, BackendCases, BackendCaseName).
template <Scalar T>
struct BackendCase {
  using Scalar = T;
};

template <class... T>
struct CasesOf {
  using Types = ::testing::Types<BackendCase<T>...>;
};
using BackendCases = CasesOf<BLOCKJACOBI_TEST_SCALARS>::Types;

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
