#include "backend/host_columns_ops.hpp"

#include "backend/host_rows.hpp"

#include <array>

namespace blockjacobi::detail {

namespace {

constexpr auto width = static_cast<std::size_t>(bundle_width);

/// The columns of a bundle that a phase works on.
class Chosen {
 public:
  /// Those of which choose(state) says so.
  template <class State, class Choose>
  Chosen(const State* states, Choose choose) {
    for (std::size_t w = 0; w < width; ++w)
      if (choose(states[w])) places_[count_++] = w;
  }
  bool empty() const { return count_ == 0; }
  bool all() const { return count_ == width; }

  /// visit(w) for each; a plain loop for all of them.
  template <class Visit>
  void for_each(Visit visit) const {
    if (all())
      for (std::size_t w = 0; w < width; ++w) visit(w);
    else
      for (std::size_t k = 0; k < count_; ++k) visit(places_[k]);
  }

 private:
  std::array<std::size_t, width> places_{};
  std::size_t count_ = 0;
};

template <class C>
bool runs(const CgState<C>& state) {
  return state.stop == 0;
}
template <class C>
bool steps(const CgState<C>& state) {
  return !is_zero(state.alpha);
}

/// One number of each column of a bundle.
template <class C, class State>
std::array<C, width> numbers_of(const State* states, C State::*member) {
  std::array<C, width> numbers;
  for (std::size_t w = 0; w < width; ++w) numbers[w] = states[w].*member;
  return numbers;
}

/// Sums over the rows of a bundle, add(i, sums) for each: reproducible as those of one vector.
template <class A, class Add>
std::array<A, width> sum_bundle(index_t n, int threads, Add add) {
  return sum_rows<A, width>(n, threads, [=](index_t begin, index_t end, std::array<A, width>& p) {
    std::array<A, width> sums{};
    for (index_t i = begin; i < end; ++i) add(static_cast<offset_t>(i) * bundle_width, sums);
    p = sums;
  });
}

/// x^H y of every column of a bundle.
template <class C>
std::array<accumulator_t<C>, width> dots(index_t n, int threads, const C* x, const C* y) {
  return sum_bundle<accumulator_t<C>>(n, threads, [=](offset_t row, auto& sums) {
    for (std::size_t w = 0; w < width; ++w) {
      const auto i = static_cast<std::size_t>(row) + w;
      sums[w] += conj(widen(x[i])) * widen(y[i]);
    }
  });
}

template <class C>
std::array<double, width> squared_norms(index_t n, int threads, const C* x) {
  return sum_bundle<double>(n, threads, [=](offset_t row, auto& sums) {
    for (std::size_t w = 0; w < width; ++w) sums[w] += norm2(widen(x[static_cast<std::size_t>(row) + w]));
  });
}

/// visit(first element of the row) for the rows of a bundle.
template <class Visit>
void for_bundle_rows(index_t n, int threads, Visit visit) {
#pragma omp parallel for num_threads(threads) schedule(static) if (n > 512)
  for (index_t i = 0; i < n; ++i) visit(static_cast<std::size_t>(i) * width);
}

}  // namespace

template <Scalar T>
void HostColumnsOps<T>::to_bundles(const Bundles& shape, const ColumnsView<const T>& from, index_t first, T* to) {
  for_rows(shape.n, threads_, [=, &shape](index_t i) {
    for (index_t c = 0; c < from.count; ++c)
      to[shape.first(first + c) + static_cast<offset_t>(i) * bundle_width] =
          from.data[i * from.row_stride + c * from.column_stride];
  });
}

template <Scalar T>
void HostColumnsOps<T>::from_bundles(const Bundles& shape, const T* from, index_t first, const ColumnsView<T>& to) {
  for_rows(shape.n, threads_, [=, &shape](index_t i) {
    for (index_t c = 0; c < to.count; ++c)
      to.data[i * to.row_stride + c * to.column_stride] =
          from[shape.first(first + c) + static_cast<offset_t>(i) * bundle_width];
  });
}

template <Scalar T>
template <class Operator>
void HostColumnsOps<T>::apply(const Operator& A, const Bundles& shape, const T* x, T* y, T* spare,
                              const State* states) {
  const auto is_wanted = [states](index_t c) { return states == nullptr || runs(states[c]); };
  bool all = true, any = false;
  for (index_t c = 0; c < shape.columns; ++c) {
    all = all && is_wanted(c);
    any = any || is_wanted(c);
  }
  if (!any || (all && A.apply_bundles(shape, x, y))) return;
  for (index_t b = 0; b < shape.count(); ++b) {
    const index_t begin = b * bundle_width, end = begin + shape.columns_of(b);
    bool wanted = false;
    for (index_t c = begin; c < end; ++c) wanted = wanted || is_wanted(c);
    const offset_t at = shape.first(begin);
    if (!wanted || A.apply_bundles({shape.n, shape.columns_of(b)}, x + at, y + at)) continue;
    for (index_t c = begin; c < end; ++c) {
      if (!is_wanted(c)) continue;
      from_bundles(shape, x, c, {spare});
      A.apply(spare, spare + shape.n);
      to_bundles(shape, {spare + shape.n}, c, y);
    }
  }
}

template <Scalar T>
void HostColumnsOps<T>::product(const OperatorImpl<T>& A, const Bundles& shape, const T* x, T* y, T* spare) {
  apply(A, shape, x, y, spare, nullptr);
}

template <Scalar T>
void HostColumnsOps<T>::precondition(const PreconditionerImpl<T>& M, const Bundles& shape, const T* r, T* z, T* spare) {
  apply(M, shape, r, z, spare, nullptr);
}

template <Scalar T>
void HostColumnsOps<T>::residual(const OperatorImpl<T>& A, const Bundles& shape, const ColumnsView<const T>& b,
                                 const T* x, T* r, T* spare) {
  if (A.residual_bundles(shape, b, x, r)) return;
  T* const right = spare;
  T* const left = spare + shape.n;
  for (index_t c = 0; c < shape.columns; ++c) {
    from_bundles(shape, x, c, {left});
    A.apply(left, right);
    const T* const own = b.data + c * b.column_stride;
    for_rows(shape.n, threads_, [=, stride = b.row_stride](index_t i) { right[i] = own[i * stride] - right[i]; });
    to_bundles(shape, {right}, c, r);
  }
}

template <Scalar T>
void HostColumnsOps<T>::norms(const Bundles& shape, const T* x, double* norms) {
  for (index_t b = 0; b < shape.count(); ++b) {
    const auto sums = squared_norms(shape.n, threads_, compute_cast(x + shape.first(b * bundle_width)));
    for (std::size_t w = 0; w < width; ++w) norms[static_cast<std::size_t>(b) * width + w] = std::sqrt(sums[w]);
  }
}

template <Scalar T>
void HostColumnsOps<T>::begin_solve(const Bundles& shape, const ColumnsView<const T>& b, const T* r, T* x,
                                    const StoppingRule& rule, const int* failure, State* states) {
  for (index_t bundle = 0; bundle < shape.count(); ++bundle) {
    const index_t begin = bundle * bundle_width;
    const auto r2 = squared_norms(shape.n, threads_, compute_cast(r + shape.first(begin)));
    for (index_t c = begin; c < begin + shape.columns_of(bundle); ++c) {
      const C* const own = compute_cast(b.data + c * b.column_stride);
      const auto sums = sum_rows<double, 2>(
          shape.n, threads_, [=, stride = b.row_stride](index_t first, index_t end, std::array<double, 2>& p) {
            for (index_t i = first; i < end; ++i) {
              const C element = own[i * stride];
              p[0] += norm2(widen(element));
              p[1] += is_zero(element) ? 0.0 : 1.0;
            }
          });
      detail::begin_solve(states[c], rule, {sums[0], r2[static_cast<std::size_t>(c - begin)], sums[1]},
                          failure != nullptr && *failure != 0);
      if (states[c].zero_rhs == 0) continue;
      T* const column = x + shape.first(c);
      for (index_t i = 0; i < shape.n; ++i) column[static_cast<offset_t>(i) * bundle_width] = T(0);
    }
  }
}

template <Scalar T>
void HostColumnsOps<T>::forget_histories(const Bundles& shape, State* states) {
  for (index_t c = 0; c < shape.columns; ++c) states[c].history_size = 0;
}

template <Scalar T>
void HostColumnsOps<T>::cg_settle(const BundleVectors<T>& v, const State* states) {
  for (index_t b = 0; b < v.shape.count(); ++b) {
    const State* const own = states + b * bundle_width;
    const Chosen chosen(own, steps<C>);
    if (chosen.empty()) continue;
    const offset_t at = v.shape.first(b * bundle_width);
    C* const x = compute_cast(v.x + at);
    const C* const p = compute_cast(v.p + at);
    const auto alpha = numbers_of(own, &State::alpha);
    for_bundle_rows(v.shape.n, threads_, [=](std::size_t row) {
      chosen.for_each([=](std::size_t w) { x[row + w] += alpha[w] * p[row + w]; });
    });
  }
}

template <Scalar T>
void HostColumnsOps<T>::cg_product(const OperatorImpl<T>& A, const BundleVectors<T>& v, State* states) {
  const index_t n = v.shape.n;
  cg_settle(v, states);
  for (index_t b = 0; b < v.shape.count(); ++b) {
    const State* const own = states + b * bundle_width;
    const Chosen chosen(own, runs<C>);
    if (chosen.empty()) continue;
    const offset_t at = v.shape.first(b * bundle_width);
    C* const p = compute_cast(v.p + at);
    const C* const z = compute_cast(v.z + at);
    const auto beta = numbers_of(own, &State::beta);
    for_bundle_rows(n, threads_, [=](std::size_t row) {
      // why: without a direction p may be anything
      chosen.for_each(
          [=](std::size_t w) { p[row + w] = is_zero(beta[w]) ? z[row + w] : z[row + w] + beta[w] * p[row + w]; });
    });
  }
  apply(A, v.shape, v.p, v.q, v.spare, states);
  for (index_t b = 0; b < v.shape.count(); ++b) {
    State* const own = states + b * bundle_width;
    const offset_t at = v.shape.first(b * bundle_width);
    if (!Chosen(own, runs<C>).empty()) {
      const auto pq = dots(n, threads_, compute_cast(v.p + at), compute_cast(v.q + at));
      for (std::size_t w = 0; w < width; ++w) own[w].pq = pq[w];
    }
    for (std::size_t w = 0; w < width; ++w) cg_step_length(own[w]);
  }
}

template <Scalar T>
void HostColumnsOps<T>::cg_update(const PreconditionerImpl<T>* M, const BundleVectors<T>& v, State* states) {
  const index_t n = v.shape.n;
  for (index_t b = 0; b < v.shape.count(); ++b) {
    const State* const own = states + b * bundle_width;
    const Chosen chosen(own, [](const State& state) { return runs(state) && steps(state); });
    if (chosen.empty()) continue;
    const offset_t at = v.shape.first(b * bundle_width);
    C* const r = compute_cast(v.r + at);
    const C* const q = compute_cast(v.q + at);
    const auto alpha = numbers_of(own, &State::alpha);
    for_bundle_rows(n, threads_, [=](std::size_t row) {
      chosen.for_each([=](std::size_t w) { r[row + w] -= alpha[w] * q[row + w]; });
    });
  }
  if (M != nullptr) apply(*M, v.shape, v.r, v.z, v.spare, states);
  for (index_t b = 0; b < v.shape.count(); ++b) {
    State* const own = states + b * bundle_width;
    if (Chosen(own, runs<C>).empty()) continue;
    const offset_t at = v.shape.first(b * bundle_width);
    const C *const r = compute_cast(v.r + at), *const z = compute_cast(v.z + at);
    const auto rr = squared_norms(n, threads_, r);
    const auto rho = dots(n, threads_, r, z);
    for (std::size_t w = 0; w < width; ++w) {
      own[w].rr = rr[w];
      own[w].rho_new = rho[w];
      cg_direction_factor(own[w]);
    }
  }
}

template class HostColumnsOps<float>;
template class HostColumnsOps<double>;
template class HostColumnsOps<std::complex<float>>;
template class HostColumnsOps<std::complex<double>>;

}  // namespace blockjacobi::detail
