#include "partition.hpp"

#include "arrays.hpp"
#include "matrix.hpp"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace blockjacobi::python {

namespace {

constexpr std::array<std::pair<const char*, Merge>, 3> merges{
    {{"none", Merge::none}, {"greedy", Merge::greedy}, {"coupled", Merge::coupled}}};

std::optional<PythonBackend> on_device(const PythonBackend& backend) {
  return backend.on_host() ? std::nullopt : std::optional(backend);
}

PythonPartition detect(const PythonBackend& backend, const SparseView& matrix, index_t max_size, double tolerance,
                       const std::string& merge, double coupling) {
  DetectOptions options;
  options.max_size = max_size;
  options.tolerance = tolerance;
  options.merge = enumerator("partition.detect: merge", merge, merges);
  options.coupling = coupling;
  BlockPartition found = backend.run(matrix.streams(), [&] {
    return matrix.visit([&](const auto& view) { return BlockPartition::detect(backend.value(), view, options); });
  });
  return {std::move(found), {}, on_device(backend)};
}

PythonPartition renumbered(PermutedPartition found, std::optional<PythonBackend> finder = {}) {
  return {std::move(found.blocks), std::move(found.permutation), std::move(finder)};
}

PythonPartition metis(const PythonBackend& backend, const SparseView& matrix, index_t max_size) {
  return renumbered(backend.run(matrix.streams(), [&] {
    return matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
      return view.space == MemorySpace::host
                 ? BlockPartition::metis(view, max_size)
                 : BlockPartition::metis(SparseMatrix<T>::adopt(backend.value(), view), max_size);
    });
  }));
}

PythonPartition clusters(const PythonBackend& backend, const SparseView& matrix, const PythonPartition* nodes,
                         index_t max_size) {
  if (nodes != nullptr && nodes->permutation)
    throw InvalidArgument("partition.clusters: the rows of a node must be neighbours");
  if (nodes != nullptr) static_cast<void>(nodes->offsets());  // in their turn
  PermutedPartition found = backend.run(matrix.streams(), [&] {
    return matrix.visit([&]<class T, Offset O>(const CsrView<T, O>& view) {
      if (backend.on_host())
        return nodes != nullptr ? BlockPartition::clusters(view, nodes->blocks, max_size)
                                : BlockPartition::clusters(view, max_size);
      // A device knows nodes of one size, which is stated with the matrix.
      SparseMatrixOptions stated;
      if (nodes != nullptr) {
        const index_t size = nodes->blocks.largest_block();
        if (nodes->blocks.rows() != view.rows || size * offset_t{nodes->blocks.blocks()} != view.rows)
          return BlockPartition::clusters(SparseMatrix<T>::adopt(backend.value(), view).to_host(), nodes->blocks,
                                          max_size);
        if (size > 0) stated.block_size = size;
      }
      return BlockPartition::clusters(SparseMatrix<T>::adopt(backend.value(), view, stated), max_size);
    });
  });
  return renumbered(std::move(found), on_device(backend));
}

/// Integers of any width, as numbers of rows.
std::vector<index_t> row_numbers(nb::handle array, const char* what, const PythonBackend& backend) {
  const ArrayView view(array, what, Access::read, backend);
  view.require_dimensions(1);
  view.require_contiguous();
  view.require_space(backend);
  const auto count = static_cast<std::size_t>(view.shape(0));
  if (view.is_of_wide_integers()) {
    std::vector<index_t> numbers(count);
    const auto* wide = static_cast<const std::int64_t*>(view.data());
    for (std::size_t k = 0; k < count; ++k) {
      if (wide[k] < std::numeric_limits<index_t>::min() || wide[k] > std::numeric_limits<index_t>::max())
        throw InvalidArgument(std::string(what) + "[" + std::to_string(k) + "] is " + std::to_string(wide[k]) +
                              ", which does not fit in 32 bits");
      numbers[k] = static_cast<index_t>(wide[k]);
    }
    return numbers;
  }
  const auto* first = static_cast<const index_t*>(view.data());
  return {first, first + count};
}

std::string description(const PythonPartition& partition) {
  return "<blockjacobi.Partition: " + std::to_string(partition.blocks.rows()) + " rows in " +
         std::to_string(partition.blocks.blocks()) + " blocks of at most " +
         std::to_string(partition.blocks.largest_block()) + (partition.permutation ? ", renumbered>" : ">");
}

}  // namespace

std::span<const index_t> PythonPartition::offsets() const {
  return finder ? finder->run({}, [&] { return blocks.offsets(); }) : blocks.offsets();
}

std::span<const index_t> PythonPartition::order() const {
  return finder ? finder->run({}, [&] { return permutation->order(); }) : permutation->order();
}

void PythonPartition::prepare_for(const PythonBackend& user) const {
  if (!finder || *finder == user) return;
  static_cast<void>(offsets());
  if (permutation) static_cast<void>(order());
}

bool operator==(const PythonPartition& a, const PythonPartition& b) {
  if (a.blocks.rows() != b.blocks.rows() || a.blocks.blocks() != b.blocks.blocks() ||
      a.permutation.has_value() != b.permutation.has_value())
    return false;
  return std::ranges::equal(a.offsets(), b.offsets()) && (!a.permutation || std::ranges::equal(a.order(), b.order()));
}

std::vector<index_t> PythonPartition::rows_of(index_t block) const {
  if (block < 0 || block >= blocks.blocks())
    throw InvalidArgument("Partition.rows_of: block is " + std::to_string(block) + ", must be in 0.." +
                          std::to_string(blocks.blocks() - 1));
  const auto ends = offsets().subspan(static_cast<std::size_t>(block), 2);
  std::vector<index_t> rows(static_cast<std::size_t>(ends[1] - ends[0]));
  std::iota(rows.begin(), rows.end(), ends[0]);
  if (permutation) {
    const auto numbers = order();
    for (index_t& row : rows) row = numbers[static_cast<std::size_t>(row)];
  }
  return rows;
}

void bind_partition(nb::module_& module) {
  nb::class_<PythonPartition>(module, "Partition", R"(How the rows of a matrix are split into diagonal blocks.

Made by the functions of :mod:`blockjacobi.partition`. Immutable. Blocks have 1 to 512 rows; these are neighbours, or
(``from_labels``, ``clusters``, ``metis``) stand anywhere: the package then renumbers the system on its way, and vectors, reports and
errors keep the user's numbering.)")
      .def_prop_ro(
          "rows", [](const PythonPartition& self) { return self.blocks.rows(); }, "How many rows there are.")
      .def("__len__", [](const PythonPartition& self) { return self.blocks.blocks(); })
      .def_prop_ro(
          "largest", [](const PythonPartition& self) { return self.blocks.largest_block(); },
          "Rows of the largest block; 0 if there is none.")
      .def_prop_ro(
          "offsets",
          [](const PythonPartition& self) {
            const auto all = self.offsets();
            return to_numpy(std::vector<index_t>(all.begin(), all.end()));
          },
          nb::rv_policy::automatic,
          "First row of each block and, last, the number of rows: int32, a copy. Of a renumbered system in its new "
          "numbering.")
      .def_prop_ro(
          "renumbered", [](const PythonPartition& self) { return self.permutation.has_value(); },
          "Whether the blocks have a numbering of their own.")
      .def_prop_ro(
          "order",
          [](const PythonPartition& self) -> nb::object {
            if (!self.permutation) return nb::none();
            const auto all = self.order();
            return nb::cast(to_numpy(std::vector<index_t>(all.begin(), all.end())));
          },
          nb::for_getter(nb::sig("def order(self) -> numpy.typing.NDArray[numpy.int32] | None")),
          "Row ``order[k]`` of the matrix has the number k in the numbering of the blocks: int32, a copy; None where "
          "both are the same.")
      .def(
          "rows_of", [](const PythonPartition& self, index_t block) { return to_numpy(self.rows_of(block)); },
          nb::arg("block"), "The rows of a block, in the numbering of the matrix: int32.")
      .def(
          "__eq__",
          [](const PythonPartition& a, const nb::object& b) {
            PythonPartition* other = nullptr;
            return nb::try_cast(b, other) && other != nullptr && a == *other;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PythonPartition& self) {
             return std::hash<index_t>{}(self.blocks.rows()) ^ (std::hash<index_t>{}(self.blocks.blocks()) << 1);
           })
      .def("__repr__", &description);

  module.def("partition_uniform", [](index_t rows, index_t block_size) {
    return PythonPartition{BlockPartition::uniform(rows, block_size), {}};
  });
  module.def("partition_from_offsets", [](const nb::object& offsets) {
    const PythonBackend host = PythonBackend::host(1);
    return PythonPartition{BlockPartition::from_offsets(row_numbers(offsets, "partition.from_offsets: offsets", host)),
                           {}};
  });
  module.def("partition_from_labels", [](const nb::object& labels) {
    const PythonBackend host = PythonBackend::host(1);
    return renumbered(BlockPartition::from_labels(row_numbers(labels, "partition.from_labels: labels", host)));
  });
  module.def("partition_detect", &detect);
  module.def("partition_metis", &metis);
  module.def("partition_clusters", &clusters, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}

}  // namespace blockjacobi::python
