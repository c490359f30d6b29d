#include "block_jacobi.hpp"

#include "errors.hpp"

#include <nanobind/stl/string.h>

namespace blockjacobi::python {

namespace {

constexpr std::array<std::pair<const char*, SingularPolicy>, 5> policies{
    {{"fail", SingularPolicy::fail},
     {"identity", SingularPolicy::identity},
     {"scalar_jacobi", SingularPolicy::scalar_jacobi},
     {"shift", SingularPolicy::shift},
     {"pseudo_inverse", SingularPolicy::pseudo_inverse}}};
constexpr std::array<std::pair<const char*, Storage>, 6> storages{{{"full", Storage::full},
                                                                   {"packed", Storage::packed},
                                                                   {"fp32", Storage::fp32},
                                                                   {"bf16", Storage::bf16},
                                                                   {"fp16", Storage::fp16},
                                                                   {"adaptive", Storage::adaptive}}};

/// Element (i, j) of a multivector is data[i * row + j * column].
template <class T>
std::pair<offset_t, offset_t> steps(const MultiVectorView<T>& view) {
  return view.layout == Layout::column_major ? std::pair<offset_t, offset_t>{1, view.ld}
                                             : std::pair<offset_t, offset_t>{view.ld, 1};
}

template <class T>
MultiVectorView<T> as_column(VectorView<T> v) {
  return {v.data, v.size, 1, std::max<offset_t>(v.size, 1), Layout::column_major, v.space};
}

}  // namespace

template <Scalar T>
const T* NumberedBlockJacobi<T>::ordered(const T* values, offset_t nnz) {
  if (!permutation_) return values;
  if (numbering_) return numbering_->ordered(values);
  renumbered_->update({values, static_cast<std::size_t>(nnz)});
  return renumbered_->view().values;
}

template <Scalar T>
void NumberedBlockJacobi<T>::refresh(const T* values, offset_t nnz, MemorySpace space) {
  blocks_.refresh(ordered(values, nnz), nnz, space);
}

template <Scalar T>
void NumberedBlockJacobi<T>::rebuild(const T* values, offset_t nnz, MemorySpace space) {
  blocks_.rebuild(ordered(values, nnz), nnz, space);
}

template <Scalar T>
void NumberedBlockJacobi<T>::apply(VectorView<const T> r, VectorView<T> z, Op op) const {
  if (!permutation_) return blocks_.apply(r, z, op);
  if (numbering_) return numbering_->around(r, z, [&](const auto& in, const auto& out) { blocks_.apply(in, out, op); });
  apply(as_column(r), as_column(z), op);
}

template <Scalar T>
void NumberedBlockJacobi<T>::apply(MultiVectorView<const T> R, MultiVectorView<T> Z, Op op) const {
  if (!permutation_) return blocks_.apply(R, Z, op);
  if (R.cols != Z.cols)
    throw InvalidArgument("BlockJacobi.apply: r has " + std::to_string(R.cols) + " columns, out " +
                          std::to_string(Z.cols));
  if (numbering_) {
    for (index_t c = 0; c < R.cols; ++c)
      apply(column_of(R, c, "BlockJacobi.apply: r"), column_of(Z, c, "BlockJacobi.apply: out"), op);
    return;
  }
  const std::span<const index_t> order = permutation_->order();
  const std::size_t rows = order.size();
  std::vector<T> in(rows * static_cast<std::size_t>(R.cols)), out(in.size());
  const auto [row_of_r, column_of_r] = steps(R);
  for (index_t j = 0; j < R.cols; ++j)
    for (std::size_t k = 0; k < rows; ++k)
      in[static_cast<std::size_t>(j) * rows + k] = R.data[order[k] * row_of_r + j * column_of_r];
  const auto ld = static_cast<offset_t>(std::max<std::size_t>(rows, 1));
  blocks_.apply(MultiVectorView<const T>{in.data(), R.rows, R.cols, ld, Layout::column_major, MemorySpace::host},
                MultiVectorView<T>{out.data(), R.rows, R.cols, ld, Layout::column_major, MemorySpace::host}, op);
  const auto [row_of_z, column_of_z] = steps(Z);
  for (index_t j = 0; j < Z.cols; ++j)
    for (std::size_t k = 0; k < rows; ++k)
      Z.data[order[k] * row_of_z + j * column_of_z] = out[static_cast<std::size_t>(j) * rows + k];
}

template class NumberedBlockJacobi<float>;
template class NumberedBlockJacobi<double>;
template class NumberedBlockJacobi<std::complex<float>>;
template class NumberedBlockJacobi<std::complex<double>>;

PythonBlockJacobi::PythonBlockJacobi(const PythonBackend& backend, const SparseView& matrix,
                                     const PythonPartition& partition, const std::string& singular,
                                     const std::string& storage, double accuracy, bool l1, bool check_pattern,
                                     bool profile)
    : backend_(backend), partition_(partition), scalar_(matrix.scalar()) {
  partition.prepare_for(backend);
  options_.singular = enumerator("BlockJacobi: singular", singular, policies);
  options_.storage = enumerator("BlockJacobi: storage", storage, storages);
  options_.accuracy = accuracy;
  options_.l1 = l1;
  options_.check_pattern = check_pattern;
  options_.profile = profile;
  try {
    matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
      held_ = backend.run(matrix.streams(), [&] {
        return std::make_unique<NumberedBlockJacobi<T>>(backend.value(), view, partition, options_);
      });
    });
  } catch (const SingularBlock&) {
    if (!partition.permutation || l1) throw;
    raise_singular_renumbered(backend, matrix, partition);
  }
}

void PythonBlockJacobi::apply(const nb::object& r, const nb::object& z, const std::string& op_name) const {
  const Op op = enumerator("BlockJacobi.apply: op", op_name, ops);
  const ArrayView in(r, "BlockJacobi.apply: r", Access::read, backend_);
  apply(in, ArrayView(z, "BlockJacobi.apply: out", Access::write, backend_), op);
}

nb::object PythonBlockJacobi::applied(const nb::object& r) const {
  if (!ArrayView::is_of_cupy(r)) return nb::none();
  const ArrayView in(r, "BlockJacobi.apply: r", Access::read, backend_);
  const nb::object z = in.make_alike();
  if (!z.is_valid()) return nb::none();
  apply(in, in.described_alike(z, "BlockJacobi.apply: the result"), Op::none);
  return z;
}

void PythonBlockJacobi::apply(const ArrayView& in, const ArrayView& out, Op op) const {
  CallerStreams callers;
  in.add_stream_to(callers);
  out.add_stream_to(callers);
  const index_t rows = partition_.blocks.rows();
  with_scalar(scalar_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (in.dimensions() == 2 && out.dimensions() == 2) {
      const auto R = in.multi_vector<const T>(rows, backend_);
      const auto Z = out.multi_vector<T>(rows, backend_);
      const auto apply_to_columns = [&] {
        const std::shared_lock<std::shared_mutex> lock(mutex_);
        held<T>().apply(R, Z, op);
      };
      backend_.run(callers, apply_to_columns, Place::callers);
    } else {
      const auto from = in.vector<const T>(rows, backend_);
      const auto to = out.vector<T>(rows, backend_);
      const auto apply_to_vector = [&] {
        const std::shared_lock<std::shared_mutex> lock(mutex_);
        held<T>().apply(from, to, op);
      };
      backend_.run(callers, apply_to_vector, Place::callers);
    }
  });
}

template <class F>
void PythonBlockJacobi::change_values(const nb::object& values, const char* what, F&& f) {
  const ArrayView view(values, what, Access::read, backend_);
  CallerStreams callers;
  view.add_stream_to(callers);
  std::visit(
      [&]<class T>(std::unique_ptr<NumberedBlockJacobi<T>>& held) {
        const VectorView<const T> numbers = view.vector<const T>(held->blocks().nnz(), backend_);
        backend_.run(callers, [&] {
          const std::unique_lock<std::shared_mutex> lock(mutex_);
          f(*held, numbers.data, held->blocks().nnz(), numbers.space);
        });
      },
      held_);
}

void PythonBlockJacobi::refresh(const nb::object& values, bool check) {
  change_values(values, "BlockJacobi.update: values",
                [](auto& held, const auto* data, offset_t nnz, MemorySpace space) { held.refresh(data, nnz, space); });
  if (check) raise_if_singular("BlockJacobi.update");
}

void PythonBlockJacobi::rebuild(const nb::object& values) {
  try {
    change_values(
        values, "BlockJacobi.rebuild: values",
        [](auto& held, const auto* data, offset_t nnz, MemorySpace space) { held.rebuild(data, nnz, space); });
  } catch (const SingularBlock&) {
    if (partition_.permutation) raise_if_singular("BlockJacobi.rebuild");
    throw;
  }
}

void PythonBlockJacobi::refresh_matrix(const SparseView& matrix, bool check) {
  if (matrix.scalar() != scalar_)
    throw InvalidArgument(std::string("BlockJacobi.update: the matrix is of ") + numpy_name(matrix.scalar()) +
                          ", must be of " + numpy_name(scalar_));
  std::visit(
      [&]<class T>(std::unique_ptr<NumberedBlockJacobi<T>>& held) {
        matrix.visit_scalar<T>([&](const auto& view) {
          backend_.run(matrix.streams(), [&] {
            const std::unique_lock<std::shared_mutex> lock(mutex_);
            held->refresh(view);
          });
        });
      },
      held_);
  if (check) raise_if_singular("BlockJacobi.update");
}

void PythonBlockJacobi::raise_if_singular(const char* function) const {
  if (options_.singular != SingularPolicy::fail) return;
  if (read({}, [](const auto& held) { return held.blocks().defects(); }) == 0) return;
  raise_singular(report().defects.at(0), function);
}

BlockJacobiReport PythonBlockJacobi::report() const {
  return read({}, [](const auto& held) { return held.report(); });
}

BlockJacobiReport PythonBlockJacobi::report_of(const SparseView& matrix) {
  if (matrix.scalar() != scalar_)
    throw InvalidArgument(std::string("BlockJacobi.report: the matrix is of ") + numpy_name(matrix.scalar()) +
                          ", must be of " + numpy_name(scalar_));
  return std::visit(
      [&]<class T>(std::unique_ptr<NumberedBlockJacobi<T>>& held) {
        return matrix.visit_scalar<T>([&](const auto& view) {
          return backend_.run(matrix.streams(), [&] {
            const std::unique_lock<std::shared_mutex> lock(mutex_);
            return held->report(view);
          });
        });
      },
      held_);
}

void raise_singular_renumbered(const PythonBackend& backend, const SparseView& matrix,
                               const PythonPartition& partition) {
  BlockJacobiOptions options;
  options.singular = SingularPolicy::identity;
  const BlockJacobiReport report = matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
    return backend.run(matrix.streams(),
                       [&] { return NumberedBlockJacobi<T>(backend.value(), view, partition, options).report(); });
  });
  raise_singular(report.defects.at(0), "BlockJacobi");
}

void bind_block_jacobi(nb::module_& module) {
  nb::class_<PythonBlockJacobi>(module, "BlockJacobi", "What blockjacobi.BlockJacobi holds.")
      .def(nb::init<const PythonBackend&, const SparseView&, const PythonPartition&, const std::string&,
                    const std::string&, double, bool, bool, bool>())
      .def("apply", nb::overload_cast<const nb::object&, const nb::object&, const std::string&>(
                        &PythonBlockJacobi::apply, nb::const_))
      .def("applied", &PythonBlockJacobi::applied)
      .def("refresh", &PythonBlockJacobi::refresh)
      .def("refresh_matrix", &PythonBlockJacobi::refresh_matrix)
      .def("rebuild", &PythonBlockJacobi::rebuild)
      .def("report", &PythonBlockJacobi::report)
      .def("report_of", &PythonBlockJacobi::report_of)
      .def("info",
           [](const PythonBlockJacobi& self) {
             return to_numpy(self.read({}, [](const auto& held) { return held.blocks().info(); }));
           })
      .def("rcond",
           [](const PythonBlockJacobi& self) {
             const auto copy = [&](auto tag) {
               using T = typename decltype(tag)::type;
               return nb::cast(to_numpy(self.backend().run({}, [&] {
                 const auto lock = self.lock();
                 return self.held<T>().blocks().rcond();
               })));
             };
             return with_scalar(self.scalar(), copy);
           })
      .def("inverse_block",
           [](const PythonBlockJacobi& self, index_t block) {
             const auto copy = [&](auto tag) {
               using T = typename decltype(tag)::type;
               return nb::cast(to_numpy(self.backend().run({}, [&] {
                 const auto lock = self.lock();
                 return self.held<T>().blocks().inverse_block(block);
               })));
             };
             return with_scalar(self.scalar(), copy);
           })
      .def_prop_ro("backend", &PythonBlockJacobi::backend, nb::rv_policy::copy)
      .def_prop_ro("partition", &PythonBlockJacobi::partition, nb::rv_policy::copy)
      .def_prop_ro("dtype", [](const PythonBlockJacobi& self) { return numpy_name(self.scalar()); })
      .def_prop_ro("rows", [](const PythonBlockJacobi& self) { return self.partition().blocks.rows(); })
      .def_prop_ro("nnz",
                   [](const PythonBlockJacobi& self) {
                     return self.read({}, [](const auto& held) { return held.blocks().nnz(); });
                   })
      .def_prop_ro("bytes", [](const PythonBlockJacobi& self) {
        return self.read({}, [](const auto& held) { return held.blocks().bytes(); });
      });
}

}  // namespace blockjacobi::python
