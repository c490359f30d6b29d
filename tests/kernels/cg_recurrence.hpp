#pragma once

#include "kernels/krylov/launch.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/backends.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/two_level.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace blockjacobi::test {

using detail::CgState;
using detail::CgVectors;
using detail::compute_cast;
using detail::compute_t;

/// z = D r with D = diag(1/3, 1/4, 1/3, ...), by the operator of a diagonal matrix.
template <Scalar T>
class Scaling final : public detail::PreconditionerImpl<T> {
 public:
  Scaling(const Backend& backend, index_t n)
      : system_(on<std::int32_t>(backend, diagonal(n))), product_(make(backend)) {}
  index_t rows() const override { return product_->rows(); }
  void apply(const compute_t<T>* r, compute_t<T>* z) const override { product_->apply(r, z); }
  bool capturable() const override { return true; }

 private:
  static System<T> diagonal(index_t n) {
    System<T> a{n, {0}, {}, {}};
    for (index_t i = 0; i < n; ++i) {
      a.columns.push_back(i);
      a.values.push_back(T(real_t<T>(1) / real_t<T>(3 + i % 2)));
      a.offsets.push_back(i + 1);
    }
    return a;
  }
  auto make(const Backend& backend) { return detail::krylov_ops<T>(backend).make_csr(system_.view()); }

  CsrArrays<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
};

/// Block-Jacobi that shows nothing but its apply.
template <Scalar T>
class ApplyOnly final : public detail::PreconditionerImpl<T> {
 public:
  explicit ApplyOnly(const detail::PreconditionerImpl<T>& blocks) : blocks_(blocks) {}
  index_t rows() const override { return blocks_.rows(); }
  void apply(const compute_t<T>* r, compute_t<T>* z) const override { blocks_.apply(r, z); }
  bool capturable() const override { return true; }

 private:
  const detail::PreconditionerImpl<T>& blocks_;
};

/// What z = M^-1 r goes through: r itself, phases of their own, and the phase that takes the blocks along.
enum class Way { plain, separate, uniform_blocks, blocks_of_8, blocks_of_12, blocks_of_16, mixed_blocks };

template <Scalar T>
BlockPartition partition(index_t rows, Way way) {
  if (way == Way::blocks_of_8) return BlockPartition::uniform(rows, 8);
  if (way == Way::blocks_of_12) return BlockPartition::uniform(rows, 12);
  if (way == Way::blocks_of_16) return BlockPartition::uniform(rows, 16);
  if (way == Way::uniform_blocks) {
    for (index_t order = 32; order > 1; --order)
      if (rows % order == 0) return BlockPartition::uniform(rows, order);
    return BlockPartition::uniform(rows, 1);
  }
  std::vector<index_t> offsets{0};
  const index_t orders[] = {1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32};
  for (std::size_t k = 0; offsets.back() < rows; ++k)
    offsets.push_back(std::min(rows, offsets.back() + orders[k % std::size(orders)]));
  return BlockPartition::from_offsets(offsets);
}

inline TwoLevelOptions coarse(CoarseMode mode, index_t size, index_t relaxed = 0) {
  return {.mode = mode, .size = size, .relaxed = relaxed};
}

/// The vectors and the state of one recurrence on one backend.
template <Scalar T>
class Recurrence {
  using State = CgState<compute_t<T>>;

 public:
  Recurrence(const Backend& backend, const System<T>& a, Way way, double target, int max_iterations,
             const BlockJacobiOptions& options = {}, const std::optional<TwoLevelOptions>& level = {})
      : backend_(backend),
        n_(a.rows),
        system_(on<std::int32_t>(backend, a)),
        product_(ops().make_csr(system_.view())),
        x_(backend, random_vector<T>(size(), 41)),
        b_(backend, random_vector<T>(size(), 42)),
        r_(backend, size()),
        z_(backend, size()),
        p_(backend, size()),
        q_(backend, size()),
        state_(backend, std::vector<State>{detail::cg_initial_state<compute_t<T>>(target, max_iterations)}) {
    if (way == Way::separate) scaling_.emplace(backend, n_);
    if (way != Way::plain && way != Way::separate)
      blocks_.emplace(backend, system_.view(), partition<T>(n_, way), options);
    p_.zero();
    q_.zero();
    ops().residual(*product_, data_of(b_), data_of(x_), data_of(r_));
    if (level) {
      two_level_.emplace(SparseMatrix<T>(backend, system_.view()), std::move(*blocks_), *level);
      if (preconditioner()->correct_start(data_of(r_), data_of(z_))) {
        ops().add(n_, data_of(z_), data_of(x_), nullptr);
        ops().residual(*product_, data_of(b_), data_of(x_), data_of(r_));
      }
    }
    update();
    direction();
  }

  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  CgVectors<compute_t<T>> vectors() {
    return {n_,          data_of(x_), data_of(r_), preconditioner() != nullptr ? data_of(z_) : data_of(r_),
            data_of(p_), data_of(q_)};
  }
  const detail::PreconditionerImpl<T>* preconditioner() const {
    if (apply_only_) return &*apply_only_;
    if (two_level_) return &two_level_->preconditioner();
    if (blocks_) return &blocks_->preconditioner();
    return scaling_ ? &*scaling_ : nullptr;
  }
  void product() { ops().cg_product(*product_, vectors(), state_.data()); }
  void update() { ops().cg_update(preconditioner(), vectors(), state_.data()); }
  void direction() { ops().cg_direction(vectors(), state_.data()); }
  void iterate() {
    product();
    update();
    direction();
  }

  /// From now on blocks are applied by a phase of their own.
  void hide_blocks() { apply_only_.emplace(blocks_->preconditioner()); }

  /// Several iterations, in one launch where there is one for this system.
  bool resides() { return message_elements() > 0; }
  void iterations(int count) {
    if (!resides()) return;
    Array<T> messages(backend_, message_elements());
    messages.zero();
    ops().cg_iterations(*product_, preconditioner(), vectors(), data_of(messages), count, state_.data());
  }

  /// The same in thread blocks with so much shared memory; returns how often they waited for sums.
  unsigned iterations_within(int count, int shared_bytes) {
    using C = compute_t<T>;
    Array<T> messages(backend_, message_elements());
    messages.zero();
    Array<std::byte> exchange(backend_, kernels::exchange_bytes());
    exchange.zero();
    const auto a = system_.view();
    const auto correction = preconditioner()->coarse_correction();
    const auto blocks = *(correction ? correction->first : *preconditioner()).inverse()->full;
    const auto run = [&](const auto&... level) {
      kernels::cg_resident<C>(
          {a.rows, a.cols, a.nnz, a.row_offsets, a.columns, compute_cast(a.values), a.base, a.space}, blocks, level...,
          vectors(), data_of(messages), count, state_.data(), {nullptr, nullptr, exchange.data()}, backend_.stream(),
          shared_bytes);
    };
    if (correction) {
      run(correction->coarse);
    } else {
      run();
    }
    unsigned round = 0;  // of the messages told last
    const std::vector<std::byte> told = exchange.to_host();
    for (std::size_t i = 0; i < told.size(); i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, told.data() + i, sizeof(word));
      round = std::max(round, static_cast<unsigned>(word));
    }
    return round;
  }

  index_t coarse_order() const { return two_level_->report().size; }
  State state() const { return state_.to_host()[0]; }
  void set_state(const State& state) { state_.copy_from_host(&state); }
  std::vector<T> x() const { return x_.to_host(); }
  std::vector<T> r() const { return r_.to_host(); }
  std::vector<T> z() const { return z_.to_host(); }
  std::vector<T> p() const { return p_.to_host(); }
  std::vector<T> q() const { return q_.to_host(); }
  const Backend& backend() const { return backend_; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  std::size_t message_elements() { return ops().cg_message_elements(*product_, preconditioner()); }

  Backend backend_;
  index_t n_;
  CsrArrays<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
  std::optional<Scaling<T>> scaling_;
  std::optional<BlockJacobi<T>> blocks_;  ///< until they are those of two_level_
  std::optional<TwoLevel<T>> two_level_;
  std::optional<ApplyOnly<T>> apply_only_;
  Array<T> x_, b_, r_, z_, p_, q_;
  Array<State> state_;
};

/// Grids of the systems on which phases are compared with the host; under a tool the smallest with two thread blocks of
/// every kernel.
inline std::vector<index_t> grids() {
  if (is_under_tool()) return {17};
  return {6, 16, 17, 40};
}

/// With long_rows(), for each shape of a product, and the first so long that a warp takes its rows in more pieces than
/// one. Under a tool without blocks, whose set-up takes longer.
inline constexpr index_t row_lengths[] = {10, 20, 40, 60, 100, 200};
inline Way way_of_long_rows() { return is_under_tool() ? Way::plain : Way::mixed_blocks; }

template <class T>
std::complex<double> value(T a) {
  if constexpr (detail::Arithmetic<T>::is_complex)
    return {a.re, a.im};
  else
    return a;
}

template <class T>
void expect_close(const char* name, T a, T b, double tolerance) {
  EXPECT_LE(std::abs(value(a) - value(b)), tolerance * std::abs(value(b))) << name;
}

/// Hermitian, with `length` entries in every row but the first and the last ones, and dominant diagonals.
template <Scalar T>
System<T> long_rows(index_t length) {
  System<T> a{500, {0}, {}, {}};
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = std::max(0, i - length / 2); j <= std::min(a.rows - 1, i + length / 2); ++j) {
      a.columns.push_back(j);
      a.values.push_back(i == j ? T(real_t<T>(length)) : T(real_t<T>(-0.9 / (1 + std::abs(i - j) % 3))));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

/// So accurate that adaptive storage has more than one format for the blocks of laplacian().
inline BlockJacobiOptions in(Storage storage) {
  BlockJacobiOptions options;
  options.storage = storage;
  options.accuracy = 4e-4;
  return options;
}

inline constexpr Storage other_storages[] = {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16,
                                             Storage::adaptive};

}  // namespace blockjacobi::test
