#include "backend/host_columns_ops.hpp"

#include "backend/host_csr.hpp"
#include "backend/host_rows.hpp"
#include "backend/krylov_ops.hpp"
#include "core/shared/tiny_order.hpp"

#include <array>

namespace blockjacobi::detail {

namespace {

constexpr auto width = static_cast<std::size_t>(bundle_width);

/// The columns of a bundle that a phase works on.
class Chosen {
 public:
  /// Of `columns` those of which choose(state) says so. With all of them go the places behind: zeros, and their scalars
  /// are 0.
  template <class State, class Choose>
  Chosen(const State* states, index_t columns, Choose choose) {
    for (std::size_t w = 0; w < static_cast<std::size_t>(columns); ++w)
      if (choose(states[w])) places_[count_++] = w;
    all_ = count_ == static_cast<std::size_t>(columns);
  }
  bool empty() const { return count_ == 0; }

  /// visit(w) for each; a plain loop for all of them.
  template <class Visit>
  void for_each(Visit visit) const {
    if (all_)
      for (std::size_t w = 0; w < width; ++w) visit(w);
    else
      for (std::size_t k = 0; k < count_; ++k) visit(places_[k]);
  }

 private:
  std::array<std::size_t, width> places_{};
  std::size_t count_ = 0;
  bool all_ = false;
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

/// Partial sums of every column, one for each of RowChunks::capacity chunks and each of `kinds`.
constexpr std::size_t most_kinds = 2;

template <class T>
std::size_t partial_elements(const Bundles& shape) {
  constexpr std::size_t bytes = sizeof(Complex<double>) * most_kinds * static_cast<std::size_t>(RowChunks::capacity);
  return static_cast<std::size_t>(shape.padded_columns()) * (bytes / sizeof(T));
}

/// Sums over `count` rows or blocks of `kinds` numbers for each column, divided into chunks by their number alone, so
/// that they do not depend on the threads. add(begin, end, bundle, sums) adds those of a part of a bundle; the parts of
/// all bundles follow each other, so that what they have in common is in a cache. take(column, sums) gets the totals.
template <std::size_t kinds, class A, class Add, class Take>
void sum_columns(const Bundles& shape, index_t count, index_t smallest, int threads, A* partials, Add add, Take take) {
  static_assert(kinds <= most_kinds);
  const index_t length = std::max(smallest, RowChunks::divide_up(count, RowChunks::capacity));
  const index_t chunks = RowChunks::divide_up(count, length);
  const auto columns = static_cast<std::size_t>(shape.padded_columns());
#pragma omp parallel for num_threads(threads) schedule(static) if (shape.n > 512)
  for (index_t c = 0; c < chunks; ++c) {
    const index_t begin = c * length, end = c + 1 < chunks ? begin + length : count;
    for (index_t b = 0; b < shape.count(); ++b) {
      std::array<std::array<A, width>, kinds> sums{};
      add(begin, end, b, sums);
      A* const own = partials + (static_cast<std::size_t>(c) * columns + static_cast<std::size_t>(b) * width) * kinds;
      for (std::size_t w = 0; w < width; ++w)
        for (std::size_t k = 0; k < kinds; ++k) own[w * kinds + k] = sums[k][w];
    }
  }
  for (std::size_t column = 0; column < columns; ++column) {
    std::array<A, kinds> totals{};
    for (std::size_t c = 0; c < static_cast<std::size_t>(chunks); ++c)
      for (std::size_t k = 0; k < kinds; ++k) totals[k] += partials[(c * columns + column) * kinds + k];
    take(column, totals);
  }
}

/// The same over rows, add(i, bundle, sums) for element i of a row and those behind it.
template <std::size_t kinds, class A, class Add, class Take>
void sum_rows_of_columns(const Bundles& shape, int threads, A* partials, Add add, Take take) {
  sum_columns<kinds>(
      shape, shape.n, RowChunks::smallest, threads, partials,
      [=](index_t begin, index_t end, index_t bundle, auto& sums) {
        const auto first = static_cast<std::size_t>(shape.first(bundle * bundle_width));
        for (index_t row = begin; row < end; ++row) add(first + static_cast<std::size_t>(row) * width, sums);
      },
      take);
}

template <class C>
std::array<double, width> squared_norms(index_t n, int threads, const C* x) {
  return sum_rows<double, width>(n, threads, [=](index_t begin, index_t end, std::array<double, width>& p) {
    std::array<double, width> sums{};
    for (index_t i = begin; i < end; ++i)
      for (std::size_t w = 0; w < width; ++w) sums[w] += norm2(widen(x[static_cast<std::size_t>(i) * width + w]));
    p = sums;
  });
}

/// Behind the vectors of one column.
template <class A, class C>
A* partials_of(const Bundles& shape, C* spare) {
  return reinterpret_cast<A*>(spare + columns_spare_vectors(shape));
}

/// r^H z and ||r||^2 of a row of a bundle.
template <class C, class Sums>
void add_update_terms(const C* r, const C* z, Sums& sums) {
  for (std::size_t w = 0; w < width; ++w) {
    sums[0][w] += conj(widen(r[w])) * widen(z[w]);
    sums[1][w] += from_real<accumulator_t<C>>(norm2(widen(r[w])));
  }
}

/// The scalar step behind these sums.
template <class C>
auto end_update(CgState<C>* states) {
  return [states](std::size_t column, const std::array<accumulator_t<C>, 2>& sums) {
    states[column].rho_new = sums[0];
    states[column].rr = real_part(sums[1]);
    cg_direction_factor(states[column]);
  };
}

/// Rows of the product of a block with the rows of a bundle that it covers.
template <std::size_t rows, class C>
void multiply_rows(const C* x, std::size_t order, const C* r, C* z) {
  std::array<std::array<C, width>, rows> sums{};
  for (std::size_t j = 0; j < order; ++j, x += order, r += width)
    for (std::size_t i = 0; i < rows; ++i) {
      const C factor = x[i];
      // why: vectorized over j, g++ 12 reads a column behind the block
#pragma omp simd
      for (std::size_t w = 0; w < width; ++w) sums[i][w] += factor * r[w];
    }
  for (std::size_t i = 0; i < rows; ++i) std::copy(sums[i].begin(), sums[i].end(), z + i * width);
}

/// visit(first element of the row) for the rows of a bundle.
template <class Visit>
void for_bundle_rows(index_t n, int threads, Visit visit) {
#pragma omp parallel for num_threads(threads) schedule(static) if (n > 512)
  for (index_t i = 0; i < n; ++i) visit(static_cast<std::size_t>(i) * width);
}

}  // namespace

template <Scalar T>
std::size_t HostColumnsOps<T>::spare_size(const Bundles& shape) const {
  return columns_spare_vectors(shape) + partial_elements<T>(shape);
}

template <Scalar T>
void HostColumnsOps<T>::to_bundles(const Bundles& shape, const ColumnsView<const C>& from, index_t first, C* to) {
  for_rows(shape.n, threads_, [=, &shape](index_t i) {
    for (index_t c = 0; c < from.count; ++c)
      to[shape.first(first + c) + static_cast<offset_t>(i) * bundle_width] =
          from.data[i * from.row_stride + c * from.column_stride];
  });
}

template <Scalar T>
void HostColumnsOps<T>::from_bundles(const Bundles& shape, const C* from, index_t first, const ColumnsView<C>& to) {
  for_rows(shape.n, threads_, [=, &shape](index_t i) {
    for (index_t c = 0; c < to.count; ++c)
      to.data[i * to.row_stride + c * to.column_stride] =
          from[shape.first(first + c) + static_cast<offset_t>(i) * bundle_width];
  });
}

template <Scalar T>
template <class Operator>
void HostColumnsOps<T>::apply(const Operator& A, const Bundles& shape, const C* x, C* y, C* spare,
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
void HostColumnsOps<T>::product(const OperatorImpl<T>& A, const Bundles& shape, const C* x, C* y, C* spare) {
  apply(A, shape, x, y, spare, nullptr);
}

template <Scalar T>
void HostColumnsOps<T>::precondition(const PreconditionerImpl<T>& M, const Bundles& shape, const C* r, C* z, C* spare) {
  apply(M, shape, r, z, spare, nullptr);
}

template <Scalar T>
void HostColumnsOps<T>::residual(const OperatorImpl<T>& A, const Bundles& shape, const ColumnsView<const C>& b,
                                 const C* x, C* r, C* spare) {
  if (A.residual_bundles(shape, b, x, r)) return;
  this->residual_of_each(A, shape, b, x, r, spare);
}

template <Scalar T>
void HostColumnsOps<T>::norms(const Bundles& shape, const C* x, double* norms) {
  for (index_t b = 0; b < shape.count(); ++b) {
    const auto sums = squared_norms(shape.n, threads_, x + shape.first(b * bundle_width));
    for (std::size_t w = 0; w < width; ++w) norms[static_cast<std::size_t>(b) * width + w] = std::sqrt(sums[w]);
  }
}

template <Scalar T>
void HostColumnsOps<T>::begin_solve(const Bundles& shape, const ColumnsView<const C>& b, const C* r, C* x,
                                    const StoppingRule& rule, const int* failure, State* states) {
  for (index_t bundle = 0; bundle < shape.count(); ++bundle) {
    const index_t begin = bundle * bundle_width;
    const auto r2 = squared_norms(shape.n, threads_, r + shape.first(begin));
    for (index_t c = begin; c < begin + shape.columns_of(bundle); ++c) {
      const C* const own = b.data + c * b.column_stride;
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
      C* const column = x + shape.first(c);
      for (index_t i = 0; i < shape.n; ++i) column[static_cast<offset_t>(i) * bundle_width] = C{};
    }
  }
}

template <Scalar T>
void HostColumnsOps<T>::forget_histories(const Bundles& shape, State* states) {
  for (index_t c = 0; c < shape.columns; ++c) states[c].history_size = 0;
}

template <Scalar T>
void HostColumnsOps<T>::advance(const BundleVectors<C>& v, const State* states, bool turns) {
  for (index_t b = 0; b < v.shape.count(); ++b) {
    const State* const own = states + b * bundle_width;
    const Chosen stepping(own, v.shape.columns_of(b), steps<C>);
    const Chosen turning(own, v.shape.columns_of(b), [turns](const State& state) { return turns && runs(state); });
    if (stepping.empty() && turning.empty()) continue;
    const offset_t at = v.shape.first(b * bundle_width);
    C *const x = v.x + at, *const p = v.p + at;
    const C* const z = v.z + at;
    const auto alpha = numbers_of(own, &State::alpha), beta = numbers_of(own, &State::beta);
    for_bundle_rows(v.shape.n, threads_, [=](std::size_t row) {
      stepping.for_each([=](std::size_t w) { x[row + w] += alpha[w] * p[row + w]; });
      // why: without a direction p may be anything
      turning.for_each(
          [=](std::size_t w) { p[row + w] = is_zero(beta[w]) ? z[row + w] : z[row + w] + beta[w] * p[row + w]; });
    });
  }
}

template <Scalar T>
void HostColumnsOps<T>::cg_settle(const BundleVectors<C>& v, const State* states) {
  advance(v, states, false);
}

template <Scalar T>
void HostColumnsOps<T>::cg_product(const OperatorImpl<T>& A, const BundleVectors<C>& v, C* spare, State* states) {
  using Sum = accumulator_t<C>;
  advance(v, states, true);
  const C* const p = v.p;
  C* const q = v.q;
  Sum* const partials = partials_of<Sum>(v.shape, spare);
  const auto take = [states](std::size_t column, const std::array<Sum, 1>& pq) {
    states[column].pq = pq[0];
    cg_step_length(states[column]);
  };
  const auto is_idle = [states, &v](index_t b) {
    return Chosen(states + b * bundle_width, v.shape.columns_of(b), runs<C>).empty();
  };
  const auto multiply = [&](const auto& rows) {
    sum_columns<1>(
        v.shape, v.shape.n, RowChunks::smallest, threads_, partials,
        [&](index_t begin, index_t end, index_t b, auto& sums) {
          if (is_idle(b)) return;
          rows.for_bundle_rows(
              begin, end, v.shape.first(b * bundle_width), v.p, [](C a) { return a; },
              [&](index_t, offset_t at, const auto& products) {
                for (std::size_t w = 0; w < width; ++w) {
                  q[static_cast<std::size_t>(at) + w] = products[w];
                  sums[0][w] += conj(widen(p[static_cast<std::size_t>(at) + w])) * widen(products[w]);
                }
              });
        },
        take);
  };
  if (const auto* const narrow_rows = dynamic_cast<const HostCsr<T, std::int32_t>*>(&A)) return multiply(*narrow_rows);
  if (const auto* const wide_rows = dynamic_cast<const HostCsr<T, std::int64_t>*>(&A)) return multiply(*wide_rows);
  apply(A, v.shape, v.p, v.q, spare, states);
  sum_rows_of_columns<1>(
      v.shape, threads_, partials,
      [=](std::size_t row, auto& sums) {
        for (std::size_t w = 0; w < width; ++w) sums[0][w] += conj(widen(p[row + w])) * widen(q[row + w]);
      },
      take);
}

template <Scalar T>
void HostColumnsOps<T>::update_by_blocks(const BlockBatchView<const C>& inverse, const BundleVectors<C>& v, C* spare,
                                         State* states) {
  using Sum = accumulator_t<C>;
  sum_columns<2>(
      v.shape, inverse.blocks, 1, threads_, partials_of<Sum>(v.shape, spare),
      [&](index_t begin, index_t end, index_t b, auto& sums) {
        const State* const own = states + b * bundle_width;
        if (Chosen(own, v.shape.columns_of(b), runs<C>).empty()) return;
        const Chosen chosen(own, v.shape.columns_of(b), [](const State& state) { return runs(state) && steps(state); });
        const auto alpha = numbers_of(own, &State::alpha);
        const auto first = static_cast<std::size_t>(v.shape.first(b * bundle_width));
        for (index_t slot = begin; slot < end; ++slot) {
          const BlockSlot& block = inverse.slots[slot];
          const std::size_t at = first + static_cast<std::size_t>(block.first_row) * width;
          const auto order = static_cast<std::size_t>(block.size);
          C *const r = v.r + at, *const z = v.z + at;
          const C *const q = v.q + at, *const x = inverse.data + block.start;
          for (std::size_t row = 0; row < order * width; row += width)
            chosen.for_each([=](std::size_t w) { r[row + w] -= alpha[w] * q[row + w]; });
          std::size_t i = 0;
          for (; i + 2 <= order; i += 2) multiply_rows<2>(x + i, order, r, z + i * width);
          if (i < order) multiply_rows<1>(x + i, order, r, z + i * width);
          for (std::size_t row = 0; row < order * width; row += width) add_update_terms(r + row, z + row, sums);
        }
      },
      end_update(states));
}

template <Scalar T>
void HostColumnsOps<T>::cg_update(const PreconditionerImpl<T>* M, const BundleVectors<C>& v, C* spare, State* states) {
  using Sum = accumulator_t<C>;
  if (M != nullptr)
    if (const auto inverse = M->inverse();
        inverse && inverse->is_full() &&
        (inverse->full->groups.empty() || inverse->full->groups.back().size <= largest_tiny_order))
      return update_by_blocks(*inverse->full, v, spare, states);
  for (index_t b = 0; b < v.shape.count(); ++b) {
    const State* const own = states + b * bundle_width;
    const Chosen chosen(own, v.shape.columns_of(b), [](const State& state) { return runs(state) && steps(state); });
    if (chosen.empty()) continue;
    const offset_t at = v.shape.first(b * bundle_width);
    C* const r = v.r + at;
    const C* const q = v.q + at;
    const auto alpha = numbers_of(own, &State::alpha);
    for_bundle_rows(v.shape.n, threads_, [=](std::size_t row) {
      chosen.for_each([=](std::size_t w) { r[row + w] -= alpha[w] * q[row + w]; });
    });
  }
  if (M != nullptr) apply(*M, v.shape, v.r, v.z, spare, states);
  const C *const r = v.r, *const z = v.z;
  sum_rows_of_columns<2>(
      v.shape, threads_, partials_of<Sum>(v.shape, spare),
      [=](std::size_t row, auto& sums) { add_update_terms(r + row, z + row, sums); }, end_update(states));
}

template class HostColumnsOps<float>;
template class HostColumnsOps<double>;
template class HostColumnsOps<std::complex<float>>;
template class HostColumnsOps<std::complex<double>>;

}  // namespace blockjacobi::detail
