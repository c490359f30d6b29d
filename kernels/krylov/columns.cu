#include "kernels/krylov/columns.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/launch/check.hpp"

#include <type_traits>

// What solvers of several columns have in common.

namespace blockjacobi::kernels {

namespace {

using detail::Bundles;
using detail::ColumnsView;

template <class C>
__device__ bool has_column(const ColumnsView<C>& view, index_t first, index_t column) {
  return column >= first && column < first + view.count;
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    to_bundles_kernel(const Bundles shape, const ColumnsView<const C> from, index_t first, C* to) {
  const OwnColumn own(shape);
  if (!has_column(from, first, own.column)) return;
  const C* const column = from.data + (own.column - first) * from.column_stride;
  own.for_each_row(shape.n, [&](offset_t row, offset_t i) { to[i] = column[row * from.row_stride]; });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    from_bundles_kernel(const Bundles shape, const C* from, index_t first, const ColumnsView<C> to) {
  const OwnColumn own(shape);
  if (!has_column(to, first, own.column)) return;
  C* const column = to.data + (own.column - first) * to.column_stride;
  own.for_each_row(shape.n, [&](offset_t row, offset_t i) { column[row * to.row_stride] = from[i]; });
}

/// y = A x, or y = b - A x with products and sums in double.
template <bool subtracts, class C>
__global__ void __launch_bounds__(columns_policy.threads, columns_product_policy.per_multiprocessor)
    bundles_product_kernel(const CsrRows<C> matrix, const Bundles shape, const ColumnsView<const C> b, C* y) {
  using Products = BundleProducts<C, std::conditional_t<subtracts, detail::accumulator_t<C>, C>>;
  using Piece = RowPiece<C>;
  __shared__ typename Products::Scratch entries;
  const OwnColumn own(shape);
  const offset_t bundle = shape.first(own.bundle * bundle_width);
  Products::run(
      matrix, own, matrix.x + bundle, entries, [](offset_t) { return 0; },
      [&](offset_t row, offset_t place, const typename Products::Sums& sums, int) {
        Piece result;
#pragma unroll
        for (int c = 0; c < Piece::width; ++c) {
          auto sum = sums.element[c];
          if constexpr (subtracts) {
            const offset_t column = own.bundle * bundle_width + place % bundle_width + c;
            if (column < shape.columns)
              sum = detail::widen(b.data[row * b.row_stride + column * b.column_stride]) - sum;
          }
          result.element[c] = detail::convert<C>(sum);
        }
        *reinterpret_cast<Piece*>(y + bundle + place) = result;
      });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    bundles_norms_kernel(const Bundles shape, const C* x, double* norms, const ReductionWorkspace workspace) {
  __shared__ ColumnsScratch<1> scratch;
  const OwnColumn own(shape);
  double sums[1] = {};
  own.for_each_row(shape.n, [&](offset_t, offset_t i) { accumulate_square(sums[0], x[i]); });
  double total;
  if (!own.sum(sums, total, workspace, scratch)) return;
  if (static_cast<int>(threadIdx.x) < bundle_width) norms[own.column] = sqrt(total);
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_begin_kernel(const Bundles shape, const ColumnsView<const C> b, const C* r,
                            const detail::StoppingRule rule, const int* failure, detail::CgState<C>* states,
                            const ReductionWorkspace workspace) {
  __shared__ ColumnsScratch<3> scratch;
  const OwnColumn own(shape);
  double sums[3] = {};  // ||b||^2, ||r||^2, nonzeros of b
  if (own.column < shape.columns)
    own.for_each_row(shape.n, [&](offset_t row, offset_t i) {
      const C element = b.data[row * b.row_stride + own.column * b.column_stride];
      accumulate_square(sums[0], element);
      accumulate_square(sums[1], r[i]);
      if (!detail::is_zero(element)) sums[2] += 1.0;
    });
  double total;
  if (!own.sum(sums, total, workspace, scratch)) return;
  const bool failed = failure != nullptr && *failure != 0;
  const bool exists = own.column < shape.columns;  // of threads below bundle_width, which take the steps
  step_columns<3>(total, states + own.bundle * bundle_width, [&](detail::CgState<C>& state, const double* totals) {
    if (exists) detail::begin_solve(state, rule, {totals[0], totals[1], totals[2]}, failed);
  });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    clear_solutions_kernel(const Bundles shape, C* x, const detail::CgState<C>* states) {
  const OwnColumn own(shape);
  if (own.column >= shape.columns || states[own.column].zero_rhs == 0) return;
  own.for_each_row(shape.n, [&](offset_t, offset_t i) { x[i] = C{}; });
}

template <class C>
__global__ void __launch_bounds__(columns_policy.threads)
    cg_columns_forget_kernel(index_t columns, detail::CgState<C>* states) {
  for (int c = static_cast<int>(threadIdx.x); c < columns; c += columns_policy.threads) states[c].history_size = 0;
}

/// The bundles that hold columns first .. first + count - 1, as a shape of its own.
struct Part {
  Bundles shape;
  index_t first;    ///< column in it
  offset_t offset;  ///< of its elements
};
Part part_of(const Bundles& shape, index_t first, index_t count) {
  const index_t skipped = first / bundle_width * bundle_width;
  return {{shape.n, first + count - skipped}, first - skipped, shape.first(skipped)};
}

}  // namespace

template <class C>
void to_bundles(const Bundles& shape, const ColumnsView<const C>& from, index_t first, C* to, CUstream_st* stream) {
  if (shape.n == 0 || from.count == 0) return;
  const Part part = part_of(shape, first, from.count);
  to_bundles_kernel<<<columns_ctas(part.shape), columns_policy.threads, 0, stream>>>(part.shape, from, part.first,
                                                                                     to + part.offset);
  check_launch("to_bundles_kernel");
}

template <class C>
void from_bundles(const Bundles& shape, const C* from, index_t first, const ColumnsView<C>& to, CUstream_st* stream) {
  if (shape.n == 0 || to.count == 0) return;
  const Part part = part_of(shape, first, to.count);
  from_bundles_kernel<<<columns_ctas(part.shape), columns_policy.threads, 0, stream>>>(part.shape, from + part.offset,
                                                                                       part.first, to);
  check_launch("from_bundles_kernel");
}

template <class C>
void bundles_product(const CsrView<C, std::int32_t>& matrix, const Bundles& shape, const C* x, C* y,
                     CUstream_st* stream) {
  bundles_product_kernel<false>
      <<<columns_product_ctas(shape), columns_policy.threads, 0, stream>>>(rows_of(matrix, x), shape, {}, y);
  check_launch("bundles_product_kernel");
}

template <class C>
void bundles_residual(const CsrView<C, std::int32_t>& matrix, const Bundles& shape, const ColumnsView<const C>& b,
                      const C* x, C* r, CUstream_st* stream) {
  bundles_product_kernel<true>
      <<<columns_product_ctas(shape), columns_policy.threads, 0, stream>>>(rows_of(matrix, x), shape, b, r);
  check_launch("bundles_product_kernel");
}

template <class C>
void bundles_norms(const Bundles& shape, const C* x, double* norms, const ReductionWorkspace& workspace,
                   CUstream_st* stream) {
  bundles_norms_kernel<<<columns_ctas(shape), columns_policy.threads, 0, stream>>>(shape, x, norms, workspace);
  check_launch("bundles_norms_kernel");
}

template <class C>
void cg_columns_begin(const Bundles& shape, const ColumnsView<const C>& b, const C* r, C* x,
                      const detail::StoppingRule& rule, const int* failure, detail::CgState<C>* states,
                      const ReductionWorkspace& workspace, CUstream_st* stream) {
  cg_columns_begin_kernel<<<columns_ctas(shape), columns_policy.threads, 0, stream>>>(shape, b, r, rule, failure,
                                                                                      states, workspace);
  check_launch("cg_columns_begin_kernel");
  clear_solutions_kernel<<<columns_ctas(shape), columns_policy.threads, 0, stream>>>(
      shape, x, static_cast<const detail::CgState<C>*>(states));
  check_launch("clear_solutions_kernel");
}

template <class C>
void cg_columns_forget(const Bundles& shape, detail::CgState<C>* states, CUstream_st* stream) {
  cg_columns_forget_kernel<<<1, columns_policy.threads, 0, stream>>>(shape.columns, states);
  check_launch("cg_columns_forget_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                             \
  template void to_bundles(const Bundles&, const ColumnsView<const C>&, index_t, C*, CUstream_st*);            \
  template void from_bundles(const Bundles&, const C*, index_t, const ColumnsView<C>&, CUstream_st*);          \
  template void bundles_product(const CsrView<C, std::int32_t>&, const Bundles&, const C*, C*, CUstream_st*);  \
  template void bundles_residual(const CsrView<C, std::int32_t>&, const Bundles&, const ColumnsView<const C>&, \
                                 const C*, C*, CUstream_st*);                                                  \
  template void bundles_norms(const Bundles&, const C*, double*, const ReductionWorkspace&, CUstream_st*);     \
  template void cg_columns_begin(const Bundles&, const ColumnsView<const C>&, const C*, C*,                    \
                                 const detail::StoppingRule&, const int*, detail::CgState<C>*,                 \
                                 const ReductionWorkspace&, CUstream_st*);                                     \
  template void cg_columns_forget(const Bundles&, detail::CgState<C>*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
