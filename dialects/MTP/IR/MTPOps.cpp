//===- MTPOps.cpp - Code shared by the ops --------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"

using namespace mlir;
using namespace mlir::mtp;

std::string mlir::mtp::resolveWeightKey(StringRef prefix, StringRef key) {
  if (key.starts_with("/"))
    return key.str();
  return (prefix + key).str();
}

#include "dialects/MTP/IR/MTPInterfaces.cpp.inc"
