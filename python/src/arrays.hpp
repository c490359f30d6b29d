#pragma once

#include "backend.hpp"

#include <blockjacobi/error.hpp>
#include <blockjacobi/types.hpp>
#include <blockjacobi/views.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace blockjacobi::python {

namespace nb = nanobind;

enum class Access { read, write };

/// What an array of NumPy, CuPy, PyTorch or any library with DLPack or __cuda_array_interface__ says of itself. Nothing
/// is ever converted: what does not fit is an error with the numbers.
class ArrayView {
 public:
  static constexpr int max_dimensions = 3;

  /// `what` names the function and the argument in messages: "BlockJacobi.apply: r". Arrays in device memory that offer
  /// DLPack alone are told to make the backend's stream wait for them.
  ArrayView(nb::handle array, std::string what, Access access, const PythonBackend& backend);

  /// Whether it is an array of CuPy, of which one was seen before.
  static bool is_of_cupy(nb::handle array);
  /// A new array of CuPy of the same shape and type, contiguous; nothing where this is no vector of CuPy. Making it and
  /// describing it by what is known of this one takes half of the time that it takes otherwise.
  nb::object make_alike() const;
  /// `made` by make_alike().
  ArrayView described_alike(nb::object made, std::string what) const;

  const std::string& what() const noexcept { return what_; }
  void* data() const noexcept { return data_; }
  int dimensions() const noexcept { return dimensions_; }
  std::int64_t shape(int k) const { return shape_[static_cast<std::size_t>(k)]; }
  /// In elements.
  std::int64_t stride(int k) const { return strides_[static_cast<std::size_t>(k)]; }
  std::string shape_text() const;
  std::string strides_text() const;

  void require_type(nb::dlpack::dtype type) const;
  /// Whether it is of int64, else of int32. Throws InvalidArgument for any other type.
  bool is_of_wide_integers() const;
  void require_dimensions(int dimensions) const;
  /// C order without gaps.
  void require_contiguous() const;
  /// In the space of the backend, and where the array tells its device on that.
  void require_space(const PythonBackend& backend) const;
  void require_device(const PythonBackend& backend) const;
  void add_stream_to(CallerStreams& streams) const;

  /// The scalar of the elements. Throws InvalidArgument for any but float32, float64, complex64 and complex128.
  ScalarType scalar() const;
  MemorySpace space() const noexcept { return space_; }

  /// A contiguous vector of `size` elements.
  template <class T>
  VectorView<T> vector(std::int64_t size, const PythonBackend& backend) const {
    require_type(nb::dtype<std::remove_const_t<T>>());
    require_dimensions(1);
    if (shape(0) != size)
      throw InvalidArgument(what_ + " has " + std::to_string(shape(0)) + " elements, must have " +
                            std::to_string(size));
    require_contiguous();
    require_space(backend);
    return {static_cast<T*>(data_), static_cast<index_t>(size), space_};
  }

  /// rows x any number of columns, of either order, with a leading dimension.
  template <class T>
  MultiVectorView<T> multi_vector(std::int64_t rows, const PythonBackend& backend) const {
    require_type(nb::dtype<std::remove_const_t<T>>());
    require_dimensions(2);
    if (shape(0) != rows)
      throw InvalidArgument(what_ + " has the shape " + shape_text() + ", must have " + std::to_string(rows) + " rows");
    require_space(backend);
    const auto [layout, ld] = layout_of_rectangle();
    return {static_cast<T*>(data_), static_cast<index_t>(rows), static_cast<index_t>(shape(1)), ld, layout, space_};
  }

 private:
  void read_cupy(nb::handle array);
  bool read_cuda_interface(nb::handle array, Access access);
  void read_torch_stream(nb::handle array);
  void read_dlpack(nb::handle array, Access access, const PythonBackend& backend);
  std::int64_t in_elements(std::int64_t bytes) const;
  void set_extents(int dimensions, const std::int64_t* shape, const std::int64_t* strides);
  std::pair<Layout, offset_t> layout_of_rectangle() const;

  std::string what_;
  void* data_ = nullptr;
  int dimensions_ = 0;
  std::array<std::int64_t, max_dimensions> shape_{}, strides_{};
  nb::dlpack::dtype type_{};
  MemorySpace space_ = MemorySpace::host;
  std::optional<int> device_;  ///< number of the device, where the array tells it at no cost
  std::optional<std::uintptr_t> stream_;
  bool of_cupy_ = false;  ///< its stream is asked for once a call, not once an array
  nb::object shape_of_cupy_, dtype_of_cupy_;
  // Keep the memory for the length of the call.
  nb::object owner_;
  nb::ndarray<nb::ro> exported_;
};

/// The handle of a CuPy or PyTorch stream, of an object with __cuda_stream__, or of an int.
[[nodiscard]] std::uintptr_t stream_of(nb::handle stream);

/// A NumPy array that owns the numbers.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), {owned->size()}, owner);
}

template <class T>
struct Tag {
  using type = T;
};

/// f(Tag<T>) for the scalar of that letter.
template <class F>
decltype(auto) with_scalar(ScalarType scalar, F&& f) {
  switch (scalar) {
    case ScalarType::s: return f(Tag<float>{});
    case ScalarType::d: return f(Tag<double>{});
    case ScalarType::c: return f(Tag<std::complex<float>>{});
    case ScalarType::z: break;
  }
  return f(Tag<std::complex<double>>{});
}

/// float32, float64, complex64, complex128.
[[nodiscard]] const char* numpy_name(ScalarType scalar) noexcept;

/// The enumerator of that name. Throws InvalidArgument with the names that there are.
template <class E, std::size_t N>
E enumerator(const char* what, const std::string& name, const std::array<std::pair<const char*, E>, N>& all) {
  std::string names;
  for (const auto& [text, value] : all) {
    if (name == text) return value;
    names += (names.empty() ? "" : ", ") + std::string(text);
  }
  throw InvalidArgument(std::string(what) + " is \"" + name + "\", must be one of " + names);
}

inline constexpr std::array<std::pair<const char*, Op>, 3> ops{
    {{"none", Op::none}, {"transpose", Op::transpose}, {"conjugate_transpose", Op::conjugate_transpose}}};

}  // namespace blockjacobi::python
