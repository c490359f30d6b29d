#include "arrays.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>

namespace blockjacobi::python {

namespace {

// DLPack's numbers of the devices whose memory a CUDA backend can use.
constexpr int dlpack_cpu = 1, dlpack_cuda = 2, dlpack_cuda_host = 3, dlpack_cuda_managed = 13;

std::string text_of(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  const char* name = code == Code::Float     ? "float"
                     : code == Code::Complex ? "complex"
                     : code == Code::Int     ? "int"
                     : code == Code::UInt    ? "uint"
                     : code == Code::Bfloat  ? "bfloat"
                     : code == Code::Bool    ? "bool"
                                             : "an unknown type of bits ";
  return name + std::to_string(static_cast<int>(type.bits));
}

std::string tuple_text(const std::int64_t* numbers, int count) {
  std::string text = "(";
  for (int k = 0; k < count; ++k) text += (k == 0 ? "" : ", ") + std::to_string(numbers[k]);
  return text + (count == 1 ? ",)" : ")");
}

/// The attribute, or nothing where there is none; any other error of the getter is the caller's to see.
nb::object attribute(nb::handle object, const char* name) {
  PyObject* const found = PyObject_GetAttrString(object.ptr(), name);
  if (found != nullptr) return nb::steal(found);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  return {};
}

std::string text_attribute(nb::handle object, const char* name) {
  const nb::object found = attribute(object, name);
  std::string text;
  return found.is_valid() && nb::try_cast(found, text) ? text : "";
}

std::string module_of(nb::handle object) { return text_attribute(object.type(), "__module__"); }

/// The name of an attribute that is asked for in every call. Python keeps it to the end.
class Name {
 public:
  explicit Name(const char* text) : name_(PyUnicode_InternFromString(text)) {}
  nb::object of(nb::handle object) const {
    PyObject* const found = PyObject_GetAttr(object.ptr(), name_);
    if (found == nullptr) throw nb::python_error();
    return nb::steal(found);
  }

 private:
  PyObject* name_;
};

/// Of an array of NumPy says what is wrong with its numbers, of another object that it is none.
[[noreturn]] void raise_not_exported(nb::handle array, const std::string& what) {
  const nb::object dtype = attribute(array, "dtype");
  if (const nb::object native = dtype.is_valid() ? attribute(dtype, "isnative") : dtype; native.is_valid()) {
    const auto name = nb::cast<std::string>(nb::str(dtype));
    if (!nb::cast<bool>(native))
      throw InvalidArgument(what + " is of " + name + ", which is not of this machine's byte order: give " +
                            "array.astype(array.dtype.newbyteorder(\"=\"))");
    throw nb::type_error((what + " is of " + name + ", which is no type of numbers that the package takes").c_str());
  }
  throw nb::type_error((what + " is no array that NumPy, CuPy or PyTorch would know, but of the type " +
                        nb::cast<std::string>(nb::str(nb::handle(array.type()))))
                           .c_str());
}

/// "<f8" of an array interface.
nb::dlpack::dtype type_of(const std::string& typestr, const std::string& what) {
  using Code = nb::dlpack::dtype_code;
  const std::size_t size = typestr.size();
  if (size < 3 || (typestr[0] != '<' && typestr[0] != '|' && typestr[0] != '='))
    throw InvalidArgument(what + " is of " + typestr + ", which is not of this machine's byte order");
  const char kind = typestr[1];
  const Code code = kind == 'f' ? Code::Float : kind == 'c' ? Code::Complex : kind == 'i' ? Code::Int : Code::UInt;
  const int bytes = std::stoi(typestr.substr(2));
  return {static_cast<std::uint8_t>(kind == 'b' ? Code::Bool : code), static_cast<std::uint8_t>(8 * bytes), 1};
}

/// What is known of CuPy once one of its arrays was seen.
struct Cupy {
  nb::object array;           ///< the type
  nb::object current_stream;  ///< cupy.cuda.get_current_stream
  nb::object stream;          ///< the type of CuPy's own streams, not that of handles of others
  nb::object dtype;           ///< the last that was seen
  nb::dlpack::dtype type{};   ///< the same
};

/// Never destroyed: at the end of the process there may be no interpreter to give the objects back to.
Cupy& cupy() {
  static Cupy* const known = new Cupy;
  return *known;
}

/// From now on arrays of this type are read by their attributes.
void remember_cupy(nb::handle type) {
  cupy().current_stream = nb::module_::import_("cupy.cuda").attr("get_current_stream");
  cupy().stream = nb::module_::import_("cupy.cuda").attr("Stream");
  cupy().array = nb::borrow(type);
}

/// Naming a type takes longer than all else, and most calls see the same.
nb::dlpack::dtype type_of_cupy(nb::object dtype, const std::string& what) {
  static const Name str("str");
  if (!dtype.is(cupy().dtype)) {
    cupy().type = type_of(nb::cast<std::string>(str.of(dtype)), what);
    cupy().dtype = std::move(dtype);
  }
  return cupy().type;
}

/// How many numbers the tuple has, of which as many as fit are taken.
int take(nb::object tuple, std::array<std::int64_t, ArrayView::max_dimensions>& numbers) {
  const auto all = nb::cast<nb::tuple>(tuple);
  for (std::size_t k = 0; k < std::min(all.size(), numbers.size()); ++k) numbers[k] = nb::cast<std::int64_t>(all[k]);
  return static_cast<int>(all.size());
}

/// Of memory on a device. Only with a version does it say that it is read-only; old producers know no versions.
nb::object capsule_of(nb::handle array, std::uintptr_t stream) {
  try {
    return array.attr("__dlpack__")(
        nb::arg("stream") = stream,
        nb::arg("max_version") = nb::make_tuple(nb::dlpack::major_version, nb::dlpack::minor_version));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return array.attr("__dlpack__")(nb::arg("stream") = stream);
}

}  // namespace

ArrayView::ArrayView(nb::handle array, std::string what, Access access, const PythonBackend& backend)
    : what_(std::move(what)) {
  // NumPy's arrays are most of them, and asking them for what they lack takes longer than the rest.
  static const nb::handle numpy_array = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  const nb::handle type = array.type();
  if (type.is(cupy().array))
    read_cupy(array);
  else if (type.is(numpy_array) || !read_cuda_interface(array, access))
    read_dlpack(array, access, backend);
}

// What its __cuda_array_interface__ says too, for which CuPy takes microseconds: it describes the type in Python.
void ArrayView::read_cupy(nb::handle array) {
  static const Name data("data"), ptr("ptr"), device("device_id"), shape("shape"), strides("strides"), dtype("dtype");
  const nb::object memory = data.of(array);
  data_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(ptr.of(memory)));
  device_ = nb::cast<int>(device.of(memory));
  dtype_of_cupy_ = dtype.of(array);
  shape_of_cupy_ = shape.of(array);
  type_ = type_of_cupy(dtype_of_cupy_, what_);
  space_ = MemorySpace::device;
  of_cupy_ = true;
  owner_ = nb::borrow(array);
  std::array<std::int64_t, max_dimensions> extents{}, steps{};
  const int dimensions = take(shape_of_cupy_, extents);
  take(strides.of(array), steps);
  for (std::int64_t& step : steps) step = in_elements(step);
  set_extents(dimensions, extents.data(), steps.data());
}

bool ArrayView::is_of_cupy(nb::handle array) { return array.type().is(cupy().array); }

nb::object ArrayView::make_alike() const {
  if (!of_cupy_ || dimensions_ != 1) return {};
  return cupy().array(shape_of_cupy_, dtype_of_cupy_);
}

ArrayView ArrayView::described_alike(nb::object made, std::string what) const {
  static const Name data("data"), ptr("ptr"), device("device_id");
  ArrayView view = *this;
  const nb::object memory = data.of(made);
  view.what_ = std::move(what);
  view.data_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(ptr.of(memory)));
  view.device_ = nb::cast<int>(device.of(memory));  // that which is current for CuPy
  view.strides_[0] = 1;
  view.owner_ = std::move(made);
  return view;
}

std::int64_t ArrayView::in_elements(std::int64_t bytes) const {
  const std::int64_t item = type_.bits / 8;
  if (item == 0 || bytes % item != 0)
    throw InvalidArgument(what_ + " has a stride of " + std::to_string(bytes) +
                          " bytes, which is no multiple of its element of " + std::to_string(item));
  return bytes / item;
}

bool ArrayView::read_cuda_interface(nb::handle array, Access access) {
  const nb::object found = attribute(array, "__cuda_array_interface__");
  if (!found.is_valid()) return false;
  const std::string module = module_of(array);
  if (module == "cupy" && text_attribute(array.type(), "__name__") == "ndarray") {
    remember_cupy(array.type());
    read_cupy(array);
    return true;
  }
  const auto interface = nb::cast<nb::dict>(found);
  const auto pointer = nb::cast<nb::tuple>(interface["data"]);
  if (access == Access::write && nb::cast<bool>(pointer[1]))
    throw InvalidArgument(what_ + " is read-only, and is to be written");
  if (interface.contains("mask") && !interface["mask"].is_none()) throw InvalidArgument(what_ + " is a masked array");
  data_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(pointer[0]));
  type_ = type_of(nb::cast<std::string>(interface["typestr"]), what_);
  space_ = MemorySpace::device;
  owner_ = nb::borrow(array);

  std::vector<std::int64_t> shape, strides;
  for (const nb::handle extent : nb::cast<nb::tuple>(interface["shape"]))
    shape.push_back(nb::cast<std::int64_t>(extent));
  const bool strided = interface.contains("strides") && !interface["strides"].is_none();
  if (strided)
    for (const nb::handle step : nb::cast<nb::tuple>(interface["strides"]))
      strides.push_back(in_elements(nb::cast<std::int64_t>(step)));
  set_extents(static_cast<int>(shape.size()), shape.data(), strided ? strides.data() : nullptr);

  if (interface.contains("stream") && !interface["stream"].is_none())
    stream_ = nb::cast<std::uintptr_t>(interface["stream"]);
  else if (module.rfind("torch", 0) == 0)
    read_torch_stream(array);
  return true;
}

// PyTorch names no stream in its array interface, and says nothing of a conjugation that it has put off.
void ArrayView::read_torch_stream(nb::handle array) {
  if (nb::cast<bool>(array.attr("is_conj")()) || nb::cast<bool>(array.attr("is_neg")()))
    throw InvalidArgument(what_ + " is a conjugate or negative view: give resolve_conj().resolve_neg() of it");
  const nb::object device = array.attr("device");
  device_ = nb::cast<int>(device.attr("index"));
  const nb::object current = nb::module_::import_("torch.cuda").attr("current_stream")(device);
  stream_ = nb::cast<std::uintptr_t>(current.attr("cuda_stream"));
}

void ArrayView::read_dlpack(nb::handle array, Access access, const PythonBackend& backend) {
  const nb::object place = PyObject_HasAttrString(array.ptr(), "__dlpack_device__") != 0 && !backend.on_host()
                               ? array.attr("__dlpack_device__")()
                               : nb::object();
  nb::object exported = nb::borrow(array);
  if (place.is_valid() && nb::cast<int>(place[0]) != dlpack_cpu) {
    // The producer makes this stream wait for it; nothing can make the producer wait for us but the end of the call.
    const std::uintptr_t stream = backend.stream();
    exported = capsule_of(array, stream == 0 ? legacy_stream : stream);
  }
  // A capsule is good for one cast, but for one that fails for want of the right to write.
  if (nb::ndarray<> writable; access == Access::write && nb::try_cast(exported, writable, false))
    exported_ = nb::ndarray<nb::ro>(writable.handle());
  const bool fits = access == Access::read || exported_.is_valid();
  if (!exported_.is_valid() && !nb::try_cast(exported, exported_, false)) raise_not_exported(array, what_);
  if (!fits) throw InvalidArgument(what_ + " is read-only, and is to be written");
  data_ = const_cast<void*>(static_cast<const void*>(exported_.data()));
  type_ = exported_.dtype();
  const int device = exported_.device_type();
  if (device != dlpack_cpu && device != dlpack_cuda && device != dlpack_cuda_host && device != dlpack_cuda_managed)
    throw InvalidArgument(what_ + " lies on a device of DLPack's kind " + std::to_string(device) +
                          ", must be in host or CUDA memory");
  space_ = device == dlpack_cpu || device == dlpack_cuda_host ? MemorySpace::host : MemorySpace::device;
  if (device == dlpack_cuda) device_ = exported_.device_id();  // managed memory is that of all devices
  set_extents(static_cast<int>(exported_.ndim()), exported_.shape_ptr(), exported_.stride_ptr());
}

void ArrayView::set_extents(int dimensions, const std::int64_t* shape, const std::int64_t* strides) {
  dimensions_ = dimensions;
  if (dimensions > max_dimensions) return;  // require_dimensions() says so
  std::int64_t contiguous = 1;
  for (int k = dimensions - 1; k >= 0; --k) {
    const auto at = static_cast<std::size_t>(k);
    shape_[at] = shape[k];
    strides_[at] = strides != nullptr ? strides[k] : contiguous;
    contiguous *= shape[k];
  }
}

std::string ArrayView::shape_text() const { return tuple_text(shape_.data(), dimensions_); }
std::string ArrayView::strides_text() const { return tuple_text(strides_.data(), dimensions_); }

void ArrayView::require_type(nb::dlpack::dtype type) const {
  if (type_ != type) throw InvalidArgument(what_ + " is of " + text_of(type_) + ", must be of " + text_of(type));
}

bool ArrayView::is_of_wide_integers() const {
  if (type_ == nb::dtype<std::int64_t>()) return true;
  if (type_ != nb::dtype<std::int32_t>())
    throw InvalidArgument(what_ + " is of " + text_of(type_) + ", must be of int32 or int64");
  return false;
}

void ArrayView::require_dimensions(int dimensions) const {
  if (dimensions_ == dimensions) return;
  throw InvalidArgument(what_ + " has " + std::to_string(dimensions_) + " dimensions" +
                        (dimensions_ <= max_dimensions ? ", the shape " + shape_text() : "") + ", must have " +
                        std::to_string(dimensions));
}

void ArrayView::require_contiguous() const {
  std::int64_t contiguous = 1;
  bool empty = false;
  for (int k = 0; k < dimensions_; ++k) empty = empty || shape(k) == 0;
  for (int k = dimensions_ - 1; k >= 0 && !empty; --k) {
    if (shape(k) > 1 && stride(k) != contiguous)
      throw InvalidArgument(what_ + " has the strides " + strides_text() + " (in elements), must be contiguous");
    contiguous *= shape(k);
  }
}

void ArrayView::require_space(const PythonBackend& backend) const {
  if (space_ != backend.value().memory_space())
    throw InvalidArgument(what_ + " lies in " + to_string(space_) + " memory, the backend (" +
                          backend.value().description() + ") works in " + to_string(backend.value().memory_space()) +
                          " memory");
  require_device(backend);
}

void ArrayView::require_device(const PythonBackend& backend) const {
  if (device_ && !backend.on_host() && *device_ != backend.device())
    throw InvalidArgument(what_ + " lies on device " + std::to_string(*device_) + ", the backend (" +
                          backend.value().description() + ") works on device " + std::to_string(backend.device()));
}

void ArrayView::add_stream_to(CallerStreams& streams) const {
  if (space_ == MemorySpace::host) return;
  if (of_cupy_) {
    if (streams.has_cupys) return;
    static const Name ptr("ptr");
    nb::object current = cupy().current_stream();
    const auto stream = nb::cast<std::uintptr_t>(ptr.of(current));
    if (current.type().is(cupy().stream)) streams.kept = std::move(current);
    streams.add(stream == 0 ? legacy_stream : stream);
    streams.has_cupys = true;
  } else if (stream_)
    streams.add(*stream_);
  else
    streams.unknown = true;
}

ScalarType ArrayView::scalar() const {
  for (const ScalarType scalar : {ScalarType::s, ScalarType::d, ScalarType::c, ScalarType::z}) {
    const bool matches =
        with_scalar(scalar, [&](auto tag) { return type_ == nb::dtype<typename decltype(tag)::type>(); });
    if (matches) return scalar;
  }
  throw InvalidArgument(what_ + " is of " + text_of(type_) + ", must be of float32, float64, complex64 or complex128");
}

std::pair<Layout, offset_t> ArrayView::layout_of_rectangle() const {
  const std::int64_t rows = shape(0), cols = shape(1);
  if (cols > std::numeric_limits<index_t>::max())
    throw InvalidArgument(what_ + " has " + std::to_string(cols) + " columns, which do not fit in 32 bits");
  if (rows == 0 || cols == 0) return {Layout::row_major, std::max<offset_t>(cols, 1)};
  // Along an extent of one element the stride says nothing.
  if ((rows == 1 || stride(0) == 1) && (cols == 1 || stride(1) >= rows))
    return {Layout::column_major, cols == 1 ? rows : stride(1)};
  if ((cols == 1 || stride(1) == 1) && (rows == 1 || stride(0) >= cols))
    return {Layout::row_major, rows == 1 ? cols : stride(0)};
  throw InvalidArgument(what_ + " has the shape " + shape_text() + " and the strides " + strides_text() +
                        " (in elements): its rows or its columns must be contiguous and apart");
}

std::uintptr_t stream_of(nb::handle stream) {
  if (PyLong_Check(stream.ptr())) return nb::cast<std::uintptr_t>(stream);
  if (const nb::object protocol = attribute(stream, "__cuda_stream__"); protocol.is_valid()) {
    const nb::object pair = PyCallable_Check(protocol.ptr()) != 0 ? protocol() : protocol;
    return nb::cast<std::uintptr_t>(pair[1]);
  }
  for (const char* name : {"cuda_stream", "ptr"})  // of PyTorch, of CuPy
    if (const nb::object handle = attribute(stream, name); handle.is_valid()) return nb::cast<std::uintptr_t>(handle);
  throw nb::type_error(
      ("a stream must be one of CuPy or PyTorch, have __cuda_stream__ or be a handle, it is of the type " +
       nb::cast<std::string>(nb::str(nb::handle(stream.type()))))
          .c_str());
}

const char* numpy_name(ScalarType scalar) noexcept {
  switch (scalar) {
    case ScalarType::s: return "float32";
    case ScalarType::d: return "float64";
    case ScalarType::c: return "complex64";
    case ScalarType::z: break;
  }
  return "complex128";
}

}  // namespace blockjacobi::python
