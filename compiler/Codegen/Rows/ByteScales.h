//===- ByteScales.h - Scales that are stored as one byte --------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_BYTESCALES_H
#define MTP_COMPILER_CODEGEN_ROWS_BYTESCALES_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Returns the scales of bytes, which are extended to i32: all lanes, or one.
/// `scales` is E8M0 or E4M3.
Value emitByteScale(KernelBuilder &kb, WeightScales scales, Value bytes);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_BYTESCALES_H
