#include "errors.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/error.hpp>

#include <nanobind/stl/string.h>

#include <new>
#include <string>

namespace blockjacobi::python {

namespace nb = nanobind;

namespace {

// cudaErrorMemoryAllocation, CUSPARSE_STATUS_ALLOC_FAILED; the former also stands for the latter in CudaError's code.
constexpr int cuda_out_of_memory = 2;

nb::object error_class(const char* name) { return nb::module_::import_("blockjacobi.errors").attr(name); }

void set_error(const char* name, const std::string& message) {
  const nb::object type = error_class(name);
  PyErr_SetString(type.ptr(), message.c_str());
}

void set_error_object(const nb::object& error) { PyErr_SetObject(error.type().ptr(), error.ptr()); }

nb::object range(index_t first, index_t size) {
  return nb::module_::import_("builtins").attr("range")(first, first + size);
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const SingularBlock& e) {
    set_error_object(error_class("SingularBlock")(e.what(), e.block(), range(e.first_row(), e.size()), e.info()));
  } catch (const InvalidArgument& e) {
    set_error("InvalidArgument", e.what());
  } catch (const BackendUnavailable& e) {
    set_error("BackendUnavailable", e.what());
  } catch (const Unavailable& e) {
    set_error("Unavailable", e.what());
  } catch (const CudaError& e) {
    if (e.code() == cuda_out_of_memory)
      set_error("OutOfMemory", e.what());
    else
      set_error_object(error_class("CudaError")(e.what(), e.code()));
  } catch (const Error& e) {
    set_error("Error", e.what());
  } catch (const std::bad_alloc&) {
    set_error("OutOfMemory", "there is not enough memory");
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

void raise_singular(const BlockDefect& defect, const char* function) {
  nb::object rows = range(defect.first_row, defect.size);
  if (!defect.original_rows.empty()) {
    nb::list own;
    for (const index_t row : defect.original_rows) own.append(row);
    rows = nb::tuple(own);
  }
  set_error_object(
      error_class("SingularBlock")(std::string(function) + ": " + describe(defect), defect.block, rows, defect.info));
  throw nb::python_error();
}

}  // namespace blockjacobi::python
