//===- KeptColumns.h - Columns of heads that a product keeps ----*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_KEPTCOLUMNS_H
#define MTP_COMPILER_CODEGEN_ROWS_KEPTCOLUMNS_H

#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// Copies or rotates the columns of a row's head that `kernel` keeps.
void emitKeptColumns(KernelBuilder &kb, exec::HeadLinearKernelAttr kernel,
                     Value from, Value to, Value row);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_KEPTCOLUMNS_H
