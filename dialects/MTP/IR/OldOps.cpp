//===- OldOps.cpp - Errors for ops that have new names --------------------===//

#include "dialects/MTP/IR/OldOps.h"

#include "mlir/IR/OpImplementation.h"
#include "runtime/schema/OldNames.h"

using namespace mlir;

static ParseResult refuse(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  // The message begins with "custom op 'NAME' ".
  return parser.emitError(parser.getNameLoc(), "is now '")
         << StringRef(::mtp::newNameOfOp(name)) << "'";
}

std::optional<Dialect::ParseOpHook> mlir::mtp::parserOfOldOp(StringRef name) {
  if (::mtp::newNameOfOp(name).empty())
    return std::nullopt;
  return refuse;
}
