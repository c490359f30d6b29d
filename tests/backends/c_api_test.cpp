#include "support/backends.hpp"
#include "support/dense.hpp"

#include <blockjacobi/blockjacobi.h>

#include <algorithm>
#include <cstring>

namespace blockjacobi::test {
namespace {

static_assert(BJ_S == static_cast<int>(ScalarType::s) && BJ_Z == static_cast<int>(ScalarType::z));
static_assert(BJ_HOST == static_cast<int>(MemorySpace::host) && BJ_DEVICE == static_cast<int>(MemorySpace::device));
static_assert(BJ_NO_TRANSPOSE == static_cast<int>(Op::none) && BJ_TRANSPOSE == static_cast<int>(Op::transpose) &&
              BJ_CONJUGATE_TRANSPOSE == static_cast<int>(Op::conjugate_transpose));
static_assert(BJ_SINGULAR_FAIL == static_cast<int>(SingularPolicy::fail) &&
              BJ_SINGULAR_IDENTITY == static_cast<int>(SingularPolicy::identity) &&
              BJ_SINGULAR_SCALAR_JACOBI == static_cast<int>(SingularPolicy::scalar_jacobi) &&
              BJ_SINGULAR_SHIFT == static_cast<int>(SingularPolicy::shift) &&
              BJ_SINGULAR_PSEUDO_INVERSE == static_cast<int>(SingularPolicy::pseudo_inverse));
static_assert(BJ_STORAGE_FULL == static_cast<int>(Storage::full) &&
              BJ_STORAGE_PACKED == static_cast<int>(Storage::packed) &&
              BJ_STORAGE_FP32 == static_cast<int>(Storage::fp32) &&
              BJ_STORAGE_BF16 == static_cast<int>(Storage::bf16) &&
              BJ_STORAGE_FP16 == static_cast<int>(Storage::fp16) &&
              BJ_STORAGE_ADAPTIVE == static_cast<int>(Storage::adaptive));
static_assert(BJ_STOP_CONVERGED == static_cast<int>(StopReason::converged) &&
              BJ_STOP_BREAKDOWN == static_cast<int>(StopReason::breakdown) &&
              BJ_STOP_STAGNATION == static_cast<int>(StopReason::stagnation) &&
              BJ_STOP_SINGULAR_BLOCK == static_cast<int>(StopReason::singular_block));

/// Ends the test with the message of the call that failed.
#define ASSERT_OK(call) ASSERT_EQ(call, BJ_SUCCESS) << bj_last_error()

/// ||a - b|| / ||b||.
template <Scalar T>
double relative_difference(const std::vector<T>& a, const std::vector<T>& b) {
  const auto vector = [](const std::vector<T>& v) {
    return Eigen::Map<const Dense<T>>(v.data(), static_cast<Eigen::Index>(v.size()), 1);
  };
  return static_cast<double>((vector(a) - vector(b)).norm() / vector(b).norm());
}

/// The C interface against the C++ one, on arrays in the backend's memory and on the stream of the C++ backend.
template <class Case>
class CApiOnBackend : public BackendTest<Case> {
 protected:
  using Value = typename Case::Scalar;

  void SetUp() override {
    BackendTest<Case>::SetUp();
    if (this->IsSkipped()) return;
    cpp_.emplace(BackendTest<Case>::make_backend());
    if (cpp_->kind() == BackendKind::host)
      ASSERT_OK(bj_backend_create_host(0, &c_));
    else
      ASSERT_OK(bj_backend_create_cuda_stream(0, cpp_->stream(), &c_));
    ASSERT_OK(bj_backend_space(c_, &space_));
    EXPECT_EQ(space_, static_cast<bj_space>(cpp_->memory_space()));
  }
  void TearDown() override { bj_backend_destroy(c_); }

  /// A matrix of diagonally dominant 3 x 3 to 17 x 17 blocks, weakly coupled; Hermitian positive definite.
  static CsrMatrix<Value> system() {
    Random random(31);
    std::vector<Triplet<Value>> entries;
    index_t first = 0;
    for (const index_t n : {3, 5, 17, 3, 8}) {
      for (index_t i = 0; i < n; ++i) {
        entries.push_back({first + i, first + i, Value(real_t<Value>(2 * n))});
        for (index_t j = 0; j < i; ++j) {
          const Value value = random.scalar<Value>();
          entries.push_back({first + i, first + j, value});
          entries.push_back({first + j, first + i, conjugate(value)});
        }
      }
      if (first > 0) {
        entries.push_back({first, first - 1, Value(-1)});
        entries.push_back({first - 1, first, Value(-1)});
      }
      first += n;
    }
    return CsrMatrix<Value>::from_triplets(first, first, entries);
  }
  static Value conjugate(Value value) {
    if constexpr (is_complex<Value>)
      return std::conj(value);
    else
      return value;
  }

  bj_csr describe(const CsrMatrix<Value>& m, const Array<offset_t>& offsets, const Array<index_t>& columns,
                  const Array<Value>& values) const {
    return {m.rows(),
            m.cols(),
            m.nnz(),
            offsets.data(),
            columns.data(),
            values.data(),
            64,
            0,
            static_cast<bj_scalar>(scalar_type<Value>),
            space_};
  }

  static bj_csr on_host(const CsrMatrix<Value>& m) {
    return {m.rows(),
            m.cols(),
            m.nnz(),
            m.row_offsets().data(),
            m.columns().data(),
            m.values().data(),
            64,
            0,
            static_cast<bj_scalar>(scalar_type<Value>),
            BJ_HOST};
  }

  static bj_solve_options options() {
    bj_solve_options options;
    bj_solve_options_init(&options);
    options.rtol = sizeof(real_t<Value>) == 4 ? 1e-5 : 1e-10;
    return options;
  }

  /// A x = b by both interfaces, from x = 0.
  void expect_same_cg(const bj_operator* A, const bj_block_jacobi* M, const LinearOperator<Value>& expected_A,
                      const Preconditioner<Value>& expected_M, const Array<Value>& b) const {
    const bj_solve_options given = options();
    SolveOptions expected_options;
    expected_options.rtol = given.rtol;
    Array<Value> x(*cpp_, b.size()), expected_x(*cpp_, b.size());
    x.zero();
    expected_x.zero();
    bj_solve_report solved;
    ASSERT_OK(bj_cg(A, M, b.data(), x.data(), static_cast<std::int32_t>(b.size()), space_, &given, &solved));
    const SolveReport by_cg = cg(expected_A, expected_M, b.view(), expected_x.view(), expected_options);
    EXPECT_EQ(solved.reason, BJ_STOP_CONVERGED);
    EXPECT_EQ(solved.iterations, by_cg.iterations);
    EXPECT_EQ(solved.true_residual, by_cg.true_residual);
    EXPECT_EQ(x.to_host(), expected_x.to_host());
  }

  std::optional<Backend> cpp_;
  bj_backend* c_ = nullptr;
  bj_space space_ = BJ_HOST;
};
TYPED_TEST_SUITE(CApiOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(CApiOnBackend, GivesTheBitsOfTheCppInterface) {
  using T = typename TypeParam::Scalar;
  const Backend& backend = *this->cpp_;
  const CsrMatrix<T> matrix = this->system();
  const Array<offset_t> offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()});
  const Array<index_t> columns(backend, {matrix.columns().begin(), matrix.columns().end()});
  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  const bj_csr csr = this->describe(matrix, offsets, columns, values);

  bj_partition* partition = nullptr;
  ASSERT_OK(bj_partition_create_detect(this->c_, &csr, 20, &partition));
  const auto expected_partition = BlockPartition::detect(matrix, 20);
  std::vector<index_t> found(static_cast<std::size_t>(expected_partition.blocks()) + 1);
  ASSERT_OK(bj_partition_offsets(partition, found.data()));
  EXPECT_TRUE(std::ranges::equal(found, expected_partition.offsets()));

  // In two steps, with the bytes known before.
  bj_csr pattern = csr;
  pattern.values = nullptr;
  bj_block_jacobi* M = nullptr;
  ASSERT_OK(bj_block_jacobi_create(this->c_, &pattern, partition, BJ_SINGULAR_IDENTITY, &M));
  ASSERT_OK(bj_block_jacobi_refresh(M, values.data(), matrix.nnz(), this->space_));
  const BlockJacobi<T> expected(backend, matrix, expected_partition);
  bj_csr on_host = pattern;
  on_host.row_offsets = matrix.row_offsets().data();
  on_host.columns = matrix.columns().data();
  on_host.space = BJ_HOST;
  std::size_t bytes = 0;
  ASSERT_OK(bj_block_jacobi_bytes(&on_host, partition, &bytes));
  bj_block_jacobi_report report;
  ASSERT_OK(bj_block_jacobi_get_report(M, &report));
  EXPECT_EQ(bytes, expected.bytes());
  EXPECT_EQ(report.bytes, static_cast<std::int64_t>(bytes));
  EXPECT_EQ(report.blocks, expected_partition.blocks());
  EXPECT_EQ(report.min_rcond, expected.report().min_rcond);
  EXPECT_EQ(report.entries_inside, expected.report().entries_inside);

  Random random(32);
  std::vector<T> host(static_cast<std::size_t>(matrix.rows()));
  for (T& value : host) value = random.scalar<T>();
  const Array<T> b(backend, host);
  Array<T> z(backend, host.size()), expected_z(backend, host.size());
  for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
    ASSERT_OK(bj_block_jacobi_apply(M, static_cast<bj_op>(op), b.data(), z.data(), matrix.rows(), this->space_));
    expected.apply(b.view(), expected_z.view(), op);
    EXPECT_EQ(z.to_host(), expected_z.to_host()) << "op " << static_cast<int>(op);
  }

  bj_operator* A = nullptr;
  ASSERT_OK(bj_operator_create_csr(this->c_, &csr, &A));
  const LinearOperator<T> expected_A(backend, matrix);
  ASSERT_OK(bj_operator_apply(A, b.data(), z.data(), matrix.rows(), this->space_));
  expected_A.apply(b.view(), expected_z.view());
  EXPECT_EQ(z.to_host(), expected_z.to_host());

  this->expect_same_cg(A, M, expected_A, expected, b);

  // Host vectors are copied.
  const bj_solve_options options = this->options();
  SolveOptions expected_options;
  expected_options.rtol = options.rtol;
  bj_solve_report solved;
  std::vector<T> x(host.size(), T(0));
  expected_z.zero();
  ASSERT_OK(bj_gmres(A, M, host.data(), x.data(), matrix.rows(), BJ_HOST, &options, &solved));
  const SolveReport by_gmres = gmres(expected_A, expected, b.view(), expected_z.view(), expected_options);
  EXPECT_EQ(solved.iterations, by_gmres.iterations);
  EXPECT_EQ(x, expected_z.to_host());

  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
  bj_partition_destroy(partition);
}

/// Objects keep what they were made from alive.
TYPED_TEST(CApiOnBackend, HandlesMayGoInAnyOrder) {
  using T = typename TypeParam::Scalar;
  const CsrMatrix<T> matrix = this->system();
  const bj_csr csr = this->on_host(matrix);
  bj_backend* backend = nullptr;
  if (this->cpp_->kind() == BackendKind::host)
    ASSERT_OK(bj_backend_create_host(1, &backend));
  else
    ASSERT_OK(bj_backend_create_cuda(0, &backend));
  bj_partition* partition = nullptr;
  bj_block_jacobi* M = nullptr;
  bj_operator* A = nullptr;
  ASSERT_OK(bj_partition_create_uniform(matrix.rows(), 4, &partition));
  ASSERT_OK(bj_block_jacobi_create(backend, &csr, partition, BJ_SINGULAR_FAIL, &M));
  ASSERT_OK(bj_operator_create_csr(backend, &csr, &A));
  bj_partition_destroy(partition);
  bj_backend_destroy(backend);
  std::vector<T> b(static_cast<std::size_t>(matrix.rows()), T(1)), x(b.size(), T(0));
  bj_solve_options options;
  bj_solve_options_init(&options);
  options.rtol = 1e-4;
  bj_solve_report report;
  ASSERT_OK(bj_cg(A, M, b.data(), x.data(), matrix.rows(), BJ_HOST, &options, &report));
  EXPECT_EQ(report.reason, BJ_STOP_CONVERGED);
  bj_block_jacobi_destroy(M);
  bj_operator_destroy(A);
}

/// Solves in a numbering of the blocks, from vectors on the host and in the backend's memory, with the bits of a system
/// that was renumbered by hand.
TYPED_TEST(CApiOnBackend, RenumbersAsTheCppInterface) {
  using T = typename TypeParam::Scalar;
  const Backend& backend = *this->cpp_;
  const CsrMatrix<T> matrix = this->system();
  const index_t n = matrix.rows();
  const bj_csr csr = this->on_host(matrix);
  std::vector<index_t> labels(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) labels[static_cast<std::size_t>(i)] = i % 6;
  const auto [permutation, blocks] = BlockPartition::from_labels(labels);
  const PermutedMatrix<T> renumbered(matrix, permutation);
  const SparseMatrix<T> expected_A(backend, renumbered.view());
  const BlockJacobi<T> expected_M(backend, renumbered.view(), blocks);

  bj_partition* partition = nullptr;
  bj_block_jacobi* M = nullptr;
  bj_operator* A = nullptr;
  ASSERT_OK(bj_partition_create_labels(labels.data(), n, &partition));
  ASSERT_OK(bj_block_jacobi_create(this->c_, &csr, partition, BJ_SINGULAR_FAIL, &M));
  ASSERT_OK(bj_operator_create_numbered(this->c_, &csr, partition, &A));
  bj_partition_destroy(partition);

  Random random(33);
  std::vector<T> b(static_cast<std::size_t>(n)), start(b.size());
  for (T& value : b) value = random.scalar<T>();
  for (T& value : start) value = random.scalar<T>();
  const Array<T> c(backend, permutation.to_permuted(b));
  Array<T> y(backend, permutation.to_permuted(start)), z(backend, b.size());
  SolveOptions expected_options;
  expected_options.rtol = sizeof(real_t<T>) == 4 ? 1e-5 : 1e-10;
  const SolveReport expected = cg(expected_A, expected_M, c.view(), y.view(), expected_options);
  const std::vector<T> expected_x = permutation.to_original(y.to_host());
  expected_M.apply(c.view(), z.view());
  const std::vector<T> expected_z = permutation.to_original(z.to_host());

  bj_solve_options options;
  ASSERT_OK(bj_solve_options_init(&options));
  options.rtol = expected_options.rtol;
  bj_solve_report solved;
  std::vector<T> x = start;
  ASSERT_OK(bj_cg(A, M, b.data(), x.data(), n, BJ_HOST, &options, &solved));
  EXPECT_EQ(solved.reason, BJ_STOP_CONVERGED);
  EXPECT_EQ(solved.iterations, expected.iterations);
  EXPECT_EQ(x, expected_x);
  const Array<T> there_b(backend, b);
  Array<T> there_x(backend, start);
  ASSERT_OK(bj_cg(A, M, there_b.data(), there_x.data(), n, this->space_, &options, &solved));
  EXPECT_EQ(there_x.to_host(), expected_x);
  ASSERT_OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, there_b.data(), there_x.data(), n, this->space_));
  EXPECT_EQ(there_x.to_host(), expected_z);

  // An enqueued solve.
  bj_workspace* workspace = nullptr;
  options.max_iterations = 50;
  ASSERT_OK(bj_workspace_create_cg(A, M, &options, &workspace));
  const Array<SolveStatus> status(backend, 1);
  there_x.copy_from_host(start.data());
  ASSERT_OK(bj_enqueue(workspace, there_b.data(), there_x.data(), n, this->space_,
                       reinterpret_cast<bj_solve_status*>(status.data())));
  EXPECT_EQ(status.to_host().front().reason, StopReason::converged);
  EXPECT_LT(relative_difference(there_x.to_host(), expected_x), 100 * options.rtol);
  bj_workspace_destroy(workspace);

  // Two columns, by columns and by rows.
  std::vector<T> by_columns(b), by_rows(2 * b.size());
  by_columns.insert(by_columns.end(), start.begin(), start.end());
  for (std::size_t i = 0; i < b.size(); ++i) {
    by_rows[2 * i] = b[i];
    by_rows[2 * i + 1] = start[i];
  }
  const Array<T> there_columns(backend, by_columns);
  Array<T> x_columns(backend, by_columns.size());
  x_columns.zero();
  bj_solve_report reports[2];
  ASSERT_OK(
      bj_cg_columns(A, M, there_columns.data(), n, x_columns.data(), n, n, 2, 0, this->space_, &options, reports));
  EXPECT_EQ(reports[0].reason, BJ_STOP_CONVERGED);
  EXPECT_EQ(reports[1].reason, BJ_STOP_CONVERGED);
  std::vector<T> x_rows(by_rows.size(), T(0));
  ASSERT_OK(bj_cg_columns(A, M, by_rows.data(), 2, x_rows.data(), 2, n, 2, 1, BJ_HOST, &options, reports));
  const std::vector<T> found = x_columns.to_host();
  for (std::size_t i = 0; i < b.size(); ++i) {
    EXPECT_EQ(x_rows[2 * i], found[i]);
    EXPECT_EQ(x_rows[2 * i + 1], found[b.size() + i]);
  }
  if (this->space_ == BJ_DEVICE) {
    EXPECT_EQ(bj_cg_columns(A, M, there_columns.data(), 2, x_columns.data(), 2, n, 2, 1, BJ_DEVICE, &options, reports),
              BJ_INVALID_ARGUMENT);
    EXPECT_STREQ(bj_last_error(),
                 "bj_cg_columns: B: columns of a renumbered system must be column-major where they lie on the device");
  }

  // New values from the backend's memory.
  std::vector<T> twice(matrix.values().begin(), matrix.values().end());
  for (T& value : twice) value *= T(2);
  const Array<T> values(backend, twice);
  ASSERT_OK(bj_block_jacobi_refresh(M, values.data(), matrix.nnz(), this->space_));
  ASSERT_OK(bj_operator_refresh(A, values.data(), matrix.nnz(), this->space_));
  x.assign(x.size(), T(0));
  ASSERT_OK(bj_cg(A, M, b.data(), x.data(), n, BJ_HOST, &options, &solved));
  for (T& value : x) value *= T(2);
  EXPECT_LT(relative_difference(x, expected_x), 100 * options.rtol);

  bj_operator_destroy(A);
  bj_block_jacobi_destroy(M);
}

TYPED_TEST(CApiOnBackend, CoarseLevelGivesTheBitsOfTheCppInterface) {
  using T = typename TypeParam::Scalar;
  const Backend& backend = *this->cpp_;
  const CsrMatrix<T> matrix = this->system();
  const index_t n = matrix.rows();
  const Array<offset_t> offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()});
  const Array<index_t> columns(backend, {matrix.columns().begin(), matrix.columns().end()});
  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  const bj_csr csr = this->describe(matrix, offsets, columns, values);
  const std::vector<index_t> ends{0, 3, 8, 25, 28, n};
  bj_partition* partition = nullptr;
  bj_operator* A = nullptr;
  ASSERT_OK(bj_partition_create_offsets(ends.data(), 5, &partition));
  ASSERT_OK(bj_operator_create_csr(this->c_, &csr, &A));
  SparseMatrix<T> expected_A(backend, matrix);
  Random random(34);
  NearKernel<T> vectors{n, 2, std::vector<T>(2 * static_cast<std::size_t>(n))};
  for (T& value : vectors.values) value = random.scalar<T>();
  std::vector<T> host(static_cast<std::size_t>(n));
  for (T& value : host) value = random.scalar<T>();
  const Array<T> b(backend, host);
  Array<T> z(backend, host.size()), expected_z(backend, host.size());

  std::vector<T> twice(matrix.values().begin(), matrix.values().end());
  for (T& value : twice) value *= T(2);
  const Array<T> doubled(backend, twice);

  for (const bool of_vectors : {false, true}) {
    bj_two_level_options coarse;
    ASSERT_OK(bj_two_level_options_init(&coarse));
    TwoLevelOptions expected_coarse;
    if (of_vectors) {
      coarse.vectors = vectors.values.data();
      coarse.vector_count = 2;
      coarse.ld = n;
    } else {
      coarse.mode = BJ_COARSE_ADDITIVE;
      coarse.relaxed = expected_coarse.relaxed = 1;
      expected_coarse.mode = CoarseMode::additive;
    }
    BlockJacobi<T> blocks(expected_A, BlockPartition::from_offsets(ends));
    TwoLevel<T> expected = of_vectors ? TwoLevel<T>(expected_A, std::move(blocks), vectors.view(), expected_coarse)
                                      : TwoLevel<T>(expected_A, std::move(blocks), expected_coarse);
    bj_block_jacobi* M = nullptr;
    ASSERT_OK(bj_two_level_create(this->c_, &csr, partition, nullptr, &coarse, &M));
    bj_two_level_report found;
    ASSERT_OK(bj_two_level_get_report(M, &found));
    EXPECT_EQ(found.size, expected.report().size);
    EXPECT_EQ(found.rcond, expected.report().rcond);
    EXPECT_EQ(found.bytes, static_cast<std::int64_t>(expected.report().bytes));
    for (const Array<T>* now : {&doubled, &values}) {
      ASSERT_OK(bj_block_jacobi_refresh(M, now->data(), matrix.nnz(), this->space_));
      expected_A.update_values(now->data(), matrix.nnz(), backend.memory_space());
      expected.refresh();
      ASSERT_OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, b.data(), z.data(), n, this->space_));
      expected.apply(b.view(), expected_z.view());
      EXPECT_EQ(z.to_host(), expected_z.to_host());
    }
    ASSERT_OK(bj_two_level_correct(M, b.data(), z.data(), n, this->space_));
    expected.correct(b.view(), expected_z.view());
    EXPECT_EQ(z.to_host(), expected_z.to_host());

    this->expect_same_cg(A, M, LinearOperator<T>(expected_A), expected, b);
    bj_block_jacobi_destroy(M);
  }
  bj_operator_destroy(A);
  bj_partition_destroy(partition);
}

TYPED_TEST(CApiOnBackend, MultigridGivesTheBitsOfTheCppInterface) {
  using T = typename TypeParam::Scalar;
  const Backend& backend = *this->cpp_;
  const CsrMatrix<T> matrix = this->system();
  const index_t n = matrix.rows();
  const Array<offset_t> offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()});
  const Array<index_t> columns(backend, {matrix.columns().begin(), matrix.columns().end()});
  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  const bj_csr csr = this->describe(matrix, offsets, columns, values);
  bj_partition* partition = nullptr;
  bj_operator* A = nullptr;
  ASSERT_OK(bj_partition_create_uniform(n, 2, &partition));
  ASSERT_OK(bj_operator_create_csr(this->c_, &csr, &A));
  Random random(35);
  NearKernel<T> vectors{n, 2, std::vector<T>(2 * static_cast<std::size_t>(n))};
  for (T& value : vectors.values) value = random.scalar<T>();
  std::vector<T> host(static_cast<std::size_t>(n));
  for (T& value : host) value = random.scalar<T>();
  const Array<T> b(backend, host);
  Array<T> z(backend, host.size()), expected_z(backend, host.size());

  std::vector<T> twice(matrix.values().begin(), matrix.values().end());
  for (T& value : twice) value *= T(2);
  const Array<T> doubled(backend, twice);

  enum class Of { ones, relaxed, given };
  for (const Of of : {Of::ones, Of::relaxed, Of::given}) {
    bj_multigrid_options options;
    ASSERT_OK(bj_multigrid_options_init(&options));
    MultigridOptions expected_options;
    options.coarsest = expected_options.coarsest = 4;
    options.unknowns = 2;
    SparseMatrix<T> expected_A(backend, matrix, {.block_size = 2});
    BlockJacobi<T> blocks(expected_A, BlockPartition::uniform(n, 2));
    if (of == Of::relaxed) options.relaxed = expected_options.relaxed = 1;
    if (of == Of::given) {
      options.vectors = vectors.values.data();
      options.vector_count = 2;
      options.ld = n;
    }
    Multigrid<T> expected = of == Of::given
                                ? Multigrid<T>(expected_A, std::move(blocks), vectors.view(), expected_options)
                                : Multigrid<T>(expected_A, std::move(blocks), expected_options);
    const MultigridReport wanted = expected.report();
    bj_block_jacobi* M = nullptr;
    ASSERT_OK(bj_multigrid_create(this->c_, &csr, partition, nullptr, &options, &M));
    bj_multigrid_report found;
    ASSERT_OK(bj_multigrid_get_report(M, &found));
    ASSERT_EQ(found.levels, static_cast<std::int32_t>(wanted.levels.size()));
    EXPECT_GE(found.levels, 2);
    EXPECT_EQ(found.rcond, wanted.rcond);
    EXPECT_EQ(found.bytes, static_cast<std::int64_t>(wanted.bytes));
    std::vector<bj_multigrid_level> levels(wanted.levels.size());
    ASSERT_OK(bj_multigrid_levels(M, levels.data()));
    for (std::size_t l = 0; l < levels.size(); ++l) {
      EXPECT_EQ(levels[l].rows, wanted.levels[l].rows);
      EXPECT_EQ(levels[l].nnz, wanted.levels[l].nnz);
      EXPECT_EQ(levels[l].relaxation, wanted.levels[l].relaxation);
    }
    for (const Array<T>* now : {&doubled, &values}) {
      ASSERT_OK(bj_block_jacobi_refresh(M, now->data(), matrix.nnz(), this->space_));
      expected_A.update_values(now->data(), matrix.nnz(), backend.memory_space());
      expected.refresh();
      ASSERT_OK(bj_block_jacobi_apply(M, BJ_NO_TRANSPOSE, b.data(), z.data(), n, this->space_));
      expected.apply(b.view(), expected_z.view());
      EXPECT_EQ(z.to_host(), expected_z.to_host());
    }
    this->expect_same_cg(A, M, LinearOperator<T>(expected_A), expected, b);
    bj_block_jacobi_destroy(M);
  }
  bj_operator_destroy(A);
  bj_partition_destroy(partition);
}

#undef ASSERT_OK

}  // namespace
}  // namespace blockjacobi::test
