#include "two_level.hpp"

#include "errors.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
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

const SparseView& of_scalar(ScalarType scalar, const SparseView& matrix) {
  if (matrix.scalar() == scalar) return matrix;
  throw InvalidArgument(std::string("TwoLevel: A is of ") + numpy_name(matrix.scalar()) + ", M of " +
                        numpy_name(scalar));
}

}  // namespace

template <Scalar T>
TwoLevel<T> NumberedTwoLevel<T>::make(const BlockPartition& blocks, const BlockJacobiOptions& options,
                                      const std::optional<MultiVectorView<const T>>& vectors, index_t unknowns,
                                      const TwoLevelOptions& coarse) const {
  BlockJacobi<T> M(matrix_, blocks, options);
  const bool of_matrix = !vectors && (!permutation_ || unknowns == 1 || coarse.relaxed > 0);
  if (of_matrix) return TwoLevel<T>(matrix_, std::move(M), coarse);
  if (!permutation_) return TwoLevel<T>(matrix_, std::move(M), *vectors, coarse);
  const auto order = permutation_->order();
  const std::vector<T> permuted = vectors ? in_order(*vectors, order) : ones_in_order<T>(order, unknowns);
  const MultiVectorView<const T> view{
      permuted.data(),      matrix_.rows(),   vectors ? vectors->cols : unknowns, std::max<offset_t>(matrix_.rows(), 1),
      Layout::column_major, MemorySpace::host};
  return TwoLevel<T>(matrix_, std::move(M), view, coarse);
}

template <Scalar T>
void NumberedTwoLevel<T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  if (numbering_) values = numbering_->ordered(values);
  if (renumbered_) {
    renumbered_->update({values, static_cast<std::size_t>(nnz)});
    values = renumbered_->view().values;
  }
  matrix_.update_values(values, nnz, space);
  two_level_.refresh();
}

template <Scalar T>
template <class F>
void NumberedTwoLevel<T>::renumbered(VectorView<const T> r, VectorView<T> z, F&& f) const {
  if (!permutation_) return f(r, z);
  if (numbering_) return numbering_->around(r, z, f);
  const std::vector<T> in = permutation_->to_permuted(std::vector<T>(r.data, r.data + r.size));
  std::vector<T> out(in.size());
  f(VectorView<const T>(in), VectorView<T>(out));
  const std::vector<T> found = permutation_->to_original(out);
  std::copy(found.begin(), found.end(), z.data);
}

template <Scalar T>
void NumberedTwoLevel<T>::apply(VectorView<const T> r, VectorView<T> z) const {
  renumbered(r, z, [&](VectorView<const T> in, VectorView<T> out) { two_level_.apply(in, out); });
}

template <Scalar T>
void NumberedTwoLevel<T>::correct(VectorView<const T> r, VectorView<T> u) const {
  renumbered(r, u, [&](VectorView<const T> in, VectorView<T> out) { two_level_.correct(in, out); });
}

template <Scalar T>
BlockJacobiReport NumberedTwoLevel<T>::block_report() const {
  BlockJacobiReport report = two_level_.block_jacobi().report();
  return permutation_ ? in_original_rows(std::move(report), *permutation_) : report;
}

template class NumberedTwoLevel<float>;
template class NumberedTwoLevel<double>;
template class NumberedTwoLevel<std::complex<float>>;
template class NumberedTwoLevel<std::complex<double>>;

PythonTwoLevel::PythonTwoLevel(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
                               const BlockJacobiOptions& options, const nb::object& vectors, index_t unknowns,
                               index_t size, index_t relaxed, const std::string& mode)
    : backend_(backend), partition_(partition), policy_(options.singular), scalar_(matrix.scalar()) {
  partition.prepare_for(backend);
  TwoLevelOptions coarse;
  coarse.size = size;
  coarse.relaxed = relaxed;
  coarse.mode = enumerator("TwoLevel: mode", mode, modes);
  const PythonBackend host = PythonBackend::host(1);
  std::optional<ArrayView> columns;
  if (!vectors.is_none()) {
    columns.emplace(vectors, "TwoLevel: vectors", Access::read, host);
    if (columns->space() != MemorySpace::host)
      throw InvalidArgument("TwoLevel: vectors lie in device memory, must be on the host");
  }
  try {
    matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
      std::optional<MultiVectorView<const T>> of_vectors;
      if (columns) of_vectors = columns->multi_vector<const T>(view.rows, host);
      held_ = backend.run(matrix.streams(), [&] {
        return std::make_unique<NumberedTwoLevel<T>>(backend.value(), view, partition, options, of_vectors, unknowns,
                                                     coarse);
      });
    });
  } catch (const SingularBlock&) {
    if (!partition.permutation || options.l1) throw;
    raise_singular_renumbered(backend, matrix, partition);
  }
}

PythonTwoLevel::PythonTwoLevel(const SparseView& matrix, const PythonBlockJacobi& blocks, const nb::object& vectors,
                               index_t unknowns, index_t size, index_t relaxed, const std::string& mode)
    : PythonTwoLevel(blocks.backend(), of_scalar(blocks.scalar(), matrix), blocks.partition(), blocks.options(),
                     vectors, unknowns, size, relaxed, mode) {}

PythonTwoLevel::PythonTwoLevel(const PythonBackend& backend, const SparseView& matrix, const PythonPartition& partition,
                               const nb::object& vectors, index_t unknowns, index_t size, index_t relaxed,
                               const std::string& mode)
    : PythonTwoLevel(backend, matrix, partition, BlockJacobiOptions{}, vectors, unknowns, size, relaxed, mode) {}

template <class F>
void PythonTwoLevel::map(const nb::object& r, const nb::object& z, const char* in_name, const char* out_name,
                         F&& f) const {
  const ArrayView in(r, in_name, Access::read, backend_), out(z, out_name, Access::write, backend_);
  CallerStreams callers;
  in.add_stream_to(callers);
  out.add_stream_to(callers);
  with_scalar(scalar_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto from = in.vector<const T>(partition_.blocks.rows(), backend_);
    const auto to = out.vector<T>(partition_.blocks.rows(), backend_);
    const auto apply_f = [&] { locked(held<T>(), [&](const auto& two_level) { f(two_level, from, to); }); };
    backend_.run(callers, apply_f, Place::callers);
  });
}

void PythonTwoLevel::apply(const nb::object& r, const nb::object& z) const {
  map(r, z, "TwoLevel.apply: r", "TwoLevel.apply: out",
      [](const auto& held, const auto& from, const auto& to) { held.apply(from, to); });
}

void PythonTwoLevel::correct(const nb::object& r, const nb::object& u) const {
  map(r, u, "TwoLevel.correct: r", "TwoLevel.correct: out",
      [](const auto& held, const auto& from, const auto& to) { held.correct(from, to); });
}

void PythonTwoLevel::refresh(const nb::object& values, bool check) {
  const ArrayView view(values, "TwoLevel.update: values", Access::read, backend_);
  CallerStreams callers;
  view.add_stream_to(callers);
  std::visit(
      [&]<class T>(std::unique_ptr<NumberedTwoLevel<T>>& held) {
        const VectorView<const T> numbers = view.vector<const T>(held->nnz(), backend_);
        backend_.run(callers, [&] {
          const auto turn = lock();
          held->refresh(numbers.data, held->nnz(), numbers.space);
        });
      },
      held_);
  if (!check || policy_ != SingularPolicy::fail) return;
  if (read([](const auto& held) { return held.two_level().block_jacobi().defects(); }) == 0) return;
  raise_singular(read([](const auto& held) { return held.block_report(); }).defects.at(0), "TwoLevel.update");
}

void bind_two_level(nb::module_& module) {
  nb::class_<PythonTwoLevel>(module, "TwoLevel", "What blockjacobi.TwoLevel holds.")
      .def(nb::init<const SparseView&, const PythonBlockJacobi&, const nb::object&, index_t, index_t, index_t,
                    const std::string&>(),
           nb::arg("matrix"), nb::arg("blocks"), nb::arg("vectors").none(), nb::arg("unknowns"), nb::arg("size"),
           nb::arg("relaxed"), nb::arg("mode"))
      .def(nb::init<const PythonBackend&, const SparseView&, const PythonPartition&, const nb::object&, index_t,
                    index_t, index_t, const std::string&>(),
           nb::arg("backend"), nb::arg("matrix"), nb::arg("partition"), nb::arg("vectors").none(), nb::arg("unknowns"),
           nb::arg("size"), nb::arg("relaxed"), nb::arg("mode"))
      .def("apply", &PythonTwoLevel::apply)
      .def("correct", &PythonTwoLevel::correct)
      .def("refresh", &PythonTwoLevel::refresh)
      .def("report",
           [](const PythonTwoLevel& self) {
             return self.read([](const auto& held) { return held.two_level().report(); });
           })
      .def("block_report",
           [](const PythonTwoLevel& self) { return self.read([](const auto& held) { return held.block_report(); }); })
      .def_prop_ro("backend", &PythonTwoLevel::backend, nb::rv_policy::copy)
      .def_prop_ro("partition", &PythonTwoLevel::partition, nb::rv_policy::copy)
      .def_prop_ro("dtype", [](const PythonTwoLevel& self) { return numpy_name(self.scalar()); })
      .def_prop_ro("nnz",
                   [](const PythonTwoLevel& self) { return self.read([](const auto& held) { return held.nnz(); }); })
      .def_prop_ro("bytes",
                   [](const PythonTwoLevel& self) { return self.read([](const auto& held) { return held.bytes(); }); });
}

}  // namespace blockjacobi::python
