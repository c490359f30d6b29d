#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/backends.hpp"

#include <blockjacobi/batched.hpp>
#include <blockjacobi/solver.hpp>

#include <cuda_runtime.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace {
thread_local long host_allocations = 0;
}

// Of the whole program, so that what the library allocates on the host is counted, and nothing of the driver's. Not
// inlined: the compiler would see free() where it expects the counterpart of new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++host_allocations;
  if (void* pointer = std::malloc(bytes > 0 ? bytes : 1)) return pointer;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* pointer) noexcept { std::free(pointer); }
[[gnu::noinline]] void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }

namespace blockjacobi::test {
namespace {

/// Throws, so that no test goes on with a graph that there is not.
void ok(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Bytes of the device that this process holds for its allocations in streams and in graphs, whatever others take.
std::uint64_t reserved_memory() {
  std::uint64_t in_pool = 0, in_graphs = 0;
  cudaMemPool_t pool = nullptr;
  ok(cudaDeviceGetDefaultMemPool(&pool, 0));
  ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &in_pool));
  ok(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &in_graphs));
  return in_pool + in_graphs;
}

/// Captured allocations would be nodes of their own: global mode refuses cudaMalloc(), not cudaMallocFromPoolAsync().
void expect_only_work(cudaGraph_t graph) {
  std::size_t count = 0;
  ok(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_GT(count, 0u);
  std::vector<cudaGraphNode_t> nodes(count);
  ok(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    ok(cudaGraphNodeGetType(node, &type));
    EXPECT_TRUE(type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeMemcpy)
        << "node of type " << static_cast<int>(type);
  }
}

/// The user's stream and allocator, which outlive the backend.
class UsersStream {
 public:
  UsersStream() { ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~UsersStream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  UsersStream(const UsersStream&) = delete;
  UsersStream& operator=(const UsersStream&) = delete;

  cudaStream_t get() const { return stream_; }
  Backend backend() const { return Backend::cuda(0, stream_, resource_); }
  int allocations() const { return resource_->calls; }

 private:
  cudaStream_t stream_ = nullptr;
  std::shared_ptr<CountingResource> resource_ = std::make_shared<CountingResource>();
};

/// As users record work: in global capture mode, which refuses every call that could wait. Replays take no memory.
class UsersGraph {
 public:
  template <class Work>
  UsersGraph(const UsersStream& stream, Work work) : stream_(stream.get()) {
    const int allocations = stream.allocations();
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    work();
    ok(cudaStreamEndCapture(stream_, &graph));
    EXPECT_EQ(stream.allocations(), allocations);
    expect_only_work(graph);
    ok(cudaGraphInstantiate(&executable_, graph, 0));
    ok(cudaGraphDestroy(graph));
  }
  ~UsersGraph() { static_cast<void>(cudaGraphExecDestroy(executable_)); }
  UsersGraph(const UsersGraph&) = delete;
  UsersGraph& operator=(const UsersGraph&) = delete;

  void launch() const { launch(stream_); }
  void launch(cudaStream_t stream) const { ok(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

/// Without a graph, so that the library's own code runs every time: nothing comes from the user's allocator, nothing
/// from another of the device, nothing from the host's.
template <class Step>
void expect_no_allocation(const UsersStream& stream, int steps, Step step) {
  step();  // loads the kernels
  ok(cudaStreamSynchronize(stream.get()));
  const int allocations = stream.allocations();
  const std::uint64_t before = reserved_memory();
  const long on_host = host_allocations;
  for (int i = 0; i < steps; ++i) step();
  EXPECT_EQ(host_allocations, on_host);
  ok(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(reserved_memory(), before);
  EXPECT_EQ(stream.allocations(), allocations);
}

/// A system with all that refresh and solve in a stream need.
template <Scalar T>
class Enqueued {
 public:
  Enqueued(const Backend& backend, index_t block, BasisPrecision basis)
      : matrix_(laplacian<T>(is_under_tool() ? 6 : 12)),
        system_(on<std::int32_t>(backend, matrix_)),
        A_(backend, system_.view()),
        M_(backend, system_.view(), BlockPartition::uniform(matrix_.rows, block)),
        b_(backend, random_vector<T>(size(), 71)),
        x_(backend, std::vector<T>(size())),
        y_(backend, std::vector<T>(size())),
        status_(backend, 2),
        by_cg_(A_, M_, options(basis)),
        by_gmres_(A_, M_, options(basis)) {}

  void clear() {
    x_.zero();
    y_.zero();
  }
  void refresh() { M_.refresh(system_.view().values, system_.view().nnz, MemorySpace::device); }
  void solve_by_cg() { cg_enqueue(by_cg_, std::as_const(b_).view(), x_.view(), status_.data()); }
  void solve_by_gmres() { gmres_enqueue(by_gmres_, std::as_const(b_).view(), y_.view(), status_.data() + 1); }

  std::vector<T> of_cg() const { return x_.to_host(); }
  std::vector<T> of_gmres() const { return y_.to_host(); }
  void expect_converged() const {
    for (const SolveStatus& s : status_.to_host()) EXPECT_EQ(s.reason, StopReason::converged) << to_string(s.reason);
  }

 private:
  /// To what rounding leaves in b - A x at most: each step of a cycle does what a product does, and ||x|| is at most
  /// ||b|| over the dominance of A.
  SolveOptions options(BasisPrecision basis) const {
    SolveOptions options;
    options.max_iterations = 60;
    options.restart = 15;
    options.rtol = options.restart * rounding_of_product(matrix_, 1 / row_sums(matrix_).dominance, 1);
    options.basis = basis;
    return options;
  }
  std::size_t size() const { return static_cast<std::size_t>(matrix_.rows); }

  System<T> matrix_;
  CsrArrays<T, std::int32_t> system_;
  LinearOperator<T> A_;
  BlockJacobi<T> M_;
  Array<T> b_, x_, y_;
  Array<SolveStatus> status_;
  CgWorkspace<T> by_cg_;
  GmresWorkspace<T> by_gmres_;
};

template <class T>
class UserGraphTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(UserGraphTest, Scalars);

template <Scalar T>
void expect_equal_replays(int replays) {
  const UsersStream stream;
  Enqueued<T> system(stream.backend(), 12, BasisPrecision::working);
  const UsersGraph graph(stream, [&] {
    system.clear();
    system.refresh();
    system.solve_by_cg();
    system.solve_by_gmres();
  });
  graph.launch();
  const auto first = system.of_cg(), first_gmres = system.of_gmres();
  system.expect_converged();
  const std::uint64_t before = reserved_memory();
  for (int i = 0; i < replays; ++i) graph.launch();
  ok(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(reserved_memory(), before);
  EXPECT_TRUE(same_bits(system.of_cg(), first));
  EXPECT_TRUE(same_bits(system.of_gmres(), first_gmres));
}

/// From the backend's own stream to the user's, which is captured, and back.
TYPED_TEST(UserGraphTest, WorkGoesToTheStreamThatIsSet) {
  using T = TypeParam;
  const UsersStream stream;
  const Backend backend = Backend::cuda(0);
  CUstream_st* const own = backend.stream();
  Enqueued<T> system(backend, 12, BasisPrecision::working);
  const auto step = [&] {
    system.clear();
    system.refresh();
    system.solve_by_cg();
    system.solve_by_gmres();
  };
  step();
  const auto expected = system.of_cg(), expected_gmres = system.of_gmres();
  backend.synchronize();
  backend.set_stream(stream.get());
  EXPECT_EQ(backend.stream(), stream.get());
  const UsersGraph graph(stream, step);
  system.clear();
  backend.set_stream(own);
  ok(cudaStreamSynchronize(stream.get()));
  graph.launch();
  ok(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(backend.stream(), own);
  EXPECT_TRUE(same_bits(system.of_cg(), expected));
  EXPECT_TRUE(same_bits(system.of_gmres(), expected_gmres));
}

TYPED_TEST(UserGraphTest, RefreshAndSolveInTheUsersGraph) { expect_equal_replays<TypeParam>(3); }

/// Apart from the above, which the sanitizers run too.
TYPED_TEST(UserGraphTest, AThousandReplaysTakeNoMemory) { expect_equal_replays<TypeParam>(1000); }

/// Two solves of one backend in two streams: neither takes the scratch of the other.
TYPED_TEST(UserGraphTest, SolvesOfOneBackendAtTheSameTime) {
  using T = TypeParam;
  for (const index_t block : {12, 48}) {  // in one launch, and by the phases
    SCOPED_TRACE(block);
    const UsersStream stream;
    const Backend backend = stream.backend();
    Enqueued<T> first(backend, block, BasisPrecision::working), second(backend, block, BasisPrecision::working);
    const auto record = [&](Enqueued<T>& system) {
      return std::make_unique<UsersGraph>(stream, [&] {
        system.clear();
        for (int i = 0; i < 3; ++i) {
          system.solve_by_cg();
          system.solve_by_gmres();
        }
      });
    };
    const auto a = record(first), b = record(second);
    a->launch();
    const auto by_cg = first.of_cg(), by_gmres = first.of_gmres();
    first.expect_converged();
    const UsersStream other;
    for (int i = 0; i < 50; ++i) {
      a->launch(stream.get());
      b->launch(other.get());
    }
    ok(cudaStreamSynchronize(stream.get()));
    ok(cudaStreamSynchronize(other.get()));
    for (const Enqueued<T>* system : {&first, &second}) {
      system->expect_converged();
      EXPECT_TRUE(same_bits(system->of_cg(), by_cg));
      EXPECT_TRUE(same_bits(system->of_gmres(), by_gmres));
    }
  }
}

TYPED_TEST(UserGraphTest, DirectStepsAllocateNothing) {
  using T = TypeParam;
  const std::pair<index_t, BasisPrecision> variants[] = {{12, BasisPrecision::working},  // CG in one launch
                                                         {48, BasisPrecision::single}};  // and by its phases
  for (const auto& [block, basis] : variants) {
    SCOPED_TRACE(block);
    const UsersStream stream;
    const long before_construction = host_allocations;
    Enqueued<T> system(stream.backend(), block, basis);
    EXPECT_GT(host_allocations, before_construction) << "operator new is not counted";
    const auto expect_nothing = [&](int steps, auto solve) {
      expect_no_allocation(stream, steps, [&] {
        system.clear();
        system.refresh();
        solve();
      });
    };
    expect_nothing(1000, [&] { system.solve_by_cg(); });
    expect_nothing(100, [&] { system.solve_by_gmres(); });
    system.expect_converged();
  }
}

/// Batches of one order for all functions of batched.hpp but those that take workspace.
template <Scalar T>
class EnqueuedBatches {
 public:
  EnqueuedBatches(const Backend& backend, index_t n)
      : backend_(backend),
        n_(n),
        a_(backend, matrices(n)),
        b_(backend, random_vector<T>(vectors(), 82)),
        results_(backend, std::vector<T>(8 * a_.size())),
        right_(backend, std::vector<T>(2 * vectors())),
        tau_(backend, std::vector<T>(vectors())),
        ipiv_(backend, std::vector<index_t>(vectors())),
        rank_(backend, std::vector<index_t>(number)),
        info_(backend, std::vector<int>(number)) {}

  void run() {
    using batched::Op, batched::SpdStorage, batched::Triangle;
    int* const info = info_.data();
    const auto a = view(a_.data());
    batched::inverse(backend_, a, result(0), info);
    batched::spd_inverse(backend_, Triangle::lower, a, result(1), SpdStorage::full, info);
    batched::getrf(backend_, copied(2), ipiv_.data(), info);
    batched::getrs(backend_, Op::transpose, result(2), ipiv_.data(), right(0));
    batched::getri(backend_, result(2), ipiv_.data(), result(3), info);
    batched::potrf(backend_, Triangle::upper, copied(4), info);
    batched::potrs(backend_, Triangle::upper, result(4), right(1));
    batched::potri(backend_, Triangle::upper, result(4), info);
    batched::geqrf(backend_, copied(5), tau_.data());
    if (n_ > 32) return;
    batched::spd_inverse(backend_, Triangle::lower, a, result(6), SpdStorage::packed, info);
    batched::pseudo_inverse(backend_, a, result(7), 0, rank_.data());
  }

  void clear() {
    results_.zero();
    right_.zero();
    tau_.zero();
  }
  std::vector<T> results() const {
    std::vector<T> all = results_.to_host();
    for (const Array<T>* more : {&right_, &tau_}) {
      const std::vector<T> values = more->to_host();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  static constexpr offset_t count = 40;
  static constexpr std::size_t number = count;

  /// Hermitian, with a diagonal that dominates.
  static std::vector<T> matrices(index_t n) {
    const auto order = static_cast<std::size_t>(n), size = order * order;
    std::vector<T> all = random_vector<T>(number * size, 81);
    for (std::size_t k = 0; k < number; ++k) {
      T* const a = all.data() + k * size;
      for (std::size_t j = 0; j < order; ++j) {
        for (std::size_t i = 0; i < j; ++i) a[j * order + i] = a[i * order + j] = T(std::real(a[i * order + j]));
        a[j * order + j] = T(static_cast<real_t<T>>(4 * n));
      }
    }
    return all;
  }

  std::size_t vectors() const { return number * static_cast<std::size_t>(n_); }
  MatrixBatchView<T> view(T* data, index_t columns) const {
    return MatrixBatchView<T>::strided(data, n_, columns, n_, offset_t{n_} * columns, count, MemorySpace::device);
  }
  MatrixBatchView<T> view(T* data) const { return view(data, n_); }
  MatrixBatchView<T> result(std::size_t place) const { return view(results_.data() + place * a_.size()); }
  MatrixBatchView<T> copied(std::size_t place) const {
    backend_.impl().copy(result(place).data, a_.data(), a_.bytes());
    return result(place);
  }
  MatrixBatchView<T> right(std::size_t place) const {
    T* const data = right_.data() + place * vectors();
    backend_.impl().copy(data, b_.data(), b_.bytes());
    return view(data, 1);
  }

  Backend backend_;
  index_t n_;
  Array<T> a_, b_, results_, right_, tau_;
  Array<index_t> ipiv_, rank_;
  Array<int> info_;
};

/// Also above order 32, where packed inverses and pseudo-inverses are left out.
TYPED_TEST(UserGraphTest, BatchedFunctionsAreEnqueuedAndAllocateNothing) {
  using T = TypeParam;
  for (const index_t n : {2, 5, 16, 32, 33, 70, 130}) {
    SCOPED_TRACE(n);
    const UsersStream stream;
    EnqueuedBatches<T> batches(stream.backend(), n);
    expect_no_allocation(stream, 20, [&] { batches.run(); });
    const std::vector<T> direct = batches.results();
    batches.clear();
    EXPECT_FALSE(same_bits(batches.results(), direct));
    const UsersGraph graph(stream, [&] { batches.run(); });
    graph.launch();
    EXPECT_TRUE(same_bits(batches.results(), direct));
  }
}

template <Scalar T>
std::vector<std::vector<T>> inverses_of(const BlockJacobi<T>& m) {
  std::vector<std::vector<T>> blocks;
  for (index_t b = 0; b < m.partition().blocks(); ++b) blocks.push_back(m.inverse_block(b));
  return blocks;
}

/// Every storage, l1 and repair, with values whose blocks become singular: the same bits in a graph and without.
TYPED_TEST(UserGraphTest, RefreshOfSingularBlocksInEveryStorage) {
  using T = TypeParam;
  std::vector<BlockJacobiOptions> variants;
  for (const SingularPolicy policy : {SingularPolicy::shift, SingularPolicy::pseudo_inverse}) {
    for (const Storage storage : {Storage::full, Storage::packed, Storage::fp16, Storage::adaptive})
      variants.push_back({policy, storage});
    variants.push_back({.singular = policy, .l1 = true});
  }
  const System<T> regular = laplacian<T>(12);
  const auto partition = BlockPartition::from_offsets({0, 3, 35, 50, 98, 144});
  std::vector<T> singular = regular.values;
  for (const std::size_t row : {1u, 34u, 50u, 143u})  // of all blocks but one
    std::fill(singular.begin() + regular.offsets[row], singular.begin() + regular.offsets[row + 1], T(0));
  for (const BlockJacobiOptions& options : variants) {
    SCOPED_TRACE(std::string(to_string(options.singular)) + ", " + to_string(options.storage) +
                 (options.l1 ? ", l1" : ""));
    const UsersStream stream;
    const Backend backend = stream.backend();
    const auto system = on<std::int32_t>(backend, regular);
    Array<T> values(backend, regular.values);
    BlockJacobi<T> m(backend, system.view(), partition, options);
    const auto refresh = [&] { m.refresh(values.data(), system.view().nnz, MemorySpace::device); };
    const UsersGraph graph(stream, refresh);
    values.copy_from_host(singular.data());
    graph.launch();
    EXPECT_EQ(m.defects(), 4);
    const auto repaired = inverses_of(m);
    values.copy_from_host(regular.values.data());
    graph.launch();
    EXPECT_EQ(m.defects(), 0);
    values.copy_from_host(singular.data());
    expect_no_allocation(stream, 20, refresh);
    EXPECT_EQ(m.defects(), 4);
    EXPECT_EQ(inverses_of(m), repaired);
  }
}

}  // namespace
}  // namespace blockjacobi::test
