//===- MTPOps.cpp - Generated definitions, and what ops share -------------===//

#include "dialects/MTP/IR/MTPOps.h"

#include "dialects/MTP/IR/AsmDirectives.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::mtp;

std::string mtp::resolveWeightKey(StringRef prefix, StringRef key) {
  if (key.starts_with("/"))
    return key.str();
  return (prefix + key).str();
}

#include "dialects/MTP/IR/MTPInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/MTP/IR/MTPOps.cpp.inc"
