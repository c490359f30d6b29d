#include "backend/host_coarse_ops.hpp"
#include "backend/host_kernels.hpp"
#include "backend/host_krylov_ops.hpp"
#include "backend/host_storage_ops.hpp"
#include "core/message.hpp"
#include "partition/agglomerate.hpp"
#include "partition/supervariables.hpp"
#include "precond/fingerprint.hpp"

#include <blockjacobi/error.hpp>

#include <omp.h>

#include <cstring>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace blockjacobi::detail {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// From two of them on, arrays are placed so that they can lie on huge pages.
bool is_huge(std::size_t bytes) { return bytes >= 2 * huge_page; }

std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{is_huge(bytes) ? huge_page : 256}; }

/// why: faults of small pages at the first write cost a set-up as much as its arithmetic.
void advise_huge_pages([[maybe_unused]] void* pointer, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  if (is_huge(bytes)) static_cast<void>(madvise(pointer, bytes, MADV_HUGEPAGE));  // a hint: it may be refused
#endif
}

class HostPartitionOps final : public PartitionOps {
 public:
  explicit HostPartitionOps(int threads) : threads_(threads) {}
  BlockPartition detect(const Backend&, const CsrView<const void, std::int32_t>& pattern,
                        const SupervariableRule& rule) override {
    return find(pattern, rule);
  }
  BlockPartition detect(const Backend&, const CsrView<const void, std::int64_t>& pattern,
                        const SupervariableRule& rule) override {
    return find(pattern, rule);
  }
  std::uint64_t fingerprint(const CsrView<const void, std::int32_t>& pattern) override {
    return host_fingerprint(pattern, threads_);
  }
  std::uint64_t fingerprint(const CsrView<const void, std::int64_t>& pattern) override {
    return host_fingerprint(pattern, threads_);
  }
  void place(const BlockLayout& layout, const index_t*, BlockSlot* slots) override {
    std::ranges::copy(layout.slots(), slots);
  }

 private:
  template <Offset O>
  static BlockPartition find(const CsrView<const void, O>& pattern, const SupervariableRule& rule) {
    auto offsets = supervariables(pattern, rule.max_size, rule.tolerance);
    return BlockPartition::from_offsets(rule.merge_greedily ? detail::merge_greedily(offsets, rule.max_size) : offsets);
  }

  int threads_;
};

/// Nothing to record on the host: a replay runs the work.
class HostRecording final : public Recording {
 public:
  explicit HostRecording(std::function<void()> body) : body_(std::move(body)) {}
  void replay() override { body_(); }

 private:
  std::function<void()> body_;
};

/// All that was enqueued has run.
class HostSnapshots final : public Snapshots {
 public:
  HostSnapshots(const void* source, std::size_t bytes) : source_(source), copy_(bytes) {}
  int depth() const override { return 1; }
  int under_way() const override { return under_way_; }
  void take() override {
    std::memcpy(copy_.data(), source_, copy_.size());
    under_way_ = 1;
  }
  const void* next() override {
    under_way_ = 0;
    return copy_.data();
  }

 private:
  const void* source_;
  std::vector<std::byte> copy_;
  int under_way_ = 0;
};

/// The typed sets of operations for one scalar that are compiled once.
template <Scalar T>
struct HostOps {
  explicit HostOps(int threads) : storage(threads), krylov(threads), coarse(threads) {}
  HostStorageOps<T> storage;
  HostKrylovOps<T> krylov;
  HostCoarseOps<T> coarse;
};

class HostBackend final : public BackendImpl {
 public:
  explicit HostBackend(int threads)
      : threads_(threads),
        partition_(threads),
        kernels_(make_host_kernels(host_isa(), threads)),
        s_(threads),
        d_(threads),
        c_(threads),
        z_(threads) {}

  BackendKind kind() const override { return BackendKind::host; }
  MemorySpace space() const override { return MemorySpace::host; }
  std::string description() const override {
    return detail::message("host, {} thread{}", threads_, threads_ == 1 ? "" : "s");
  }
  CUstream_st* stream() const override { return nullptr; }
  void set_stream(CUstream_st*) override {
    throw InvalidArgument("Backend::set_stream: the backend (" + description() + ") has no stream");
  }
  int threads() const override { return threads_; }
  void synchronize() override {}

  void* allocate(std::size_t bytes) override {
    void* const pointer = ::operator new(bytes, alignment(bytes));
    advise_huge_pages(pointer, bytes);
    return pointer;
  }
  void deallocate(void* pointer, std::size_t bytes) noexcept override { ::operator delete(pointer, alignment(bytes)); }
  void copy_from_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  // An empty array has a null pointer, which memcpy and memset must not be given even for no bytes.
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
  void set(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }

  std::unique_ptr<Recording> record(std::function<void()> body, bool) override {
    return std::make_unique<HostRecording>(std::move(body));
  }

  std::unique_ptr<Snapshots> snapshots(const void* source, std::size_t bytes) override {
    return std::make_unique<HostSnapshots>(source, bytes);
  }

  PartitionOps& partition_ops() override { return partition_; }
  BlockOps<float>& block_ops(float) override { return *kernels_.s.block; }
  BlockOps<double>& block_ops(double) override { return *kernels_.d.block; }
  BlockOps<std::complex<float>>& block_ops(std::complex<float>) override { return *kernels_.c.block; }
  BlockOps<std::complex<double>>& block_ops(std::complex<double>) override { return *kernels_.z.block; }
  StorageOps<float>& storage_ops(float) override { return s_.storage; }
  StorageOps<double>& storage_ops(double) override { return d_.storage; }
  StorageOps<std::complex<float>>& storage_ops(std::complex<float>) override { return c_.storage; }
  StorageOps<std::complex<double>>& storage_ops(std::complex<double>) override { return z_.storage; }
  BatchedOps<float>& batched_ops(float) override { return *kernels_.s.batched; }
  BatchedOps<double>& batched_ops(double) override { return *kernels_.d.batched; }
  BatchedOps<std::complex<float>>& batched_ops(std::complex<float>) override { return *kernels_.c.batched; }
  BatchedOps<std::complex<double>>& batched_ops(std::complex<double>) override { return *kernels_.z.batched; }
  KrylovOps<float>& krylov_ops(float) override { return s_.krylov; }
  KrylovOps<double>& krylov_ops(double) override { return d_.krylov; }
  KrylovOps<std::complex<float>>& krylov_ops(std::complex<float>) override { return c_.krylov; }
  KrylovOps<std::complex<double>>& krylov_ops(std::complex<double>) override { return z_.krylov; }
  CoarseOps<float>& coarse_ops(float) override { return s_.coarse; }
  CoarseOps<double>& coarse_ops(double) override { return d_.coarse; }
  CoarseOps<std::complex<float>>& coarse_ops(std::complex<float>) override { return c_.coarse; }
  CoarseOps<std::complex<double>>& coarse_ops(std::complex<double>) override { return z_.coarse; }

 private:
  int threads_;
  HostPartitionOps partition_;
  HostKernels kernels_;
  HostOps<float> s_;
  HostOps<double> d_;
  HostOps<std::complex<float>> c_;
  HostOps<std::complex<double>> z_;
};

}  // namespace

std::shared_ptr<BackendImpl> make_host_backend(int threads) {
  return std::make_shared<HostBackend>(threads > 0 ? threads : omp_get_max_threads());
}

}  // namespace blockjacobi::detail
