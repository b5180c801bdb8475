//===- AsmDirectives.h - Custom parts of the assembly ---------*- C++ -*-===//
//
// Two operand lists whose optional member is told by the number of operands.
// Only the generated parsers and printers include this.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_MTP_IR_ASMDIRECTIVES_H
#define DIALECTS_MTP_IR_ASMDIRECTIVES_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::mtp {

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// `q, k, v, rows`, or `q, k, rows` without a value operand.
ParseResult parseAttentionOperands(OpAsmParser &parser, UnresolvedOperand &q,
                                   UnresolvedOperand &k,
                                   std::optional<UnresolvedOperand> &v,
                                   UnresolvedOperand &rows);
void printAttentionOperands(OpAsmPrinter &printer, Operation *op, Value q,
                            Value k, Value v, Value rows);

/// `first, second`, or `second` alone.
ParseResult parseOptionalFirst(OpAsmParser &parser,
                               std::optional<UnresolvedOperand> &first,
                               UnresolvedOperand &second);
void printOptionalFirst(OpAsmPrinter &printer, Operation *op, Value first,
                        Value second);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_ASMDIRECTIVES_H
