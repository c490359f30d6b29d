#include "tests/kernels/driver_function.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/two_level.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

// Kernels of the library begin while those before them end, if these allow it. A user's kernel may allow it before it
// has written anything, and one of the library must not take that for an answer.

void ok(CUresult status) {
  if (status != CUDA_SUCCESS) throw std::runtime_error("CUresult " + std::to_string(status));
}

/// y[i] = (3 + i mod 2) x[i] by one thread block, which lets the kernel after it begin if asked to, spends 100 us
/// then, and only now writes.
constexpr const char* late_kernel = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry late(.param .u64 px, .param .u64 py, .param .u32 pn, .param .u32 pearly)
{
  .reg .pred %is_simple, %is_early, %is_done;
  .reg .b32 %i, %n, %step, %early, %weight;
  .reg .b64 %x, %y, %from, %to, %begin, %now;
  .reg .f64 %value, %factor;
  ld.param.u64 %x, [px];
  ld.param.u64 %y, [py];
  ld.param.u32 %n, [pn];
  ld.param.u32 %early, [pearly];
  cvta.to.global.u64 %x, %x;
  cvta.to.global.u64 %y, %y;
  setp.eq.u32 %is_simple, %early, 0;
  @%is_simple bra begin;
  griddepcontrol.launch_dependents;
  mov.u64 %begin, %globaltimer;
wait:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %is_early, %now, 100000;
  @%is_early bra wait;
begin:
  mov.u32 %i, %tid.x;
  mov.u32 %step, %ntid.x;
next:
  setp.ge.u32 %is_done, %i, %n;
  @%is_done bra done;
  mad.wide.u32 %from, %i, 8, %x;
  mad.wide.u32 %to, %i, 8, %y;
  ld.global.f64 %value, [%from];
  and.b32 %weight, %i, 1;
  add.u32 %weight, %weight, 3;
  cvt.rn.f64.u32 %factor, %weight;
  mul.f64 %value, %value, %factor;
  st.global.f64 [%to], %value;
  add.u32 %i, %i, %step;
  bra next;
done:
  ret;
}
)";

/// The kernel of a user, loaded into the current device.
class UsersKernel {
 public:
  UsersKernel() {
    ok(needed_driver_function<decltype(&cuModuleLoadData)>("cuModuleLoadData", 12000)(&module_, late_kernel));
    ok(needed_driver_function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction", 12000)(&function_, module_,
                                                                                            "late"));
  }
  ~UsersKernel() {
    static_cast<void>(needed_driver_function<decltype(&cuModuleUnload)>("cuModuleUnload", 12000)(module_));
  }
  UsersKernel(const UsersKernel&) = delete;
  UsersKernel& operator=(const UsersKernel&) = delete;

  void launch(cudaStream_t stream, const double* x, double* y, std::size_t size, bool early) const {
    auto n = static_cast<unsigned>(size);
    unsigned is_early = early ? 1 : 0;
    void* parameters[] = {&x, &y, &n, &is_early};
    ok(launch_(function_, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  decltype(&cuLaunchKernel) launch_ = needed_driver_function<decltype(&cuLaunchKernel)>("cuLaunchKernel", 12000);
};

class EarlyKernelTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    int major = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    if (major < 9) GTEST_SKIP() << "kernels begin when those before have ended";
  }

  /// What work(early) leaves is the same after kernels that let others begin at once, and after those that do not.
  template <class Work>
  static void expect_same(Work work) {
    const std::vector<double> expected = work(false);
    EXPECT_GT(relative_difference(expected, std::vector<double>(expected.size())), 0.0);
    for (int run = 0; run < 3; ++run) EXPECT_TRUE(same_bits(work(true), expected)) << "run " << run;
  }
};

/// x of one solver after 20 iterations by its phases, from zero.
using Solver = SolveReport (*)(const LinearOperator<double>&, const Preconditioner<double>&, VectorView<const double>,
                               VectorView<double>, const SolveOptions&);
std::vector<double> solution(Solver solve, const LinearOperator<double>& A, const Preconditioner<double>& M,
                             const Array<double>& b) {
  SolveOptions options;
  options.rtol = 0.0;
  options.max_iterations = 20;
  options.restart = 10;
  options.resident = Resident::never;
  Array<double> x(A.backend(), std::vector<double>(b.size()));
  static_cast<void>(solve(A, M, b.view(), x.view(), options));
  return x.to_host();
}
const Solver solvers[] = {&cg<double>,       &fcg<double>,   &minres<double>,
                          &bicgstab<double>, &gmres<double>, &fgmres<double>};

TEST_F(EarlyKernelTest, VectorsAndValuesThatAUserWritesLate) {
  const Backend backend = Backend::cuda();
  const UsersKernel kernel;
  // short rows, and rows that many threads share
  for (const index_t width : {5, 40}) {
    SCOPED_TRACE(width);
    System<double> a{20000, {0}, {}, {}};
    for (index_t row = 0; row < a.rows; ++row) {
      for (index_t j = 0; j < width; ++j) a.columns.push_back((row + 7 * j) % a.rows);
      std::sort(a.columns.end() - width, a.columns.end());
      a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
    }
    a.values = random_vector<double>(a.columns.size(), 3);
    auto system = on<std::int32_t>(backend, a);
    const LinearOperator<double> A(backend, system.view());
    const auto rows = static_cast<std::size_t>(a.rows);
    const Array<double> source(backend, random_vector<double>(rows, 4));
    expect_same([&](bool early) {
      Array<double> x(backend, random_vector<double>(rows, 5)), y(backend, rows);
      backend.synchronize();
      kernel.launch(backend.stream(), source.data(), x.data(), rows, early);
      A.apply(std::as_const(x).view(), y.view());
      return y.to_host();
    });
    const Array<double> values(backend, a.values);
    expect_same([&](bool early) {
      Array<double> y(backend, rows);
      system.values.copy_from_host(a.values.data());
      kernel.launch(backend.stream(), values.data(), system.values.data(), values.size(), early);
      A.apply(source.view(), y.view());
      return y.to_host();
    });
  }
}

/// Right-hand side, operator and preconditioner, each of a user's kernels.
TEST_F(EarlyKernelTest, SolversBesideAUsersKernels) {
  const Backend backend = Backend::cuda();
  const UsersKernel kernel;
  const System<double> a = laplacian<double>(100);
  const auto system = on<std::int32_t>(backend, a);
  const auto rows = static_cast<std::size_t>(a.rows);
  const LinearOperator<double> A(backend, system.view());
  const SparseMatrix<double> matrix(backend, system.view());
  const auto partition = BlockPartition::uniform(a.rows, 8);
  const BlockJacobi<double> blocks(matrix, partition), narrow(matrix, partition, {.storage = Storage::bf16});
  const TwoLevel<double> both(matrix, BlockJacobi<double>(matrix, partition), {.mode = CoarseMode::adef2, .size = 64});
  const std::vector<double> other = random_vector<double>(rows, 7);
  const Array<double> source(backend, random_vector<double>(rows, 6));
  for (const Solver solve : solvers) {
    SCOPED_TRACE(&solve - solvers);
    const auto scaling = [&](bool early) {
      return [&kernel, stream = backend.stream(), early](VectorView<const double> x, VectorView<double> y) {
        kernel.launch(stream, x.data, y.data, static_cast<std::size_t>(x.size), early);
      };
    };
    std::vector<Preconditioner<double>> by{blocks, narrow};
    if (solve == &cg<double> || solve == &fcg<double>) by.emplace_back(both);
    for (const Preconditioner<double>& M : by) {
      expect_same([&](bool early) {
        Array<double> b(backend, other);  // not what a run before left in that memory
        kernel.launch(backend.stream(), source.data(), b.data(), rows, early);
        return solution(solve, A, M, b);
      });
      expect_same([&](bool early) {
        return solution(solve, LinearOperator<double>(backend, a.rows, scaling(early), Capture::yes), M, source);
      });
    }
    expect_same([&](bool early) {
      return solution(solve, A, Preconditioner<double>(backend, a.rows, scaling(early), Capture::yes), source);
    });
  }
}

}  // namespace
}  // namespace blockjacobi::test
