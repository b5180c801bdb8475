//===- Bindings.h - The parts of mtpc._core ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_BINDINGS_H
#define MTP_TOOLS_PYTHON_SRC_BINDINGS_H

#include <nanobind/nanobind.h>

namespace mtp::python {

void bindModel(nanobind::module_ &module);
void bindSession(nanobind::module_ &module);
void bindText(nanobind::module_ &module);

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_BINDINGS_H
