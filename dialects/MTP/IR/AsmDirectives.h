//===- AsmDirectives.h - Custom parts of the assembly ---------*- C++ -*-===//
//
// Operand lists whose optional member is told by the number of operands, and
// the clauses of mtp.state. Only what includes the generated parsers and
// printers includes this.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_MTP_IR_ASMDIRECTIVES_H
#define DIALECTS_MTP_IR_ASMDIRECTIVES_H

#include "dialects/MTP/IR/MTPAttrs.h"
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

/// ` [-1, 0, 0]`, or nothing for no parents.
ParseResult parseStaticTree(OpAsmParser &parser, DenseI64ArrayAttr &tree);
void printStaticTree(OpAsmPrinter &printer, Operation *op,
                     DenseI64ArrayAttr tree);

/// `[max_k + 1, 192]`, or nothing for no extents.
ParseResult parseExtents(OpAsmParser &parser, ArrayAttr &extents);
void printExtents(OpAsmPrinter &printer, Operation *op, ArrayAttr extents);

/// ` init -1`, or nothing.
ParseResult parseStateInit(OpAsmParser &parser, TypedAttr &init,
                           TypeAttr elementType);
void printStateInit(OpAsmPrinter &printer, Operation *op, TypedAttr init,
                    TypeAttr elementType);

/// ` rebuild rows 2`, ` rebuild tokens`, ` rebuild never`, or nothing for one
/// row.
ParseResult parseRebuild(OpAsmParser &parser, RebuildAttr &rebuild,
                         IntegerAttr &rows);
void printRebuild(OpAsmPrinter &printer, Operation *op, RebuildAttr rebuild,
                  IntegerAttr rows);

/// `(slots, drafts)`, or nothing.
ParseResult parseRuleArguments(OpAsmParser &parser, ArrayAttr &arguments);
void printRuleArguments(OpAsmPrinter &printer, Operation *op,
                        ArrayAttr arguments);

/// ` rows 3`, ` rows %count`, or nothing for one row.
ParseResult parseRowCount(OpAsmParser &parser, IntegerAttr &rows,
                          std::optional<UnresolvedOperand> &count);
void printRowCount(OpAsmPrinter &printer, Operation *op, IntegerAttr rows,
                   Value count);

/// Of decays and betas: `type`, or where they differ `type, type`.
ParseResult parseGateTypes(OpAsmParser &parser, Type &decay, Type &beta);
void printGateTypes(OpAsmPrinter &printer, Operation *op, Type decay,
                    Type beta);

/// A type of tokens, or those of tokens and of prompts' tokens and behind an
/// arrow that of both together.
ParseResult parsePackTypes(OpAsmParser &parser, Type &tokens, Type &promptRows,
                           Type &promptTokens, Type &packed, Type &places,
                           Type &promptPlaces);
void printPackTypes(OpAsmPrinter &printer, Operation *op, Type tokens,
                    Type promptRows, Type promptTokens, Type packed,
                    Type places, Type promptPlaces);

/// ` seeing %masks`. What had parents in its place is told how it is written.
ParseResult parseSeenMasks(OpAsmParser &parser, UnresolvedOperand &masks);
void printSeenMasks(OpAsmPrinter &printer, Operation *op, Value masks);

/// ` to %to`. What had a path and a count is told how it is written.
ParseResult parseMovedTo(OpAsmParser &parser, UnresolvedOperand &to);
void printMovedTo(OpAsmPrinter &printer, Operation *op, Value to);

/// A region of an isolated op, whose values may have names that others have
/// outside.
ParseResult parseOwnNames(OpAsmParser &parser, Region &region);
void printOwnNames(OpAsmPrinter &printer, Operation *op, Region &region);

/// Heads as regions, or as a list where each applies a function to what it
/// takes: `[@a, @b] (tensor<?x64xf32>, !mtp.rows) -> tensor<?x112xf32>`.
ParseResult parseHeads(OpAsmParser &parser,
                       SmallVectorImpl<std::unique_ptr<Region>> &heads);
void printHeads(OpAsmPrinter &printer, Operation *op, RegionRange heads);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_ASMDIRECTIVES_H
