#include "kernels/apply/policy.hpp"
#include "kernels/cholesky/policy.hpp"
#include "kernels/inverse/policy.hpp"
#include "kernels/launch/grid.hpp"
#include "kernels/lu/policy.hpp"
#include "kernels/qr/policy.hpp"
#include "kernels/setup/policy.hpp"
#include "kernels/triangular/policy.hpp"
#include "tests/kernels/recorded_kernels.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/batched.hpp>
#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/two_level.hpp>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

// Which kernel a call takes, by its name in the graph of the call: the one that the policy of the device names. No test
// of results can tell.

using namespace kernels;

/// As the demangler writes it, up to the list of parameters.
std::string instance(const char* kernel, std::initializer_list<std::string> arguments) {
  std::string name = kernel;
  for (const std::string& argument : arguments) name += (name == kernel ? "<" : ", ") + argument;
  return name + (name.ends_with('>') ? " >(" : ">(");
}
std::string text(int number) { return std::to_string(number); }
std::string text(bool value) { return value ? "true" : "false"; }
constexpr const char* general_inversion = "blockjacobi::kernels::GeneralInversion";
constexpr const char* definite_inversion = "blockjacobi::kernels::DefiniteInversion";
std::string text(GaussJordanPlace place) {
  return "(blockjacobi::kernels::GaussJordanPlace)" + text(static_cast<int>(place));
}

template <class T>
class LaunchedKernelsTest : public TypedDeviceTest<T> {
 protected:
  void SetUp() override {
    TypedDeviceTest<T>::SetUp();
    if (this->IsSkipped()) return;
    device_ = current_device();
    memory_.emplace();
  }

  static constexpr ScalarType scalar = scalar_type<T>;
  static std::string compute_scalar() {
    const std::string real = sizeof(real_t<T>) == 4 ? "float" : "double";
    return blockjacobi::is_complex<T> ? "blockjacobi::detail::Complex<" + real + ">" : real;
  }

  /// Too many for clusters.
  static constexpr offset_t count = 65;
  static constexpr index_t largest = max_block_size;
  /// Never read or written.
  MatrixBatchView<T> batch(index_t n, int place = 0, index_t gap = 0) const {
    T* const data = place == 0 ? first_half() : second_half();
    return MatrixBatchView<T>::strided(data, n, n, n + gap, offset_t{n} * (n + gap), count, MemorySpace::device);
  }
  T* first_half() const { return memory_->elements.data(); }
  T* second_half() const { return first_half() + memory_->elements.size() / 2; }
  index_t* numbers() const { return memory_->numbers.data(); }
  int* info() const { return memory_->info.data(); }
  const Backend& backend() const { return memory_->backend; }

  /// That `work` takes one kernel, of that name.
  template <class Work>
  void expect_kernel(const std::string& name, Work work) {
    const auto kernels = recorded_kernels(backend().stream(), work);
    ASSERT_EQ(kernels.size(), 1u) << name;
    expect_name(kernels[0], name);
  }
  void expect_name(const RecordedKernel& kernel, const std::string& name) const {
    EXPECT_TRUE(kernel.name.find("::" + name) != std::string::npos) << kernel.name << " instead of " << name;
    EXPECT_LE(kernel.shared_bytes, device_.shared_bytes) << name;
  }

  /// work(n) takes name(n) for each order.
  template <class Name, class Work>
  void expect_kernels(index_t first, index_t last, Name name, Work work) {
    for (index_t n = first; n <= last; ++n) {
      SCOPED_TRACE(n);
      expect_kernel(name(n), [&] { work(n); });
      if (this->HasFailure()) return;
    }
  }

  Device device_{};

 private:
  struct Memory {
    Backend backend = Backend::cuda();
    Array<T> elements{backend, 2 * static_cast<std::size_t>(count) * largest*(largest + 1)};
    Array<index_t> numbers{backend, static_cast<std::size_t>(count) * largest};
    Array<int> info{backend, static_cast<std::size_t>(count)};
  };
  std::optional<Memory> memory_;
};
TYPED_TEST_SUITE(LaunchedKernelsTest, Scalars);

TYPED_TEST(LaunchedKernelsTest, Getrf) {
  const std::string C = this->compute_scalar();
  const auto name = [&](index_t n) {
    const LuPolicy p = lu_policy(this->device_, this->scalar, n);
    switch (p.design) {
      case LuDesign::straight: return instance("getrf_straight_kernel", {text(n), C});
      case LuDesign::shuffled: return instance("getrf_shuffled_kernel", {text(n), C});
      case LuDesign::thread: return instance("getrf_thread_kernel", {text(n), C});
      case LuDesign::team_rows: return instance("getrf_team_kernel", {text(n), C});
      case LuDesign::team_panels: return instance("getrf_paneled_kernel", {text(n), text(p.lanes), C});
      case LuDesign::cta_shared:
        return instance("getrf_cta_shared_kernel", {C, text(p.rows), text(p.per_multiprocessor)});
      case LuDesign::cta_left: return instance("getrf_cta_left_kernel", {C, text(false), text(32 * p.warps)});
      case LuDesign::cta_left_ahead: return instance("getrf_cta_left_kernel", {C, text(true), text(32 * p.warps)});
      case LuDesign::cta_plain: break;
    }
    return instance("getrf_cta_plain_kernel", {C});
  };
  this->expect_kernels(1, this->largest, name, [&](index_t n) {
    batched::getrf(this->backend(), this->batch(n), this->numbers(), this->info());
  });
}

TYPED_TEST(LaunchedKernelsTest, Inverse) {
  const std::string C = this->compute_scalar();
  const auto name = [&](index_t n) {
    const InversePolicy p = inverse_policy(this->device_, this->scalar, n);
    const auto by_thread_blocks = [&](GaussJordanPlace place) {
      return instance("inverse_cta_kernel", {C, text(gauss_jordan_width(this->scalar)), text(place), text(32 * p.warps),
                                             text(p.per_multiprocessor)});
    };
    switch (p.design) {
      case InverseDesign::straight: return instance("inverse_straight_kernel", {text(n), C, general_inversion});
      case InverseDesign::shuffled: return instance("inverse_shuffled_kernel", {text(n), C, general_inversion});
      case InverseDesign::thread: return instance("inverse_thread_kernel", {text(n), C});
      case InverseDesign::team_rows: return instance("inverse_team_kernel", {text(n), C});
      case InverseDesign::cta_whole: return by_thread_blocks(GaussJordanPlace::whole);
      case InverseDesign::cta_resident: return by_thread_blocks(GaussJordanPlace::resident);
      case InverseDesign::cta_streamed: return by_thread_blocks(GaussJordanPlace::streamed);
      case InverseDesign::cta_plain:
      case InverseDesign::clusters:
      case InverseDesign::cta_definite:
      case InverseDesign::factorized: break;
    }
    return instance("inverse_cta_plain_kernel", {C});
  };
  this->expect_kernels(1, this->largest, name, [&](index_t n) {
    batched::inverse<TypeParam>(this->backend(), this->batch(n), this->batch(n, 1), this->info());
  });
}

TYPED_TEST(LaunchedKernelsTest, SpdInverse) {
  const std::string C = this->compute_scalar();
  const auto name = [&](index_t n) {
    switch (spd_inverse_policy(this->device_, this->scalar, n).design) {
      case InverseDesign::straight: return instance("inverse_straight_kernel", {text(n), C, definite_inversion});
      case InverseDesign::shuffled: return instance("inverse_shuffled_kernel", {text(n), C, definite_inversion});
      case InverseDesign::thread: return instance("spd_inverse_thread_kernel", {text(n), C});
      case InverseDesign::team_rows: return instance("spd_inverse_team_kernel", {text(n), C});
      default: return instance("spd_inverse_cta_kernel", {C});
    }
  };
  const auto invert = [&](index_t n) {
    batched::spd_inverse<TypeParam>(this->backend(), batched::Triangle::upper, this->batch(n, 0), this->batch(n, 1),
                                    batched::SpdStorage::full, this->info());
  };
  index_t at_once = this->largest;
  while (spd_inverse_policy(this->device_, this->scalar, at_once).design == InverseDesign::factorized) --at_once;
  this->expect_kernels(1, at_once, name, invert);
  for (const index_t n : {at_once + 1, this->largest}) {
    SCOPED_TRACE(n);
    const auto kernels = recorded_kernels(this->backend().stream(), [&] { invert(n); });
    ASSERT_EQ(kernels.size(), 3u);
    this->expect_name(kernels[0], "copy_triangle_kernel<");
    this->expect_name(kernels[1], "potrf_cta_kernel<");
    this->expect_name(kernels[2], "potri_cta");
  }
}

TYPED_TEST(LaunchedKernelsTest, Getri) {
  const std::string C = this->compute_scalar();
  const auto name = [&](index_t n) {
    const InverseFromLuPolicy p = inverse_from_lu_policy(this->device_, this->scalar, n);
    if (p.design == InverseFromLuDesign::lanes) return std::string("lanes_kernel<");
    if (p.design == InverseFromLuDesign::cta_plain) return instance("getri_cta_plain_kernel", {C});
    return instance("getri_cta_kernel", {C, text(p.columns), text(32 * p.warps), text(p.per_multiprocessor)});
  };
  this->expect_kernels(1, this->largest, name, [&](index_t n) {
    batched::getri<TypeParam>(this->backend(), this->batch(n), this->numbers(), this->batch(n, 1), this->info());
  });
}

TYPED_TEST(LaunchedKernelsTest, PotrfAndPotri) {
  const std::string C = this->compute_scalar();
  for (const bool upper : {false, true}) {
    const auto triangle = upper ? batched::Triangle::upper : batched::Triangle::lower;
    const auto factorization = [&](index_t n) {
      const CholeskyPolicy p = cholesky_policy(this->device_, this->scalar, n);
      if (p.design == CholeskyDesign::thread) return instance("potrf_thread_kernel", {text(n), C});
      if (p.design == CholeskyDesign::warp) return instance("potrf_warp_kernel", {text(n), C});
      return instance("potrf_cta_kernel",
                      {C, text(p.rows), text(p.columns), text(upper), text(p.warps_held / cholesky_cta_warps)});
    };
    this->expect_kernels(1, this->largest, factorization,
                         [&](index_t n) { batched::potrf(this->backend(), triangle, this->batch(n), this->info()); });
    const auto inverse = [&](index_t n) {
      const CholeskyInversePolicy p = cholesky_inverse_policy(this->device_, this->scalar, n);
      if (p.design == CholeskyInverseDesign::lanes) return std::string("lanes_kernel<");
      if (p.design == CholeskyInverseDesign::cta_plain) return instance("potri_cta_plain_kernel", {C, text(upper)});
      return instance("potri_cta_kernel", {C, text(p.columns), text(upper)});
    };
    this->expect_kernels(1, this->largest, inverse,
                         [&](index_t n) { batched::potri(this->backend(), triangle, this->batch(n), this->info()); });
  }
}

TYPED_TEST(LaunchedKernelsTest, Geqrf) {
  const std::string C = this->compute_scalar();
  const auto name = [&](index_t n) {
    const QrPolicy p = qr_policy(this->device_, this->scalar, n);
    switch (p.design) {
      case QrDesign::thread: return instance("geqrf_thread_kernel", {text(n), C});
      case QrDesign::team_mesh: return instance("geqrf_team_kernel", {text(n), C});
      case QrDesign::cta:
        return instance("geqrf_cta_kernel", {C, text(p.columns), text(p.rows), text(p.warps), text(p.stages)});
      case QrDesign::cta_plain: break;
    }
    return instance("geqrf_cta_plain_kernel", {C});
  };
  this->expect_kernels(1, this->largest, name,
                       [&](index_t n) { batched::geqrf(this->backend(), this->batch(n), this->batch(n, 1).data); });
}

TYPED_TEST(LaunchedKernelsTest, SolvesWithFactors) {
  const std::string C = this->compute_scalar();
  for (const index_t columns : {1, 2, 4, 5, 16, 17}) {
    SCOPED_TRACE(columns);
    const auto name = [&](index_t n) {
      // Policies change between these numbers alone.
      const TriangularPolicy p = triangular_policy(this->device_, this->scalar, n,
                                                   columns == 1                  ? 1
                                                   : columns <= most_few_columns ? most_few_columns
                                                                                 : columns);
      if (p.design == TriangularDesign::lanes) return std::string("lanes_kernel<");
      if (p.design == TriangularDesign::warp_plain) return instance("solve_plain_kernel", {C});
      if (p.design == TriangularDesign::cta_substitution)
        return instance("solve_substitution_kernel",
                        {C, text(p.columns), text(p.row_bytes), text(p.pieces), text(p.per_multiprocessor)});
      return instance("solve_tensor_kernel", {C, text(p.columns / 8), text(32 * p.warps)});
    };
    const auto right = [&](index_t n) {
      return MatrixBatchView<TypeParam>::strided(this->batch(n, 1).data, n, columns, n, offset_t{n} * columns,
                                                 this->count, MemorySpace::device);
    };
    this->expect_kernels(1, this->largest, name, [&](index_t n) {
      batched::getrs<TypeParam>(this->backend(), Op::none, this->batch(n), this->numbers(), right(n));
    });
    this->expect_kernels(1, this->largest, name, [&](index_t n) {
      batched::potrs<TypeParam>(this->backend(), batched::Triangle::lower, this->batch(n), right(n));
    });
  }
}

/// Those of the next multiple of 4.
TYPED_TEST(LaunchedKernelsTest, BatchesThatAreNotContiguous) {
  const std::string C = this->compute_scalar();
  const auto named = [&](const char* kernel) {
    return [&, kernel](index_t n) { return instance(kernel, {text(tiny_class(n)), C}); };
  };
  constexpr int tiny = largest_tiny_order;
  this->expect_kernels(1, tiny, named("getrf_class_kernel"), [&](index_t n) {
    batched::getrf(this->backend(), this->batch(n, 0, 1), this->numbers(), this->info());
  });
  this->expect_kernels(1, tiny, named("inverse_class_kernel"), [&](index_t n) {
    batched::inverse<TypeParam>(this->backend(), this->batch(n, 0, 1), this->batch(n, 1, 1), this->info());
  });
  this->expect_kernels(1, tiny, named("potrf_class_kernel"), [&](index_t n) {
    batched::potrf(this->backend(), batched::Triangle::lower, this->batch(n, 0, 1), this->info());
  });
  this->expect_kernels(1, tiny, named("geqrf_class_kernel"), [&](index_t n) {
    batched::geqrf(this->backend(), this->batch(n, 0, 1), this->batch(n, 1).data);
  });
}

/// A preconditioner for the blocks of a diagonal matrix, analyzed alone.
template <Scalar T>
BlockJacobi<T> analyzed(const Backend& backend, const BlockPartition& blocks, Storage storage) {
  const index_t rows = blocks.rows();
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(rows) + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  const CsrView<T, std::int32_t> pattern{rows, rows, rows, offsets.data(), offsets.data(), nullptr};
  return BlockJacobi<T>::analyze(backend, pattern, blocks, {.storage = storage});
}
/// For `count` blocks of order n.
template <Scalar T>
BlockJacobi<T> analyzed(const Backend& backend, index_t n, index_t count, Storage storage) {
  return analyzed<T>(backend, BlockPartition::uniform(n * count, n), storage);
}

/// All orders that have kernels of their own, and of the others those beside which the design changes.
std::vector<index_t> orders_of_blocks() {
  std::vector<index_t> orders(100);
  std::iota(orders.begin(), orders.end(), 1);
  for (const index_t n : {128, 129, 133, 192, 193, 200, 256, 257, 300, 384, 385, 511, 512}) orders.push_back(n);
  return orders;
}

TYPED_TEST(LaunchedKernelsTest, SetUp) {
  using T = TypeParam;
  const std::string C = this->compute_scalar();
  const auto name = [&](index_t n) {
    const SetupPolicy p = setup_policy(this->device_, this->scalar, n);
    const auto by_thread_blocks = [&](GaussJordanPlace place) {
      return instance("setup_cta_kernel", {C, text(gauss_jordan_width(this->scalar)), text(place), text(32 * p.warps),
                                           text(p.per_multiprocessor)});
    };
    switch (p.design) {
      case SetupDesign::cta_whole: return by_thread_blocks(GaussJordanPlace::whole);
      case SetupDesign::cta_resident: return by_thread_blocks(GaussJordanPlace::resident);
      case SetupDesign::cta_streamed: return by_thread_blocks(GaussJordanPlace::streamed);
      case SetupDesign::cta_plain: return instance("setup_cta_plain_kernel", {C});
      case SetupDesign::cta_definite:
      case SetupDesign::clusters:
      case SetupDesign::thread:
      case SetupDesign::team: break;
    }
    const int order = p.alone ? n : tiny_class(n);
    const bool by_thread = setup_policy(this->device_, this->scalar, order).design == SetupDesign::thread;
    return instance(by_thread ? "setup_thread_kernel" : "setup_team_kernel", {text(order), text(p.alone), C});
  };
  for (const index_t n : orders_of_blocks()) {
    SCOPED_TRACE(n);
    BlockJacobi<T> m = analyzed<T>(this->backend(), n, this->count, Storage::full);
    const auto kernels = recorded_kernels(this->backend().stream(),
                                          [&] { m.refresh(this->first_half(), m.nnz(), MemorySpace::device); });
    ASSERT_EQ(kernels.size(), 2u);
    this->expect_name(kernels[0], name(n));
    this->expect_name(kernels[1], n > largest_tiny_order ? "setup_careful_kernel<" : "setup_careful_tiny_kernel<");
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(LaunchedKernelsTest, SetUpOfHermitianMatrices) {
  using T = TypeParam;
  for (const index_t n : {24, 32, 33, 64, 96, 128, 144, 160, 192, 208, 224, 256, 257, 512}) {
    SCOPED_TRACE(n);
    const index_t rows = n * static_cast<index_t>(this->count);
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(rows) + 1);
    std::iota(offsets.begin(), offsets.end(), 0);
    const std::vector<T> ones(static_cast<std::size_t>(rows), T(1));
    const CsrView<T, std::int32_t> view{rows, rows, rows, offsets.data(), offsets.data(), ones.data()};
    const SparseMatrix<T> matrix(this->backend(), view, {.symmetry = Symmetry::hermitian});
    auto m = BlockJacobi<T>::analyze(matrix, BlockPartition::uniform(rows, n));
    const auto kernels = recorded_kernels(this->backend().stream(),
                                          [&] { m.refresh(this->first_half(), m.nnz(), MemorySpace::device); });
    const bool definite = definite_setup_policy(this->device_, this->scalar, n).design == SetupDesign::cta_definite;
    ASSERT_EQ(kernels.size(), definite ? 3u : 2u);
    if (definite) this->expect_name(kernels[0], instance("setup_definite_kernel", {this->compute_scalar()}));
  }
}

TYPED_TEST(LaunchedKernelsTest, ApplyInEveryStorage) {
  using T = TypeParam;
  using detail::Format;
  const auto name = [&](index_t n, Format format, int columns, Op op) -> std::string {
    const ApplyCase given{format, columns, op != Op::none, true};
    switch (apply_policy(this->device_, this->scalar, n, given).design) {
      case ApplyDesign::lanes: return "apply_narrow_columns_kernel<";
      case ApplyDesign::cta_staged: return "apply_staged_kernel<";
      case ApplyDesign::cta_wide: return "apply_wide_kernel<";
      case ApplyDesign::cta_wide_pieces: return "apply_wide_pieces_kernel<";
      case ApplyDesign::cta_wide_packed:
      case ApplyDesign::tiled: break;
    }
    return "apply_wide_packed_kernel<";
  };
  for (const auto& [storage, format] : {std::pair{Storage::full, Format::full},
                                        {Storage::packed, Format::packed},
                                        {Storage::fp32, sizeof(real_t<T>) == 4 ? Format::full : Format::fp32},
                                        {Storage::bf16, Format::bf16},
                                        {Storage::fp16, Format::fp16}})
    for (const index_t n : orders_of_blocks()) {
      SCOPED_TRACE(::testing::Message() << "order " << n << ", " << to_string(storage));
      BlockJacobi<T> m = analyzed<T>(this->backend(), n, this->count, storage);
      // Otherwise it has nothing to apply; nothing runs.
      static_cast<void>(recorded_kernels(this->backend().stream(),
                                         [&] { m.refresh(this->first_half(), m.nnz(), MemorySpace::device); }));
      T* const in = this->first_half();
      T* const out = this->second_half();
      for (const index_t columns : {1, apply_columns_at_once})
        for (const Op op : {Op::none, Op::conjugate_transpose})
          this->expect_kernel(name(n, format, columns, op), [&] {
            const MultiVectorView<const T> R{
                in, m.rows(), columns, m.rows(), Layout::column_major, MemorySpace::device};
            const MultiVectorView<T> Z{out, m.rows(), columns, m.rows(), Layout::column_major, MemorySpace::device};
            m.apply(R, Z, op);
          });
      if (this->HasFailure()) return;
    }
}

TYPED_TEST(LaunchedKernelsTest, ApplyToOrdersInRandomSequence) {
  using T = TypeParam;
  MixedBlocks blocks;
  std::vector<index_t> offsets{0};
  for (index_t k = 0; k < this->count; ++k) {
    const index_t n = 27 + k % 3;  // small enough that without tiles one launch has all of them
    blocks.largest = std::max(blocks.largest, n);
    ++blocks.count;
    blocks.bytes += offset_t{n} * n * static_cast<offset_t>(sizeof(T));
    offsets.push_back(offsets.back() + n);
  }
  BlockJacobi<T> m = analyzed<T>(this->backend(), BlockPartition::from_offsets(offsets), Storage::full);
  static_cast<void>(
      recorded_kernels(this->backend().stream(), [&] { m.refresh(this->first_half(), m.nnz(), MemorySpace::device); }));
  const bool by_tiles = mixed_apply_policy(this->device_, this->scalar, blocks).design == ApplyDesign::tiled;
  for (const index_t columns : {1, apply_columns_at_once})
    for (const Op op : {Op::none, Op::conjugate_transpose}) {
      const bool one = columns == 1 && op == Op::none;
      this->expect_kernel(by_tiles && one ? "apply_tiled_kernel<" : "apply_staged_kernel<", [&] {
        const MultiVectorView<const T> R{this->first_half(),   m.rows(),           columns, m.rows(),
                                         Layout::column_major, MemorySpace::device};
        const MultiVectorView<T> Z{this->second_half(),  m.rows(),           columns, m.rows(),
                                   Layout::column_major, MemorySpace::device};
        m.apply(R, Z, op);
      });
    }
}

/// Few large matrices and blocks.
TYPED_TEST(LaunchedKernelsTest, ClustersOfThreadBlocks) {
  using T = TypeParam;
  if (!is_sm_90()) GTEST_SKIP() << "chosen for other devices";
  constexpr offset_t few = 2;
  for (const index_t n : {least_cluster_order - 1, least_cluster_order, 160, 300, 512}) {
    SCOPED_TRACE(n);
    const bool by_clusters = !blockjacobi::is_complex<T> && n >= least_cluster_order;
    // Beside the largest of d 16 thread blocks have no room for the scales.
    const bool sets_up_by_clusters = by_clusters && !(std::is_same_v<T, double> && n == 512);
    const auto expect = [&](const RecordedKernel& kernel, bool wanted, const char* cluster, const char* other) {
      const bool is_cluster = wanted && may_have_clusters(kernel);
      this->expect_name(kernel, is_cluster ? cluster : other);
      EXPECT_EQ(kernel.cluster > 1, is_cluster);
    };
    auto a = this->batch(n), x = this->batch(n, 1);
    a.count = x.count = few;
    const auto inverse =
        recorded_kernels(this->backend().stream(), [&] { batched::inverse<T>(this->backend(), a, x, this->info()); });
    ASSERT_EQ(inverse.size(), 1u);
    expect(inverse[0], by_clusters, "inverse_cluster_kernel<", "inverse_cta_kernel<");
    BlockJacobi<T> m = analyzed<T>(this->backend(), n, few, Storage::full);
    const auto setup = recorded_kernels(this->backend().stream(),
                                        [&] { m.refresh(this->first_half(), m.nnz(), MemorySpace::device); });
    ASSERT_EQ(setup.size(), 2u);
    expect(setup[0], sets_up_by_clusters, "setup_cluster_kernel<", "setup_cta_kernel<");
  }
}

/// One launch for all iterations, unless the user wants none.
TYPED_TEST(LaunchedKernelsTest, ResidentSolvers) {
  using T = TypeParam;
  if (!is_sm_90()) GTEST_SKIP() << "chosen for other devices";
  const System<T> a = laplacian<T>(20);
  const auto system = on<std::int32_t>(this->backend(), a);
  const LinearOperator<T> A(this->backend(), system.view());
  const BlockJacobi<T> M(this->backend(), system.view(), BlockPartition::uniform(a.rows, 8));
  const SparseMatrix<T> matrix(this->backend(), system.view());
  const TwoLevel<T> joined(matrix, BlockJacobi<T>(matrix, M.partition()));
  const Array<T> b(this->backend(), random_vector<T>(static_cast<std::size_t>(a.rows), 7));
  Array<T> x(this->backend(), b.size());
  Array<SolveStatus> status(this->backend(), 1);
  const auto launches_of = [&](const char* kernel, const std::vector<RecordedKernel>& kernels) {
    return std::ranges::count_if(kernels, [&](const RecordedKernel& found) {
      return found.name.find("::" + (kernel + ("<" + this->compute_scalar()))) != std::string::npos;
    });
  };
  for (const Resident resident : {Resident::automatic, Resident::never}) {
    SolveOptions options;
    options.resident = resident;
    options.max_iterations = 60;
    options.restart = 15;
    CgWorkspace<T> by_cg(A, M, options), with_both_levels(A, joined, options);
    GmresWorkspace<T> by_gmres(A, M, options), gmres_with_both(A, joined, options);
    const auto cg =
        recorded_kernels(this->backend().stream(), [&] { cg_enqueue(by_cg, b.view(), x.view(), status.data()); });
    const auto gmres =
        recorded_kernels(this->backend().stream(), [&] { gmres_enqueue(by_gmres, b.view(), x.view(), status.data()); });
    const auto both = recorded_kernels(this->backend().stream(),
                                       [&] { cg_enqueue(with_both_levels, b.view(), x.view(), status.data()); });
    const auto gmres_both = recorded_kernels(
        this->backend().stream(), [&] { gmres_enqueue(gmres_with_both, b.view(), x.view(), status.data()); });
    const bool taken = resident == Resident::automatic;
    EXPECT_EQ(launches_of("cg_resident_kernel", cg), taken ? 1 : 0);
    EXPECT_EQ(launches_of("cg_resident_kernel", both), taken ? 1 : 0);
    EXPECT_EQ(launches_of("gmres_resident_kernel", gmres), taken ? 1 : 0);
    EXPECT_EQ(launches_of("gmres_resident_kernel", gmres_both), taken ? 1 : 0);
    if (!taken) {
      EXPECT_GE(cg.size(), 60u) << "a launch for each phase of each iteration";
      EXPECT_GE(both.size(), 60u);
      EXPECT_GE(gmres.size(), 60u);
      EXPECT_GE(gmres_both.size(), 60u);
    }
  }
}

}  // namespace
}  // namespace blockjacobi::test
