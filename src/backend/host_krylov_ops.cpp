#include "backend/host_krylov_ops.hpp"

#include "backend/host_csr.hpp"
#include "backend/host_rows.hpp"

namespace blockjacobi::detail {

namespace {

/// Basis columns handled in one pass over the rows.
constexpr std::size_t column_panel = 8;

/// h[k] = v_k^H w for columns k of the basis.
template <class C>
void project(index_t n, int threads, const C* basis, int columns, const C* w, C* h) {
  using A = accumulator_t<C>;
  constexpr int panel_width = static_cast<int>(column_panel);
  for (int first = 0; first < columns; first += panel_width) {
    const int width = std::min(panel_width, columns - first);
    const C* panel = basis + static_cast<offset_t>(first) * n;
    const auto sums =
        sum_rows<A, column_panel>(n, threads, [=](index_t begin, index_t end, std::array<A, column_panel>& p) {
          for (int k = 0; k < width; ++k) {
            const C* v = panel + static_cast<offset_t>(k) * n;
            A sum{};
            for (index_t i = begin; i < end; ++i) sum += conj(widen(v[i])) * widen(w[i]);
            p[static_cast<std::size_t>(k)] = sum;
          }
        });
    for (int k = 0; k < width; ++k) h[first + k] = narrow<C>(sums[static_cast<std::size_t>(k)]);
  }
}

/// y = beta y + sum_k factor h[k] v_k, chunk by chunk so that y stays in the cache.
template <class C>
void combine(index_t n, int threads, const C* basis, int columns, const C* h, arithmetic_real_t<C> factor, bool add,
             C* y) {
  const RowChunks chunks(n);
#pragma omp parallel for num_threads(threads) schedule(static) if (n > 4096)
  for (index_t c = 0; c < chunks.count; ++c) {
    const index_t begin = chunks.begin(c), end = chunks.end(c);
    if (!add) std::fill(y + begin, y + end, C{});
    for (int k = 0; k < columns; ++k) {
      const C* v = basis + static_cast<offset_t>(k) * n;
      const C coefficient = factor * h[k];
      for (index_t i = begin; i < end; ++i) y[i] += coefficient * v[i];
    }
  }
}

}  // namespace

template <Scalar T>
std::unique_ptr<OperatorImpl<T>> HostKrylovOps<T>::make_csr(const CsrView<T, std::int32_t>& matrix) {
  return std::make_unique<HostCsr<T, std::int32_t>>(matrix, threads_);
}
template <Scalar T>
std::unique_ptr<OperatorImpl<T>> HostKrylovOps<T>::make_csr(const CsrView<T, std::int64_t>& matrix) {
  return std::make_unique<HostCsr<T, std::int64_t>>(matrix, threads_);
}

template <Scalar T>
void HostKrylovOps<T>::residual(const OperatorImpl<T>& A, const T* b_, const T* x, T* r_) {
  A.apply(x, r_);
  const C* b = compute_cast(b_);
  C* r = compute_cast(r_);
  for_rows(A.rows(), threads_, [=](index_t i) { r[i] = b[i] - r[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::norm(index_t n, const T* x, double* norm) {
  *norm = std::sqrt(squared_norm(n, threads_, compute_cast(x)));
}

template <Scalar T>
void HostKrylovOps<T>::add(index_t n, const T* u_, T* x_) {
  const C* u = compute_cast(u_);
  C* x = compute_cast(x_);
  for_rows(n, threads_, [=](index_t i) { x[i] += u[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::cg_product(const OperatorImpl<T>& A, const CgVectors<T>& v, CgState<C>* state) {
  if (state->stop != 0) return;
  A.apply(v.p, v.q);
  state->pq = dot(v.n, threads_, compute_cast(v.p), compute_cast(v.q));
  cg_step_length(*state);
}

template <Scalar T>
void HostKrylovOps<T>::cg_update(const PreconditionerImpl<T>* M, const CgVectors<T>& v, CgState<C>* state) {
  if (state->stop != 0) return;
  C* x = compute_cast(v.x);
  C* r = compute_cast(v.r);
  const C *p = compute_cast(v.p), *q = compute_cast(v.q);
  const C alpha = state->alpha;
  for_rows(v.n, threads_, [=](index_t i) {
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
  });
  if (M != nullptr) M->apply(v.r, v.z);
  state->rr = squared_norm(v.n, threads_, r);
  state->rho_new = dot(v.n, threads_, r, compute_cast(v.z));
  cg_direction_factor(*state);
}

template <Scalar T>
void HostKrylovOps<T>::cg_direction(const CgVectors<T>& v, CgState<C>* state) {
  if (state->stop != 0) return;
  const C* z = compute_cast(v.z);
  C* p = compute_cast(v.p);
  const C beta = state->beta;
  for_rows(v.n, threads_, [=](index_t i) { p[i] = z[i] + beta * p[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  C* r = compute_cast(v.basis);
  gmres_begin_cycle(*state, small, std::sqrt(squared_norm(v.n, threads_, r)));
  if (state->cycle_stop != 0) return;
  const auto scale = static_cast<real_t<T>>(state->scale);
  for_rows(v.n, threads_, [=](index_t i) { r[i] = scale * r[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j,
                                           GmresState* state) {
  if (state->cycle_stop != 0) return;
  const C* basis = compute_cast(v.basis);
  C* w = compute_cast(v.basis) + static_cast<offset_t>(j + 1) * v.n;
  C* h = small.h + static_cast<offset_t>(j) * (small.restart + 1);
  project(v.n, threads_, basis, j + 1, w, h);
  combine(v.n, threads_, basis, j + 1, h, real_t<T>(-1), true, w);
  project(v.n, threads_, basis, j + 1, w, small.h2);
  combine(v.n, threads_, basis, j + 1, small.h2, real_t<T>(-1), true, w);
  for (int i = 0; i <= j; ++i) h[i] += small.h2[i];
  state->norm = std::sqrt(squared_norm(v.n, threads_, w));
  h[j + 1] = from_real<C>(static_cast<real_t<T>>(state->norm));
  gmres_rotate(*state, small, j);
  const auto scale = static_cast<real_t<T>>(state->scale);
  for_rows(v.n, threads_, [=](index_t i) { w[i] = scale * w[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  gmres_solve_triangular(*state, small);
  combine(v.n, threads_, compute_cast(v.basis), state->columns, small.y, real_t<T>(1), false, compute_cast(v.u));
}

template class HostKrylovOps<float>;
template class HostKrylovOps<double>;
template class HostKrylovOps<std::complex<float>>;
template class HostKrylovOps<std::complex<double>>;

}  // namespace blockjacobi::detail
