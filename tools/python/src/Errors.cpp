//===- Errors.cpp - Failures as exceptions of Python ----------------------===//

#include "tools/python/src/Errors.h"
#include "tools/python/src/Gil.h"

#include <string>

using namespace mtp;
namespace nb = nanobind;

void python::check(const Status &status) {
  if (!status.isOk())
    throw StatusError(status);
}

nb::object python::exceptionOf(const Status &status) {
  // A message may have the bytes of a path that is not UTF-8.
  std::string_view message = status.message();
  auto text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), Py_ssize_t(message.size()), "backslashreplace"));
  return nb::module_::import_("mtpc.errors")
      .attr("from_status")(std::string(toString(status.code())).c_str(), text);
}

void python::registerErrors() {
  nb::register_exception_translator(
      [](const std::exception_ptr &pointer, void *) {
        try {
          std::rethrow_exception(pointer);
        } catch (const StatusError &error) {
          nb::object exception = exceptionOf(error.get());
          PyErr_SetObject(exception.type().ptr(), exception.ptr());
        }
      });
}

bool python::Signals::haveRaised() {
  if (WithoutGil::mustEnd())
    return true;
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0)
    return false;
  error = std::make_exception_ptr(nb::python_error());
  return true;
}

void python::Signals::rethrow() const {
  if (error)
    std::rethrow_exception(error);
}
