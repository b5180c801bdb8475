//===- AsmDirectives.h - Custom parts of the assembly -----------*- C++ -*-===//
//
// What the assembly formats of the exec dialect's ops call, beside what those
// of mtp call. Only the sources of generated parsers and printers include this.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_ASMDIRECTIVES_H
#define MTP_DIALECTS_EXEC_IR_ASMDIRECTIVES_H

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/MTP/IR/AsmDirectives.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::exec {

class ProgramOp;

/// `8`, `n`, `3 * n` or `1 + 3 * n`.
ParseResult parseCount(AsmParser &parser, Count &count);
ParseResult parseCount(OpAsmParser &parser, CountAttr &attr);
void printCount(OpAsmPrinter &printer, Operation *op, CountAttr attr);

/// What ` at 64 + 128 * n rows n` says of an alloc.
ParseResult parsePlace(OpAsmParser &parser, CountAttr &offset, CountAttr &rows);
void printPlace(OpAsmPrinter &printer, Operation *op, CountAttr offset,
                CountAttr rows);

/// What ` first n` says of a reference.
ParseResult parseFirst(OpAsmParser &parser, CountAttr &first);
void printFirst(OpAsmPrinter &printer, Operation *op, CountAttr first);

/// `[3 * n, 8]`
ParseResult parseCounts(OpAsmParser &parser, ArrayAttr &counts);
void printCounts(OpAsmPrinter &printer, Operation *op, ArrayAttr counts);

/// What `k 2 n 1 to 256` says of a program, and nothing of a function.
ParseResult parsePoints(OpAsmParser &parser, IntegerAttr &k, IntegerAttr &least,
                        IntegerAttr &most);
void printPoints(OpAsmPrinter &printer, ProgramOp program, IntegerAttr k,
                 IntegerAttr least, IntegerAttr most);

/// `[[solo, all], [all]]`, stage by stage.
ParseResult parseStages(OpAsmParser &parser, DenseI8ArrayAttr &steps);
void printStages(OpAsmPrinter &printer, Operation *op, DenseI8ArrayAttr steps);

/// The clause ` init -1` of a state, whose elements are those of its type.
ParseResult parseBufferInit(OpAsmParser &parser, TypedAttr &init,
                            TypeAttr type);
void printBufferInit(OpAsmPrinter &printer, Operation *op, TypedAttr init,
                     TypeAttr type);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_ASMDIRECTIVES_H
