#pragma once

#include "kernels/collectives/cta_reduce.cuh"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Shared memory of CtaPseudoInverse.
template <class C>
struct PseudoInverseScratch {
  C tau[max_block_size];
  C row_tau[max_block_size];
  int permutation[max_block_size];
  ReduceScratch<1, double> doubles;
  PivotCandidate<double> candidate[max_warps_per_cta];
};

/// The pseudo-inverse of a matrix of order n with elements near 1 by a thread block: A P = Q R, [R11 R12] = [T 0] Z,
/// X = P Z^H [T^-1 0; 0 0] Q^H, as on the host (host_pseudo_inverse.hpp). Warps take columns, threads take rows.
template <class C>
class CtaPseudoInverse {
  using Real = detail::arithmetic_real_t<C>;

 public:
  /// `w`: the matrix in global memory, column-major; it is overwritten. `y`: n elements of shared memory a warp.
  __device__ CtaPseudoInverse(C* w, int n, C* y, PseudoInverseScratch<C>& scratch)
      : w_(w), n_(n), y_(y + warp() * n), scratch_(scratch), lanes_(Lanes<32>::current()) {}

  /// The rank counts |r_jj| above rtol |r_11| and `least`, at most largest_rank; columns behind it are not factored:
  /// reflectors made of rounding errors of rounding errors overflow in single precision. Calls store(i, j, x_ij) once
  /// for every element. Returns the rank.
  template <class Store>
  __device__ int run(Real rtol, Real least, int largest_rank, Store store) {
    for (int j = thread(); j < n_; j += threads()) scratch_.permutation[j] = j;
    __syncthreads();
    factor(rtol, least, largest_rank);
    for (int i = rank_ - 1; i >= 0; --i) reduce_row(i);
    for (int j = warp(); j < n_; j += threads() / 32) {
      solve_column(j);
      for (int i = lanes_.rank; i < n_; i += 32) store(scratch_.permutation[i], j, y_[i]);
      lanes_.sync();
    }
    return rank_;
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int warp() { return thread() / 32; }
  __device__ C& at(int i, int j) const { return w_[i + static_cast<offset_t>(j) * n_]; }

  __device__ double warp_sum(double v) const {
    return lanes_.reduce(v, [](double a, double b) { return a + b; });
  }
  __device__ float warp_sum(float v) const {
    return lanes_.reduce(v, [](float a, float b) { return a + b; });
  }
  template <class R>
  __device__ detail::Complex<R> warp_sum(detail::Complex<R> v) const {
    return {warp_sum(v.re), warp_sum(v.im)};
  }
  __device__ double block_sum(double v) const {
    return cta_reduce(v, scratch_.doubles, [](double a, double b) { return a + b; });
  }

  /// The longest of the columns k, ..., n - 1 from row k on, with its squared norm.
  __device__ PivotCandidate<double> longest_column(int k) const {
    PivotCandidate<double> best{-1.0, n_};
    for (int j = k + warp(); j < n_; j += threads() / 32) {
      double sum = 0;
      for (int i = k + lanes_.rank; i < n_; i += 32) sum += detail::norm2(detail::widen(at(i, j)));
      sum = warp_sum(sum);
      if (sum > best.magnitude) best = {sum, j};
    }
    if (lanes_.rank == 0) scratch_.candidate[warp()] = best;
    __syncthreads();
    best = scratch_.candidate[0];
    for (int v = 1; v < threads() / 32; ++v) {
      const PivotCandidate<double> other = scratch_.candidate[v];
      if (other.magnitude > best.magnitude || (other.magnitude == best.magnitude && other.order < best.order))
        best = other;
    }
    return best;
  }

  __device__ void exchange_columns(int k, int p) const {
    for (int i = thread(); i < n_; i += threads()) {
      const C value = at(i, k);
      at(i, k) = at(i, p);
      at(i, p) = value;
    }
    if (thread() == 0) {
      const int place = scratch_.permutation[k];
      scratch_.permutation[k] = scratch_.permutation[p];
      scratch_.permutation[p] = place;
    }
  }

  /// H = I - tau v v^H with H^H x = beta e_1 for a vector of which all threads know the first element.
  struct Reflection {
    C tau;
    C scale;  ///< v = scale x behind the first element
    Real beta;
  };
  __device__ static Reflection reflection(C first, double tail) {
    if (tail == 0) {  // a complex first element is not made real: T^-1 takes it as it is
      return {C{}, C{}, Real(0)};
    }
    const Real norm = static_cast<Real>(sqrt(detail::norm2(detail::widen(first)) + tail));
    const Real beta = detail::real_part(first) >= Real(0) ? -norm : norm;
    const C difference = first - detail::from_real<C>(beta);
    return {(Real(-1) / beta) * difference, detail::reciprocal(difference), beta};
  }

  __device__ void factor(Real rtol, double least, int largest_rank) {
    double bound = least * least;
    for (rank_ = 0; rank_ < largest_rank; ++rank_) {
      const PivotCandidate<double> longest = longest_column(rank_);
      if (!(longest.magnitude > bound)) return;
      if (rank_ == 0) bound = fmax(bound, longest.magnitude * rtol * rtol);
      factor_column(rank_, longest.order);
    }
  }

  /// Brings column p to place k and makes its reflector.
  __device__ void factor_column(int k, int p) const {
    if (p != k) exchange_columns(k, p);
    __syncthreads();
    double tail = 0;
    for (int i = k + 1 + thread(); i < n_; i += threads()) tail += detail::norm2(detail::widen(at(i, k)));
    tail = block_sum(tail);
    const Reflection h = reflection(at(k, k), tail);
    __syncthreads();
    for (int i = k + 1 + thread(); i < n_; i += threads()) at(i, k) = at(i, k) * h.scale;
    if (thread() == 0) {
      scratch_.tau[k] = h.tau;
      if (tail != 0) at(k, k) = detail::from_real<C>(h.beta);
    }
    __syncthreads();
    if (detail::is_zero(h.tau)) return;
    for (int j = k + 1 + warp(); j < n_; j += threads() / 32) {
      C sum{};
      for (int i = k + 1 + lanes_.rank; i < n_; i += 32) sum += detail::conj(at(i, k)) * at(i, j);
      const C s = detail::conj(h.tau) * (at(k, j) + warp_sum(sum));
      lanes_.sync();
      for (int i = k + 1 + lanes_.rank; i < n_; i += 32) at(i, j) -= at(i, k) * s;
      if (lanes_.rank == 0) at(k, j) -= s;
    }
    __syncthreads();
  }

  /// Clears the tail of row i, behind the rank, by a reflector from the right; its vector takes the place of the tail.
  __device__ void reduce_row(int i) const {
    double tail = 0;
    for (int k = rank_ + thread(); k < n_; k += threads()) tail += detail::norm2(detail::widen(at(i, k)));
    tail = block_sum(tail);
    const Reflection h = reflection(detail::conj(at(i, i)), tail);
    __syncthreads();
    for (int k = rank_ + thread(); k < n_; k += threads()) at(i, k) = detail::conj(at(i, k)) * h.scale;
    if (thread() == 0) {
      scratch_.row_tau[i] = h.tau;
      if (tail != 0) at(i, i) = detail::from_real<C>(h.beta);
    }
    __syncthreads();
    if (detail::is_zero(h.tau)) return;
    for (int row = thread(); row < i; row += threads()) {
      C sum = at(row, i);
      for (int k = rank_; k < n_; ++k) sum += at(i, k) * at(row, k);
      const C t = h.tau * sum;
      at(row, i) -= t;
      for (int k = rank_; k < n_; ++k) at(row, k) -= t * detail::conj(at(i, k));
    }
    __syncthreads();
  }

  /// y <- (I - tau v v^H) y with v_1 = 1 at `first` and v(t) at first_tail + t, t < count.
  template <class Vector>
  __device__ void reflect(C tau, int first, int first_tail, int count, Vector v) const {
    C sum{};
    for (int t = lanes_.rank; t < count; t += 32) sum += detail::conj(v(t)) * y_[first_tail + t];
    const C s = tau * (y_[first] + warp_sum(sum));
    lanes_.sync();
    for (int t = lanes_.rank; t < count; t += 32) y_[first_tail + t] -= v(t) * s;
    if (lanes_.rank == 0) y_[first] -= s;
    lanes_.sync();
  }

  /// Column j of Z^H [T^-1 0; 0 0] Q^H, by one warp.
  __device__ void solve_column(int j) const {
    for (int i = lanes_.rank; i < n_; i += 32) y_[i] = detail::from_real<C>(Real(i == j));
    lanes_.sync();
    for (int k = 0; k < rank_; ++k)
      reflect(detail::conj(scratch_.tau[k]), k, k + 1, n_ - k - 1, [&](int t) { return at(k + 1 + t, k); });
    for (int k = rank_ - 1; k >= 0; --k) {
      const C y_k = y_[k] * detail::reciprocal(at(k, k));
      lanes_.sync();
      for (int i = lanes_.rank; i < k; i += 32) y_[i] -= at(i, k) * y_k;
      if (lanes_.rank == 0) y_[k] = y_k;
      lanes_.sync();
    }
    for (int i = rank_ + lanes_.rank; i < n_; i += 32) y_[i] = C{};
    lanes_.sync();
    for (int i = 0; i < rank_; ++i)
      reflect(scratch_.row_tau[i], i, rank_, n_ - rank_, [&](int t) { return at(i, rank_ + t); });
  }

  C* w_;
  int n_;
  int rank_ = 0;
  C* y_;
  PseudoInverseScratch<C>& scratch_;
  Lanes<32> lanes_;
};

}  // namespace blockjacobi::kernels
