//===- Ports.cpp - What a function takes ----------------------------------===//

#include "runtime/exec/program/Ports.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

Status mtp::checkInput(const PortType &port, std::string_view which,
                       const TensorType &type, uint64_t bytes) {
  if (type != port.type)
    return invalidArgument(strCat(which, ": expected ", toString(port.type),
                                  ", got ", toString(type)));
  uint64_t expected = elementCount(type) * elementBytes(type.element);
  if (bytes != expected)
    return invalidArgument(
        strCat(which, ": expected ", expected, " bytes, got ", bytes));
  return okStatus();
}
