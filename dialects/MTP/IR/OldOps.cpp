//===- OldOps.cpp - Errors for ops that have new names --------------------===//

#include "dialects/MTP/IR/OldOps.h"

#include "mlir/IR/OpImplementation.h"
#include "runtime/schema/OldNames.h"

using namespace mlir;

static ParseResult refuse(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  return parser.emitError(parser.getNameLoc(), "unknown op '")
         << name << "': it is now '" << StringRef(::mtp::newNameOfOp(name))
         << "'";
}

std::optional<Dialect::ParseOpHook> mlir::mtp::parserOfOldOp(StringRef name) {
  if (::mtp::newNameOfOp(name).empty())
    return std::nullopt;
  return refuse;
}
