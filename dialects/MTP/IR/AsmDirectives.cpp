//===- AsmDirectives.cpp - Custom parts of the assembly -------------------===//

#include "dialects/MTP/IR/AsmDirectives.h"

using namespace mlir;
using namespace mlir::mtp;

ParseResult mtp::parseAttentionOperands(OpAsmParser &parser,
                                        UnresolvedOperand &q,
                                        UnresolvedOperand &k,
                                        std::optional<UnresolvedOperand> &v,
                                        UnresolvedOperand &rows) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<UnresolvedOperand> operands;
  if (parser.parseOperandList(operands)) {
    return failure();
  }
  if (operands.size() != 3 && operands.size() != 4) {
    return parser.emitError(loc,
                            "expected query, key, optional value and rows, "
                            "got ")
           << operands.size() << " operands";
  }
  q = operands[0];
  k = operands[1];
  if (operands.size() == 4) {
    v = operands[2];
  }
  rows = operands.back();
  return success();
}

void mtp::printAttentionOperands(OpAsmPrinter &printer, Operation *, Value q,
                                 Value k, Value v, Value rows) {
  printer << q << ", " << k << ", ";
  if (v) {
    printer << v << ", ";
  }
  printer << rows;
}

ParseResult mtp::parseOptionalFirst(OpAsmParser &parser,
                                    std::optional<UnresolvedOperand> &first,
                                    UnresolvedOperand &second) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<UnresolvedOperand> operands;
  if (parser.parseOperandList(operands)) {
    return failure();
  }
  if (operands.empty() || operands.size() > 2) {
    return parser.emitError(loc, "expected one or two operands, got ")
           << operands.size();
  }
  if (operands.size() == 2) {
    first = operands.front();
  }
  second = operands.back();
  return success();
}

void mtp::printOptionalFirst(OpAsmPrinter &printer, Operation *, Value first,
                             Value second) {
  if (first) {
    printer << first << ", ";
  }
  printer << second;
}
