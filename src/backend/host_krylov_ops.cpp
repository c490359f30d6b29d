#include "backend/host_krylov_ops.hpp"

#include "backend/host_csr.hpp"
#include "backend/host_rows.hpp"
#include "core/shared/random_element.hpp"
#include "core/shared/scalar_steps.hpp"

namespace blockjacobi::detail {

namespace {

/// Basis columns handled in one pass over the rows.
constexpr std::size_t column_panel = 8;

/// h[k] = v_k^H w for columns k of the basis; B is C or its single precision.
template <class C, class B>
void project(index_t n, int threads, const B* basis, int columns, const C* w, C* h) {
  using A = accumulator_t<C>;
  constexpr int panel_width = static_cast<int>(column_panel);
  for (int first = 0; first < columns; first += panel_width) {
    const int width = std::min(panel_width, columns - first);
    const B* panel = basis + static_cast<offset_t>(first) * n;
    const auto sums =
        sum_rows<A, column_panel>(n, threads, [=](index_t begin, index_t end, std::array<A, column_panel>& p) {
          for (int k = 0; k < width; ++k) {
            const B* v = panel + static_cast<offset_t>(k) * n;
            A sum{};
            for (index_t i = begin; i < end; ++i) sum += conj(widen(v[i])) * widen(w[i]);
            p[static_cast<std::size_t>(k)] = sum;
          }
        });
    for (int k = 0; k < width; ++k) h[first + k] = narrow<C>(sums[static_cast<std::size_t>(k)]);
  }
}

/// y = beta y + sum_k factor h[k] v_k, chunk by chunk so that y stays in the cache.
template <class C, class B>
void combine(index_t n, int threads, const B* basis, int columns, const C* h, arithmetic_real_t<C> factor, bool add,
             C* y) {
  const RowChunks chunks(n);
#pragma omp parallel for num_threads(threads) schedule(static) if (n > 4096)
  for (index_t c = 0; c < chunks.count; ++c) {
    const index_t begin = chunks.begin(c), end = chunks.end(c);
    if (!add) std::fill(y + begin, y + end, C{});
    for (int k = 0; k < columns; ++k) {
      const B* v = basis + static_cast<offset_t>(k) * n;
      const C coefficient = factor * h[k];
      for (index_t i = begin; i < end; ++i) y[i] += coefficient * convert<C>(v[i]);
    }
  }
}

/// scale w as a column of the basis, and in `copy` as it was rounded; w may be either.
template <class C, class B>
void normalize(index_t n, int threads, double factor, const C* w, B* column, C* copy) {
  const auto scale = static_cast<arithmetic_real_t<C>>(factor);
  for_rows(n, threads, [=](index_t i) {
    column[i] = convert<B>(scale * w[i]);
    if constexpr (!std::is_same_v<C, B>) copy[i] = convert<C>(column[i]);
  });
}

/// Column j + 1 from w.
template <class C, class B>
void orthogonalize(index_t n, int threads, B* basis, C* w, C* copy, const GmresSmall<C>& small, int j,
                   GmresState* state) {
  using R = arithmetic_real_t<C>;
  C* h = small.h + static_cast<offset_t>(j) * (small.restart + 1);
  project(n, threads, basis, j + 1, w, h);
  combine(n, threads, basis, j + 1, h, R(-1), true, w);
  project(n, threads, basis, j + 1, w, small.h2);
  combine(n, threads, basis, j + 1, small.h2, R(-1), true, w);
  for (int i = 0; i <= j; ++i) h[i] += small.h2[i];
  state->norm = std::sqrt(squared_norm(n, threads, w));
  h[j + 1] = from_real<C>(static_cast<R>(state->norm));
  gmres_rotate(*state, small, j);
  normalize(n, threads, state->scale, w, basis + static_cast<offset_t>(j + 1) * n, copy);
}

/// Adds terms of the rows begin .. end - 1 to `sums` as accumulators of the dots. A pass that also updates vectors.
template <class C, std::size_t Width, class F>
auto sum_terms(index_t n, int threads, F&& term) {
  using A = accumulator_t<C>;
  return sum_rows<A, Width>(n, threads, [=](index_t begin, index_t end, std::array<A, Width>& p) {
    std::array<A, Width> sums{};
    for (index_t i = begin; i < end; ++i) term(i, sums);
    p = sums;
  });
}

/// take(i, sum of to(a_ij) to(x_j)) for every row of a matrix with blocks of B rows; B = 0 for any number.
template <index_t B, class C, class To, class Take>
void sum_block_rows(const BsrView<C>& matrix, int threads, const C* x, To to, Take take) {
  const index_t b = B > 0 ? B : matrix.block;
#pragma omp parallel for num_threads(threads) schedule(static) if (matrix.block_rows > 512)
  for (index_t row = 0; row < matrix.block_rows; ++row) {
    std::array<decltype(to(C{})), static_cast<std::size_t>(B > 0 ? B : max_bsr_block)> sum{};
    for (offset_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      const C* element = matrix.elements + k * b * b;
      const C* part = x + static_cast<offset_t>(matrix.columns[k]) * b;
      for (index_t j = 0; j < b; ++j, element += b)
        for (index_t i = 0; i < b; ++i) sum[static_cast<std::size_t>(i)] += to(element[i]) * to(part[j]);
    }
    for (index_t i = 0; i < b; ++i) take(static_cast<offset_t>(row) * b + i, sum[static_cast<std::size_t>(i)]);
  }
}

template <class C>
accumulator_t<C> dot_term(C a, C b) {
  return conj(widen(a)) * widen(b);
}

/// Rows whose sums are taken before any is assigned; few enough for them to stay in the nearest cache.
constexpr index_t strip = 256;

/// values[i] = element begin + i of the sum, term by term, so that each is a plain loop.
template <class C>
void take_sum(const VectorSum<C>& sum, index_t begin, index_t count, C* values) {
  bool first = true;
  for (const VectorTerm<C>& term : sum.terms) {
    if (term.x == nullptr) continue;
    const C* x = term.x + begin;
    if (first && term.coefficient == nullptr) {
      std::copy_n(x, count, values);
    } else {
      const C coefficient = term.coefficient != nullptr ? *term.coefficient : from_real<C>(1);
      if (first)
        for (index_t i = 0; i < count; ++i) values[i] = coefficient * x[i];
      else
        for (index_t i = 0; i < count; ++i) values[i] += coefficient * x[i];
    }
    first = false;
  }
}

template <class C>
void assign_sums(const VectorPass<C>& pass, index_t begin, index_t end) {
  std::array<std::array<C, strip>, VectorPass<C>::max_sums> values;
  for (; begin < end; begin += strip) {
    const index_t count = std::min(strip, end - begin);
    for (std::size_t s = 0; s < values.size(); ++s)
      if (pass.sums[s].y != nullptr) take_sum(pass.sums[s], begin, count, values[s].data());
    for (std::size_t s = 0; s < values.size(); ++s)
      if (pass.sums[s].y != nullptr) std::copy_n(values[s].data(), count, pass.sums[s].y + begin);
  }
}

/// M^-1 v, which is v without a preconditioner.
template <Scalar T>
const compute_t<T>* preconditioned(const PreconditionerImpl<T>* M, const compute_t<T>* v, compute_t<T>* z) {
  if (M == nullptr) return v;
  M->apply(v, z);
  return z;
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
void HostKrylovOps<T>::bsr_product(const BsrView<C>& matrix, const C* x, C* y) {
  const auto to = [](C a) { return a; };
  const auto take = [y](offset_t i, C sum) { y[i] = sum; };
  switch (matrix.block) {
    case 2: return sum_block_rows<2>(matrix, threads_, x, to, take);
    case 3: return sum_block_rows<3>(matrix, threads_, x, to, take);
    case 4: return sum_block_rows<4>(matrix, threads_, x, to, take);
    case 5: return sum_block_rows<5>(matrix, threads_, x, to, take);
    case 6: return sum_block_rows<6>(matrix, threads_, x, to, take);
    default: return sum_block_rows<0>(matrix, threads_, x, to, take);
  }
}

template <Scalar T>
bool HostKrylovOps<T>::bsr_residual(const BsrView<C>& matrix, const C* b, const C* x, C* r) {
  sum_block_rows<0>(
      matrix, threads_, x, [](C a) { return widen(a); },
      [b, r](offset_t i, accumulator_t<C> sum) { r[i] = narrow<C>(widen(b[i]) - sum); });
  return true;
}

template <Scalar T>
void HostKrylovOps<T>::bsr_fill(const BsrSources& sources, const T* values_, T* elements_) {
  const C* values = compute_cast(values_);
  C* elements = compute_cast(elements_);
#pragma omp parallel for num_threads(threads_) schedule(static) if (sources.elements > 8192)
  for (offset_t e = 0; e < sources.elements; ++e) {
    C sum{};
    for (offset_t k = sources.first[e]; k >= 0; k = sources.next != nullptr ? sources.next[k] : -1) sum += values[k];
    elements[e] = sum;
  }
}

template <Scalar T>
void HostKrylovOps<T>::residual(const OperatorImpl<T>& A, const C* b, const C* x, C* r) {
  if (A.residual(b, x, r)) return;
  A.apply(x, r);
  for_rows(A.rows(), threads_, [=](index_t i) { r[i] = b[i] - r[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::random(index_t n, C* x) {
  for_rows(n, threads_, [=](index_t i) { x[i] = random_element<C>(i); });
}

template <Scalar T>
void HostKrylovOps<T>::norm(index_t n, const C* x, double* norm) {
  *norm = std::sqrt(squared_norm(n, threads_, x));
}

template <Scalar T>
void HostKrylovOps<T>::add(index_t n, const C* u, C* x, const int* condition) {
  if (condition != nullptr && *condition == 0) return;
  for_rows(n, threads_, [=](index_t i) { x[i] += u[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::begin_solve(index_t n, const C* b, const C* r, C* x, const StoppingRule& rule,
                                   const int* failure, SolveControl* control) {
  const double nonzeros = sum_rows<double, 1>(n, threads_, [=](index_t begin, index_t end, std::array<double, 1>& p) {
    double count = 0.0;
    for (index_t i = begin; i < end; ++i) count += is_zero(b[i]) ? 0.0 : 1.0;
    p[0] += count;
  })[0];
  const StartSums sums{squared_norm(n, threads_, b), squared_norm(n, threads_, r), nonzeros};
  detail::begin_solve(*control, rule, sums, failure != nullptr && *failure != 0);
  if (control->zero_rhs != 0) std::fill_n(x, n, C{});
}

template <Scalar T>
void HostKrylovOps<T>::end_solve(index_t n, const C* r, const SolveControl* control, SolveStatus* status) {
  *status = detail::end_solve(*control, std::sqrt(squared_norm(n, threads_, r)));
}

template <Scalar T>
void HostKrylovOps<T>::pass(const VectorPass<C>& pass, ScalarStep step, SolveControl* state) {
  if (state->stop != 0) return;
  const RowChunks chunks(pass.n);
#pragma omp parallel for num_threads(threads_) schedule(static) if (pass.n > 4096)
  for (index_t c = 0; c < chunks.count; ++c) assign_sums(pass, chunks.begin(c), chunks.end(c));
  std::array<accumulator_t<C>, VectorPass<C>::max_dots> dots{};
  for (std::size_t d = 0; d < dots.size(); ++d)
    if (pass.dots[d].x != nullptr) dots[d] = dot(pass.n, threads_, pass.dots[d].x, pass.dots[d].y);
  with_step<C>(step, [&](auto as_struct) {
    using Step = decltype(as_struct);
    Step::run(*static_cast<typename Step::State*>(state), dots.data());
  });
}

template <Scalar T>
void HostKrylovOps<T>::cg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) {
  if (state->stop != 0) return cg_step_length(*state);
  A.apply(v.p, v.q);
  state->pq = dot(v.n, threads_, v.p, v.q);
  cg_step_length(*state);
}

template <Scalar T>
void HostKrylovOps<T>::cg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) {
  if (state->stop != 0) return;
  C* r = v.r;
  const C* q = v.q;
  const C alpha = state->alpha;
  for_rows(v.n, threads_, [=](index_t i) { r[i] -= alpha * q[i]; });
  if (M != nullptr) M->apply(v.r, v.z);
  state->rr = squared_norm(v.n, threads_, r);
  state->rho_new = dot(v.n, threads_, r, v.z);
  cg_direction_factor(*state);
}

template <Scalar T>
void HostKrylovOps<T>::cg_direction(const CgVectors<C>& v, CgState<C>* state) {
  C* x = v.x;
  C* p = v.p;
  const C alpha = state->alpha, beta = state->beta;
  if (x != nullptr && !is_zero(alpha)) for_rows(v.n, threads_, [=](index_t i) { x[i] += alpha * p[i]; });
  if (state->stop != 0) return;
  const C* z = v.z;
  for_rows(v.n, threads_, [=](index_t i) { p[i] = z[i] + beta * p[i]; });
}

template <Scalar T>
void HostKrylovOps<T>::fcg_product(const OperatorImpl<T>& A, const CgVectors<C>& v, CgState<C>* state) {
  if (state->stop != 0) return fcg_step_length(*state);
  A.apply(v.p, v.q);
  const C *p = v.p, *q = v.q, *r = v.r;
  const auto sums = sum_terms<C, 2>(v.n, threads_, [=](index_t i, auto& s) {
    s[0] += dot_term(p[i], q[i]);
    s[1] += dot_term(p[i], r[i]);
  });
  state->pq = sums[0];
  state->pr = sums[1];
  fcg_step_length(*state);
}

template <Scalar T>
void HostKrylovOps<T>::fcg_update(const PreconditionerImpl<T>* M, const CgVectors<C>& v, CgState<C>* state) {
  if (state->stop != 0) return;
  C* r = v.r;
  const C* q = v.q;
  const C alpha = state->alpha;
  for_rows(v.n, threads_, [=](index_t i) { r[i] -= alpha * q[i]; });
  const C* z = preconditioned<T>(M, v.r, v.z);
  const auto sums = sum_terms<C, 2>(v.n, threads_, [=](index_t i, auto& s) {
    s[0] += dot_term(r[i], z[i]);
    s[1] += dot_term(q[i], z[i]);
  });
  state->rr = squared_norm(v.n, threads_, r);
  state->rho_new = sums[0];
  state->qz = sums[1];
  fcg_direction_factor(*state);
}

template <Scalar T>
void HostKrylovOps<T>::bicgstab_first(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                      const BicgstabVectors<C>& vectors, BicgstabState<C>* state) {
  if (state->stop != 0) return;
  C* p = vectors.p;
  const C *r = vectors.r, *v = vectors.v;
  const C beta = state->beta, omega = state->omega;
  for_rows(vectors.n, threads_, [=](index_t i) { p[i] = r[i] + beta * (p[i] - omega * v[i]); });
  A.apply(preconditioned<T>(M, vectors.p, vectors.y), vectors.v);
  state->rv = dot(vectors.n, threads_, vectors.shadow, vectors.v);
  bicgstab_first_step(*state);
}

template <Scalar T>
void HostKrylovOps<T>::bicgstab_second(const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                                       const BicgstabVectors<C>& vectors, BicgstabState<C>* state) {
  if (state->stop != 0) return;
  C* s = vectors.r;
  const C *v = vectors.v, *t = vectors.t;
  const C alpha = state->alpha;
  for_rows(vectors.n, threads_, [=](index_t i) { s[i] -= alpha * v[i]; });
  A.apply(preconditioned<T>(M, vectors.r, vectors.z), vectors.t);
  state->ts = dot(vectors.n, threads_, t, s);
  state->tt = squared_norm(vectors.n, threads_, t);
  state->ss = squared_norm(vectors.n, threads_, s);
  bicgstab_second_step(*state);
}

template <Scalar T>
void HostKrylovOps<T>::bicgstab_update(const BicgstabVectors<C>& v, BicgstabState<C>* state) {
  if (state->stop != 0) return;
  C *x = v.x, *r = v.r;
  const C *y = v.y, *z = v.z, *t = v.t;
  const C alpha = state->alpha, omega = state->omega;
  if (is_zero(omega))
    for_rows(v.n, threads_, [=](index_t i) { x[i] += alpha * y[i]; });
  else
    for_rows(v.n, threads_, [=](index_t i) {
      x[i] += alpha * y[i] + omega * z[i];  // before r, which z may be
      r[i] -= omega * t[i];
    });
  state->rr = squared_norm(v.n, threads_, r);
  state->rho_new = dot(v.n, threads_, v.shadow, v.r);
  bicgstab_direction_factor(*state);
}

template <Scalar T>
void HostKrylovOps<T>::gmres_begin(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  C* r = v.low_basis != nullptr ? v.w : v.basis;
  gmres_begin_cycle(*state, small, std::sqrt(squared_norm(v.n, threads_, r)));
  if (state->cycle_stop != 0) return;
  if (v.low_basis != nullptr)
    normalize(v.n, threads_, state->scale, r, v.low_basis, v.v);
  else
    normalize<C, C>(v.n, threads_, state->scale, r, r, nullptr);
}

template <Scalar T>
void HostKrylovOps<T>::gmres_orthogonalize(const GmresVectors<T>& v, const GmresSmall<C>& small, int j,
                                           GmresState* state) {
  if (gmres_is_idle(*state)) return;
  if (v.low_basis != nullptr) return orthogonalize(v.n, threads_, v.low_basis, v.w, v.v, small, j, state);
  C* basis = v.basis;
  orthogonalize<C, C>(v.n, threads_, basis, basis + static_cast<offset_t>(j + 1) * v.n, nullptr, small, j, state);
}

template <Scalar T>
void HostKrylovOps<T>::gmres_combine(const GmresVectors<T>& v, const GmresSmall<C>& small, GmresState* state) {
  gmres_solve_triangular(*state, small);
  const auto add_columns = [&](const auto* basis) {
    combine(v.n, threads_, basis, state->columns, small.y, real_t<T>(1), false, v.u);
  };
  if (v.low_basis != nullptr)
    add_columns(v.low_basis);
  else
    add_columns(v.basis);
}

template <Scalar T>
void HostKrylovOps<T>::gmres_check(index_t n, const C* u, GmresState* state) {
  gmres_check_correction(*state, squared_norm(n, threads_, u));
}

template class HostKrylovOps<float>;
template class HostKrylovOps<double>;
template class HostKrylovOps<std::complex<float>>;
template class HostKrylovOps<std::complex<double>>;

}  // namespace blockjacobi::detail
