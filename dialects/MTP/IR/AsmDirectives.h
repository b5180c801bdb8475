//===- AsmDirectives.h - Custom parts of the assembly ---------*- C++ -*-===//
//
// Operand lists whose optional member follows from the number of operands, and
// the clauses of mtp.state. Include this header only beside the generated
// parsers and printers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_MTP_IR_ASMDIRECTIVES_H
#define MTP_DIALECTS_MTP_IR_ASMDIRECTIVES_H

#include "dialects/MTP/IR/MTPAttrs.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::mtp {

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// Parse and print `q, k, v, rows`, or `q, k, rows` without a value operand.
ParseResult parseAttentionOperands(OpAsmParser &parser, UnresolvedOperand &q,
                                   UnresolvedOperand &k,
                                   std::optional<UnresolvedOperand> &v,
                                   UnresolvedOperand &rows);
void printAttentionOperands(OpAsmPrinter &printer, Operation *op, Value q,
                            Value k, Value v, Value rows);

/// Parse and print `first, second`, or `second` alone.
ParseResult parseOptionalFirst(OpAsmParser &parser,
                               std::optional<UnresolvedOperand> &first,
                               UnresolvedOperand &second);
void printOptionalFirst(OpAsmPrinter &printer, Operation *op, Value first,
                        Value second);

/// Parse and print ` [-1, 0, 0]`, or nothing for no parents.
ParseResult parseStaticTree(OpAsmParser &parser, DenseI64ArrayAttr &tree);
void printStaticTree(OpAsmPrinter &printer, Operation *op,
                     DenseI64ArrayAttr tree);

/// Parse and print `[max_k + 1, 192]`, or nothing for no extents.
ParseResult parseExtents(OpAsmParser &parser, ArrayAttr &extents);
void printExtents(OpAsmPrinter &printer, Operation *op, ArrayAttr extents);

/// Parse and print ` init -1`, or nothing.
ParseResult parseStateInit(OpAsmParser &parser, TypedAttr &init,
                           TypeAttr elementType);
void printStateInit(OpAsmPrinter &printer, Operation *op, TypedAttr init,
                    TypeAttr elementType);

/// Parse and print ` rebuild rows 2`, ` rebuild tokens`, ` rebuild never`, or
/// nothing for one row.
ParseResult parseRebuild(OpAsmParser &parser, RebuildAttr &rebuild,
                         IntegerAttr &rows);
void printRebuild(OpAsmPrinter &printer, Operation *op, RebuildAttr rebuild,
                  IntegerAttr rows);

/// Parse and print `(slots, drafts)`, or nothing.
ParseResult parseRuleArguments(OpAsmParser &parser, ArrayAttr &arguments);
void printRuleArguments(OpAsmPrinter &printer, Operation *op,
                        ArrayAttr arguments);

/// Parse and print ` rows 3`, ` rows %count`, or nothing for one row.
ParseResult parseRowCount(OpAsmParser &parser, IntegerAttr &rows,
                          std::optional<UnresolvedOperand> &count);
void printRowCount(OpAsmPrinter &printer, Operation *op, IntegerAttr rows,
                   Value count);

/// Types of decays and betas: `type`, or `type, type` if the two differ.
ParseResult parseGateTypes(OpAsmParser &parser, Type &decay, Type &beta);
void printGateTypes(OpAsmPrinter &printer, Operation *op, Type decay,
                    Type beta);

/// Types of mtp.pack: one type of tokens, or the types of tokens and of prompt
/// tokens, an arrow, and the type of both together.
ParseResult parsePackTypes(OpAsmParser &parser, Type &tokens, Type &promptRows,
                           Type &promptTokens, Type &packed, Type &places,
                           Type &promptPlaces);
void printPackTypes(OpAsmPrinter &printer, Operation *op, Type tokens,
                    Type promptRows, Type promptTokens, Type packed,
                    Type places, Type promptPlaces);

/// Parse and print ` seeing %masks`. The error for the older clause with
/// parents shows this form.
ParseResult parseSeenMasks(OpAsmParser &parser, UnresolvedOperand &masks);
void printSeenMasks(OpAsmPrinter &printer, Operation *op, Value masks);

/// Parse and print ` to %to`. The error for the older clause with a path and a
/// count shows this form.
ParseResult parseMovedTo(OpAsmParser &parser, UnresolvedOperand &to);
void printMovedTo(OpAsmPrinter &printer, Operation *op, Value to);

/// Parse and print a region of an isolated op. Its values may have names that
/// values outside of it also have.
ParseResult parseOwnNames(OpAsmParser &parser, Region &region);
void printOwnNames(OpAsmPrinter &printer, Operation *op, Region &region);

/// Heads as regions. If each head applies a function to the arguments of its
/// region: a list, `[@a, @b] (tensor<?x64xf32>, !mtp.rows) ->
/// tensor<?x112xf32>`.
ParseResult parseHeads(OpAsmParser &parser,
                       SmallVectorImpl<std::unique_ptr<Region>> &heads);
void printHeads(OpAsmPrinter &printer, Operation *op, RegionRange heads);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_ASMDIRECTIVES_H
