#include "backend/range.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>
// A tool has the types of NVTX and not what a program has of it.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// What a profiler was told, in order.
std::vector<std::string> told;

nvtxDomainHandle_t on_domain(const char* name) {
  told.push_back(std::string("domain ") + name);
  static int handle = 0;
  return reinterpret_cast<nvtxDomainHandle_t>(&handle);
}

int on_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  told.push_back((domain != nullptr ? "push " : "push without domain ") + std::string(event->message.ascii));
  return 0;
}

int on_pop(nvtxDomainHandle_t domain) {
  told.push_back(domain != nullptr ? "pop" : "pop without domain");
  return 0;
}

/// As a profiler begins: puts its own functions into NVTX's table.
int begin_profiler(NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&on_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&on_push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&on_pop);
  return 1;
}

}  // namespace

/// NVTX looks for this name before it looks for a profiler's library.
extern "C" NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = &begin_profiler;

namespace blockjacobi::detail {
namespace {

TEST(Range, AProfilerSeesItBeginAndEnd) {
  {
    const Range outer("solve");
    const Range inner("iterations");
  }
  EXPECT_EQ(told, (std::vector<std::string>{"domain blockjacobi", "push solve", "push iterations", "pop", "pop"}));
  told.clear();
  try {
    const Range range("set-up");
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(told, (std::vector<std::string>{"push set-up", "pop"}));
}

/// What a call shows, each name once.
template <class Call>
std::set<std::string> ranges_of(Call call) {
  told.clear();
  call();
  std::set<std::string> names;
  std::ptrdiff_t beginnings = 0;
  for (const std::string& line : told)
    if (line.starts_with("push ")) {
      names.insert(line.substr(5));
      ++beginnings;
    }
  EXPECT_EQ(std::count(told.begin(), told.end(), "pop"), beginnings);
  return names;
}

TEST(Range, SetUpApplicationsAndSolversShowThemselves) {
  using Names = std::set<std::string>;
  const index_t n = 40;
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, 3.0});
    if (i > 0) entries.push_back({i, i - 1, -1.0});
    if (i + 1 < n) entries.push_back({i, i + 1, -1.0});
  }
  const Backend backend = Backend::host(1);
  const SparseMatrix<double> A(backend, CsrMatrix<double>::from_triplets(n, n, entries));
  const BlockPartition blocks = BlockPartition::uniform(n, 4);
  EXPECT_EQ(ranges_of([&] { BlockJacobi<double>(A, blocks); }), (Names{"analysis", "set-up"}));

  const BlockJacobi<double> M(A, blocks);
  const std::vector<double> b(n, 1.0);
  std::vector<double> x(n);
  EXPECT_EQ(ranges_of([&] { M.apply(VectorView<const double>(b), VectorView<double>(x)); }), Names{"apply"});

  const auto solve = [&](const auto& solver) {
    return ranges_of([&] {
      std::fill(x.begin(), x.end(), 0.0);
      EXPECT_TRUE(solver().converged());
    });
  };
  EXPECT_EQ(solve([&] { return cg(A, M, b, x); }), (Names{"solve", "start", "iterations", "apply"}));
  EXPECT_EQ(solve([&] { return gmres(A, M, b, x); }), (Names{"solve", "iterations", "apply"}));

  std::vector<double> B(2 * n, 1.0), X(2 * n);
  B[3] = 2.0;
  const auto columns = [&](const auto& solver) {
    return ranges_of([&] {
      std::fill(X.begin(), X.end(), 0.0);
      const auto reports = solver(A, M, MultiVectorView<const double>{B.data(), n, 2, n},
                                  MultiVectorView<double>{X.data(), n, 2, n}, SolveOptions());
      EXPECT_TRUE(reports[0].converged() && reports[1].converged());
    });
  };
  EXPECT_EQ(columns(&cg_columns<double>), (Names{"solve", "start", "iterations"}));
  EXPECT_EQ(columns(&gmres_columns<double>), (Names{"solve", "iterations", "apply to columns"}));

  SolveOptions options;
  options.history = false;
  CgWorkspace<double> workspace(A, M, options);
  SolveStatus status{};
  std::fill(x.begin(), x.end(), 0.0);
  EXPECT_EQ(ranges_of([&] { cg_enqueue(workspace, VectorView<const double>(b), VectorView<double>(x), &status); }),
            (Names{"enqueued solve", "apply"}));
  EXPECT_EQ(status.reason, StopReason::converged);
}

}  // namespace
}  // namespace blockjacobi::detail
