#include "coarse.hpp"

#include "errors.hpp"

#include <blockjacobi/renumbering.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace blockjacobi::python {

namespace {

constexpr std::array<std::pair<const char*, std::optional<CoarseMode>>, 4> modes{{{"additive", CoarseMode::additive},
                                                                                  {"adef1", CoarseMode::adef1},
                                                                                  {"adef2", CoarseMode::adef2},
                                                                                  {"automatic", std::nullopt}}};

/// The rows of `vectors` in another order, by columns.
template <Scalar T>
std::vector<T> in_order(const MultiVectorView<const T>& vectors, std::span<const index_t> order) {
  const bool by_columns = vectors.layout == Layout::column_major;
  std::vector<T> permuted;
  permuted.reserve(order.size() * static_cast<std::size_t>(vectors.cols));
  for (index_t j = 0; j < vectors.cols; ++j)
    for (const index_t i : order)
      permuted.push_back(vectors.data[by_columns ? i + j * vectors.ld : i * vectors.ld + j]);
  return permuted;
}

/// Ones for each unknown of a node, in another order, by columns.
template <Scalar T>
std::vector<T> ones_in_order(std::span<const index_t> order, index_t unknowns) {
  std::vector<T> ones(order.size() * static_cast<std::size_t>(unknowns), T(0));
  for (std::size_t k = 0; k < order.size(); ++k)
    ones[k + static_cast<std::size_t>(order[k] % unknowns) * order.size()] = T(1);
  return ones;
}

const SparseView& of_scalar(const char* name, ScalarType scalar, const SparseView& matrix) {
  if (matrix.scalar() == scalar) return matrix;
  throw InvalidArgument(std::string(name) + ": A is of " + numpy_name(matrix.scalar()) + ", M of " +
                        numpy_name(scalar));
}

}  // namespace

template <template <class> class Kind, Scalar T>
SparseMatrixOptions NumberedCoarse<Kind, T>::stated(index_t unknowns, double symmetry_tolerance) const {
  SparseMatrixOptions options;
  options.symmetry_tolerance = symmetry_tolerance;
  if (!permutation_ || keeps_nodes(*permutation_, unknowns)) options.block_size = unknowns;
  return options;
}

template <template <class> class Kind, Scalar T>
Kind<T> NumberedCoarse<Kind, T>::make(const BlockPartition& blocks, const BlockJacobiOptions& options,
                                      const std::optional<MultiVectorView<const T>>& vectors, index_t unknowns,
                                      const Options& coarse) const {
  BlockJacobi<T> M(matrix_, blocks, options);
  const bool of_matrix = !vectors && (coarse.relaxed > 0 || matrix_.block_size().value_or(1) == unknowns);
  if (of_matrix) return Kind<T>(matrix_, std::move(M), coarse);
  if (!permutation_) return Kind<T>(matrix_, std::move(M), *vectors, coarse);
  const auto order = permutation_->order();
  const std::vector<T> permuted = vectors ? in_order(*vectors, order) : ones_in_order<T>(order, unknowns);
  const MultiVectorView<const T> view{
      permuted.data(),      matrix_.rows(),   vectors ? vectors->cols : unknowns, std::max<offset_t>(matrix_.rows(), 1),
      Layout::column_major, MemorySpace::host};
  return Kind<T>(matrix_, std::move(M), view, coarse);
}

template <template <class> class Kind, Scalar T>
void NumberedCoarse<Kind, T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  if (numbering_) values = numbering_->ordered(values);
  if (renumbered_) {
    renumbered_->update({values, static_cast<std::size_t>(nnz)});
    values = renumbered_->view().values;
  }
  matrix_.update_values(values, nnz, space);
  coarse_.refresh();
}

template <template <class> class Kind, Scalar T>
BlockJacobiReport NumberedCoarse<Kind, T>::block_report() const {
  BlockJacobiReport report = coarse_.block_jacobi().report();
  return permutation_ ? in_original_rows(std::move(report), *permutation_) : report;
}

template <template <class> class Kind>
PythonCoarse<Kind>::PythonCoarse(const PythonBackend& backend, const SparseView& matrix,
                                 const PythonPartition& partition, const BlockJacobiOptions& options,
                                 const nb::object& vectors, index_t unknowns, double symmetry_tolerance,
                                 const Options& coarse)
    : backend_(backend), partition_(partition), policy_(options.singular), scalar_(matrix.scalar()) {
  partition.prepare_for(backend);
  const PythonBackend host = PythonBackend::host(1);
  const std::string what = std::string(CoarseTraits<Kind>::name) + ": vectors";
  std::optional<ArrayView> columns;
  if (!vectors.is_none()) {
    columns.emplace(vectors, what, Access::read, host);
    if (columns->space() != MemorySpace::host)
      throw InvalidArgument(what + " lie in device memory, must be on the host");
  }
  try {
    matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
      std::optional<MultiVectorView<const T>> of_vectors;
      if (columns) of_vectors = columns->multi_vector<const T>(view.rows, host);
      held_ = backend.run(matrix.streams(), [&] {
        return std::make_unique<NumberedCoarse<Kind, T>>(backend.value(), view, partition, options, of_vectors,
                                                         unknowns, symmetry_tolerance, coarse);
      });
    });
  } catch (const SingularBlock&) {
    if (!partition.permutation || options.l1) throw;
    raise_singular_renumbered(backend, matrix, partition);
  }
}

template <template <class> class Kind>
PythonCoarse<Kind>::PythonCoarse(const SparseView& matrix, const PythonBlockJacobi& blocks, const nb::object& vectors,
                                 index_t unknowns, double symmetry_tolerance, const Options& coarse)
    : PythonCoarse(blocks.backend(), of_scalar(CoarseTraits<Kind>::name, blocks.scalar(), matrix), blocks.partition(),
                   blocks.options(), vectors, unknowns, symmetry_tolerance, coarse) {}

template <template <class> class Kind>
PythonCoarse<Kind>::PythonCoarse(const PythonBackend& backend, const SparseView& matrix,
                                 const PythonPartition& partition, const nb::object& vectors, index_t unknowns,
                                 double symmetry_tolerance, const Options& coarse)
    : PythonCoarse(backend, matrix, partition, BlockJacobiOptions{}, vectors, unknowns, symmetry_tolerance, coarse) {}

template <template <class> class Kind>
void PythonCoarse<Kind>::apply(const nb::object& r, const nb::object& z) const {
  map("apply", r, z, [](const auto& coarse, const auto& in, const auto& out) { coarse.apply(in, out); });
}

template <template <class> class Kind>
void PythonCoarse<Kind>::refresh(const nb::object& values, bool check) {
  const std::string function = std::string(CoarseTraits<Kind>::name) + ".update";
  const ArrayView view(values, function + ": values", Access::read, backend_);
  CallerStreams callers;
  view.add_stream_to(callers);
  std::visit(
      [&]<class T>(std::unique_ptr<NumberedCoarse<Kind, T>>& held) {
        const VectorView<const T> numbers = view.vector<const T>(held->nnz(), backend_);
        backend_.run(callers, [&] {
          const auto turn = lock();
          held->refresh(numbers.data, held->nnz(), numbers.space);
        });
      },
      held_);
  if (!check || policy_ != SingularPolicy::fail) return;
  if (read([](const auto& held) { return held.coarse().block_jacobi().defects(); }) == 0) return;
  raise_singular(read([](const auto& held) { return held.block_report(); }).defects.at(0), function.c_str());
}

namespace {

/// What both kinds offer.
template <template <class> class Kind>
auto bind(nb::module_& module, const char* document) {
  using Held = PythonCoarse<Kind>;
  using Options = typename CoarseTraits<Kind>::Options;
  return nb::class_<Held>(module, CoarseTraits<Kind>::name, document)
      .def(nb::init<const SparseView&, const PythonBlockJacobi&, const nb::object&, index_t, double, const Options&>(),
           nb::arg("matrix"), nb::arg("blocks"), nb::arg("vectors").none(), nb::arg("unknowns"),
           nb::arg("symmetry_tolerance"), nb::arg("options"))
      .def(nb::init<const PythonBackend&, const SparseView&, const PythonPartition&, const nb::object&, index_t, double,
                    const Options&>(),
           nb::arg("backend"), nb::arg("matrix"), nb::arg("partition"), nb::arg("vectors").none(), nb::arg("unknowns"),
           nb::arg("symmetry_tolerance"), nb::arg("options"))
      .def("apply", &Held::apply)
      .def("refresh", &Held::refresh)
      .def("report",
           [](const Held& self) { return self.read([](const auto& held) { return held.coarse().report(); }); })
      .def("block_report",
           [](const Held& self) { return self.read([](const auto& held) { return held.block_report(); }); })
      .def_prop_ro("backend", &Held::backend, nb::rv_policy::copy)
      .def_prop_ro("partition", &Held::partition, nb::rv_policy::copy)
      .def_prop_ro("dtype", [](const Held& self) { return numpy_name(self.scalar()); })
      .def_prop_ro("nnz", [](const Held& self) { return self.read([](const auto& held) { return held.nnz(); }); })
      .def_prop_ro("bytes", [](const Held& self) { return self.read([](const auto& held) { return held.bytes(); }); });
}

}  // namespace

void bind_coarse(nb::module_& module) {
  nb::class_<TwoLevelOptions>(module, "TwoLevelOptions", "What blockjacobi.TwoLevel is given.")
      .def(
          "__init__",
          [](TwoLevelOptions* self, index_t size, index_t relaxed, const std::string& mode) {
            new (self) TwoLevelOptions{enumerator("TwoLevel: mode", mode, modes), size, relaxed};
          },
          nb::arg("size"), nb::arg("relaxed"), nb::arg("mode"));
  nb::class_<MultigridOptions>(module, "MultigridOptions", "What blockjacobi.Multigrid is given.")
      .def(
          "__init__",
          [](MultigridOptions* self, index_t coarsest, index_t relaxed) {
            new (self) MultigridOptions;
            self->coarsest = coarsest;
            self->relaxed = relaxed;
          },
          nb::arg("coarsest"), nb::arg("relaxed"));
  bind<TwoLevel>(module, "What blockjacobi.TwoLevel holds.")
      .def("correct", [](const PythonTwoLevel& self, const nb::object& r, const nb::object& u) {
        self.map("correct", r, u, [](const auto& coarse, const auto& in, const auto& out) { coarse.correct(in, out); });
      });
  bind<Multigrid>(module, "What blockjacobi.Multigrid holds.");
}

}  // namespace blockjacobi::python
