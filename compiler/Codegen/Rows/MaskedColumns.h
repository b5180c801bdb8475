//===- MaskedColumns.h - Columns of a row that bits allow -------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_MASKEDCOLUMNS_H
#define MTP_COMPILER_CODEGEN_ROWS_MASKEDCOLUMNS_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Copies a row of f32 from `x` to `y`, which may be the same memory. A column
/// whose bit in `words` is 0 becomes -infinity.
void emitMaskedColumns(KernelBuilder &kb, Value words, Value x, Value y,
                       int64_t width);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_MASKEDCOLUMNS_H
