//===- AsmDirectives.h - Custom parts of the assembly -----------*- C++ -*-===//
//
// Directives for the assembly formats of the exec dialect's ops, which also use
// the directives of the mtp dialect. Only generated parsers and printers
// include this file.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_ASMDIRECTIVES_H
#define MTP_DIALECTS_EXEC_IR_ASMDIRECTIVES_H

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/MTP/IR/AsmDirectives.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::exec {

class ProgramOp;

/// Parse and print `8`, `n`, `3 * n` or `1 + 3 * n`.
ParseResult parseCount(AsmParser &parser, Count &count);
ParseResult parseCount(OpAsmParser &parser, CountAttr &attr);
void printCount(OpAsmPrinter &printer, Operation *op, CountAttr attr);

/// Parse and print the clause ` at 64 + 128 * n rows n` of an alloc.
ParseResult parsePlace(OpAsmParser &parser, CountAttr &offset, CountAttr &rows);
void printPlace(OpAsmPrinter &printer, Operation *op, CountAttr offset,
                CountAttr rows);

/// Parse and print the clause ` first n` of a reference.
ParseResult parseFirst(OpAsmParser &parser, CountAttr &first);
void printFirst(OpAsmPrinter &printer, Operation *op, CountAttr first);

/// Parse and print `[3 * n, 8]`.
ParseResult parseCounts(OpAsmParser &parser, ArrayAttr &counts);
void printCounts(OpAsmPrinter &printer, Operation *op, ArrayAttr counts);

/// Parse and print the clause `k 2 n 1 to 256` of a program; a function has
/// none.
ParseResult parsePoints(OpAsmParser &parser, IntegerAttr &k, IntegerAttr &least,
                        IntegerAttr &most);
void printPoints(OpAsmPrinter &printer, ProgramOp program, IntegerAttr k,
                 IntegerAttr least, IntegerAttr most);

/// Parse and print `[[solo, all], [all]]`, stage by stage.
ParseResult parseStages(OpAsmParser &parser, DenseI8ArrayAttr &steps);
void printStages(OpAsmPrinter &printer, Operation *op, DenseI8ArrayAttr steps);

/// Parse and print the clause ` init -1` of a state, parsed as an element of
/// its type.
ParseResult parseBufferInit(OpAsmParser &parser, TypedAttr &init,
                            TypeAttr type);
void printBufferInit(OpAsmPrinter &printer, Operation *op, TypedAttr init,
                     TypeAttr type);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_ASMDIRECTIVES_H
