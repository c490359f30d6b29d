#include "matrix.hpp"

#include <limits>
#include <utility>

namespace blockjacobi::python {

SparseView::SparseView(std::int64_t rows, std::int64_t cols, nb::object offsets, nb::object columns, nb::object values,
                       const PythonBackend& backend)
    : owners_{std::move(offsets), std::move(columns), std::move(values)} {
  constexpr std::int64_t largest = std::numeric_limits<index_t>::max();
  if (rows > largest || cols > largest)
    throw InvalidArgument("the matrix is " + std::to_string(rows) + " x " + std::to_string(cols) +
                          ", which does not fit in 32 bits");
  rows_ = static_cast<index_t>(rows);
  cols_ = static_cast<index_t>(cols);

  const ArrayView offset_view(owners_[0], "the matrix's row offsets", Access::read, backend);
  const ArrayView column_view(owners_[1], "the matrix's columns", Access::read, backend);
  const ArrayView value_view(owners_[2], "the matrix's values", Access::read, backend);
  wide_ = offset_view.is_of_wide_integers();
  column_view.require_type(nb::dtype<index_t>());
  scalar_ = value_view.scalar();
  for (const ArrayView* view : {&offset_view, &column_view, &value_view}) {
    view->require_dimensions(1);
    view->require_contiguous();
    view->add_stream_to(streams_);
    if (view->space() != value_view.space())
      throw InvalidArgument("the matrix's arrays lie in different memory spaces");
  }
  if (offset_view.shape(0) != rows + 1)
    throw InvalidArgument("the matrix has " + std::to_string(offset_view.shape(0)) + " row offsets, must have " +
                          std::to_string(rows + 1));
  nnz_ = value_view.shape(0);
  if (column_view.shape(0) != nnz_)
    throw InvalidArgument("the matrix has " + std::to_string(column_view.shape(0)) + " columns and " +
                          std::to_string(nnz_) + " values");
  space_ = value_view.space();
  if (space_ == MemorySpace::device && backend.on_host())
    throw InvalidArgument("the matrix lies in device memory, the backend is " + backend.value().description());
  for (const ArrayView* view : {&offset_view, &column_view, &value_view}) view->require_device(backend);
  offsets_ = offset_view.data();
  columns_ = static_cast<const index_t*>(column_view.data());
  values_ = value_view.data();
}

void bind_matrix(nb::module_& module) {
  nb::class_<SparseView>(module, "SparseView", "The arrays of a matrix in CSR, for the length of a call.")
      .def(nb::init<std::int64_t, std::int64_t, nb::object, nb::object, nb::object, const PythonBackend&>())
      .def_prop_ro("dtype", [](const SparseView& self) { return numpy_name(self.scalar()); })
      .def_prop_ro("nnz", &SparseView::nnz);
}

}  // namespace blockjacobi::python
