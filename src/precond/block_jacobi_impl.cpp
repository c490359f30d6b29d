#include "precond/block_jacobi_impl.hpp"

#include "backend/host_extract.hpp"
#include "backend/range.hpp"
#include "core/message.hpp"
#include "core/shared/defect_words.hpp"
#include "precond/pivot_growth.hpp"

#include <algorithm>

namespace blockjacobi::detail {

namespace {

template <Scalar T>
std::size_t scratch_size(const Backend& backend, const BlockLayout& layout, const BlockJacobiOptions& options) {
  if (!needs_scratch<T>(options) || layout.blocks() == 0) return 0;
  return static_cast<std::size_t>(storage_ops<T>(backend).scratch_size(layout.groups().back().size, layout.blocks()));
}

template <class T>
std::string to_text(T value) {
  if constexpr (is_complex<T>)
    return detail::message("({}, {})", value.real(), value.imag());
  else
    return detail::message("{}", value);
}

}  // namespace

template <Scalar T>
BlockJacobiImpl<T>::BlockJacobiImpl(const Backend& backend_, const BlockPartition& partition_,
                                    const BlockJacobiOptions& options_, Analysis analysis)
    : backend(backend_),
      partition(partition_),
      options(options_),
      nnz(analysis.nnz),
      entries(analysis.map.entries - (analysis.l1 ? partition_.rows() : 0)),
      fingerprint(analysis.fingerprint),
      inverses(backend_, analysis.layout, format_of<T>(options_.storage), options_.accuracy),
      position_map(std::move(analysis.map)),
      info(backend_, static_cast<std::size_t>(partition_.blocks())),
      rcond(backend_, static_cast<std::size_t>(partition_.blocks())),
      defects(backend_, defect_words(partition_.blocks())),
      l1(analysis.l1 ? L1Values<T>(std::move(*analysis.l1)) : L1Values<T>(backend_)),
      scratch(backend_, scratch_size<T>(backend_, layout(), options_)) {
  defects.zero();
}

template <Scalar T>
template <class Work>
void BlockJacobiImpl<T>::run(double SetupTimes::*phase, Work work) {
  if (is_measured_)
    times.*phase += seconds_of(backend, work);
  else
    work();
}

template <Scalar T>
void BlockJacobiImpl<T>::invert(const C* values, const BlockBatchView<C>& batch) {
  const std::optional<Repair> repair = repair_of(options.singular);
  const bool identity = options.singular == SingularPolicy::fail || options.singular == SingularPolicy::identity;
  run(&SetupTimes::inversion, [&] {
    block_ops<T>(backend).setup(values, map(), batch, hermitian,
                                identity ? Fallback::identity : Fallback::scalar_jacobi, status());
  });
  if (!repair) return;
  run(&SetupTimes::repair,
      [&] { block_ops<T>(backend).repair(values, map(), batch, *repair, rounding_scales, status(), scratch_view()); });
}

template <Scalar T>
void BlockJacobiImpl<T>::fill(const C* values, bool check) {
  const Range range("set-up");
  inverses.fill(values, map(), status(), scratch_view(), check,
                [&](const BlockBatchView<C>& batch) { invert(values, batch); });
}

template <Scalar T>
void BlockJacobiImpl<T>::setup(const T* values) {
  if (!is_set_up_) return rebuild(values);
  fill(used(values), true);
}

template <Scalar T>
void BlockJacobiImpl<T>::rebuild(const T* values) {
  is_set_up_ = false;
  const C* const matrix = used(values);
  inverses.choose_formats(matrix, map(), status(), scratch_view(),
                          [&](const BlockBatchView<C>& batch) { invert(matrix, batch); });
  fill(matrix, false);
  is_set_up_ = true;
}

template <Scalar T>
void BlockJacobiImpl<T>::require_set_up(const char* function) const {
  if (!is_set_up_)
    throw InvalidArgument(
        detail::message("{}: there are no inverses yet, refresh() comes first after BlockJacobi::analyze()", function));
}

template <Scalar T>
void BlockJacobiImpl<T>::measured_rebuild(const T* values) {
  times = {.analysis = times.analysis};
  struct Measurement {
    bool& is_on;
    ~Measurement() { is_on = false; }  // also if memory ran out
  } measurement{is_measured_ = true};
  const double all = seconds_of(backend, [&] { rebuild(values); });
  // Batch by batch, storage is what comes between the others.
  (inverses.full() ? times.inversion : times.storage) += std::max(0.0, all - times.inversion - times.repair);
}

template <Scalar T>
Array<real_t<T>> BlockJacobiImpl<T>::pivot_growth(const T* values) {
  return detail::pivot_growth<T>(backend, layout(), map(), used(values));
}

template <Scalar T>
bool BlockJacobiImpl<T>::apply_bundles(const Bundles& bundles, const C* r, C* z) const {
  require_set_up("BlockJacobi as a preconditioner");
  if (bundles.n == 0) return true;
  for (index_t b = 0; b < bundles.count(); ++b)
    apply(Op::none, from_real<C>(real_t<T>(1)), bundles.view(r, b), C{}, bundles.view(z, b));
  return true;
}

template <Scalar T>
void BlockJacobiImpl<T>::apply(Op op, const C* r, C* z) const {
  const Range range("apply");
  inverses.apply(op, r, z);
}

template <Scalar T>
void BlockJacobiImpl<T>::apply(Op op, C alpha, const ColumnsView<const C>& r, C beta, const ColumnsView<C>& z) const {
  const Range range("apply to columns");
  inverses.apply(op, alpha, r, beta, z);
}

template <Scalar T>
bool BlockJacobiImpl<T>::failed() const {
  if (options.singular == SingularPolicy::fail) {
    int count = 0;
    backend.impl().copy_to_host(&count, defects.data(), sizeof(count));
    return count != 0;
  }
  backend.synchronize();
  return false;
}

template <Scalar T>
std::string BlockJacobiImpl<T>::describe_asymmetry(index_t block, const T* values) const {
  const auto slot = std::ranges::find(layout().slots(), block, &BlockSlot::block);
  std::vector<T> host(static_cast<std::size_t>(nnz) + (options.l1 ? static_cast<std::size_t>(rows()) : 0));
  backend.impl().copy_to_host(host.data(), options.l1 ? l1.extended() : values, host.size() * sizeof(T));
  const auto slots = position_map.slots.to_host();
  const auto narrow = position_map.narrow.to_host();
  const auto wide = position_map.wide.to_host();
  const PositionMapView view{slots.data(), wide.empty() ? narrow.data() : nullptr, wide.data(),
                             position_map.duplicates};
  const int n = slot->size;
  std::vector<T> a(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  auto* const elements = compute_cast(a.data());
  extract_block(compute_cast(host.data()), view, slot - layout().slots().begin(), n, elements);
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      if (is_hermitian_pair(elements[i + j * n], elements[j + i * n], elements[i * (n + 1)], elements[j * (n + 1)]))
        continue;
      const index_t first = slot->first_row;
      const std::string text =
          detail::message("block {} (rows {}..{}): element ({}, {}) is {}", block, first, first + n - 1, first + i,
                          first + j, to_text(a[static_cast<std::size_t>(i + j * n)]));
      if (i == j) return text + ", has an imaginary part";
      return detail::message("{}, ({}, {}) is {}", text, first + j, first + i,
                             to_text(a[static_cast<std::size_t>(j + i * n)]));
    }
  return detail::message("block {} (rows {}..{})", block, slot->first_row, slot->first_row + n - 1);
}

template <Scalar T>
std::size_t BlockJacobiImpl<T>::bytes() const {
  return inverses.bytes() + position_map.bytes() + info.bytes() + rcond.bytes() + defects.bytes() + l1.bytes() +
         scratch.bytes();
}

template <Scalar T>
std::size_t required_bytes(const Backend& backend, const BlockLayout& layout, const BlockJacobiOptions& options,
                           const PositionMapSize& map, offset_t nnz) {
  const auto blocks = static_cast<std::size_t>(layout.blocks());
  return InverseStorage<T>::required_bytes(backend, layout, format_of<T>(options.storage)) +
         (blocks + 1) * sizeof(MapSlot) +
         static_cast<std::size_t>(map.words) * (map.narrow ? sizeof(std::uint32_t) : sizeof(std::uint64_t)) +
         blocks * (sizeof(int) + sizeof(real_t<T>)) + defect_words(layout.blocks()) * sizeof(int) +
         (options.l1 ? L1Values<T>::required_bytes(layout.rows(), nnz) : 0) +
         scratch_size<T>(backend, layout, options) * sizeof(T);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                      \
  template class BlockJacobiImpl<T>;                                                                    \
  template std::size_t required_bytes<T>(const Backend&, const BlockLayout&, const BlockJacobiOptions&, \
                                         const PositionMapSize&, offset_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
