//===- Module.cpp - mtpc._core --------------------------------------------===//
//
// The extension has the types of the C++ interface with plain values. The
// package adds the types for people.
//
//===----------------------------------------------------------------------===//

#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Gil.h"

using namespace mtp;

NB_MODULE(_core, module) {
  module.attr("version") = MTP_VERSION;
  python::WithoutGil::watchForks();
  module.def("end", &python::WithoutGil::end);
  python::registerErrors();
  python::bindModel(module);
  python::bindSession(module);
  python::bindText(module);
}
