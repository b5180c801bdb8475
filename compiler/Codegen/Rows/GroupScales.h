//===- GroupScales.h - Scales and offsets of groups of weights --*- C++ -*-===//
//
// Reads the headers of panels (QuantizedPanel.h). The places of a group's
// numbers, and the scale and offset that follow from them, are described here
// once for all targets. A target loads the numbers for its lanes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_GROUPSCALES_H
#define MTP_COMPILER_CODEGEN_ROWS_GROUPSCALES_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// A number of each output in a block's header.
struct ScaleField {
  enum Kind { F32, F16, Word, Byte, SignedByte };

  Kind kind;
  /// Place of the first output's number. If each group has one, it is the place
  /// of the first group's numbers.
  int64_t at;

  bool isOfGroup() const { return kind == Byte || kind == SignedByte; }
  /// Returns the bytes of a number.
  int64_t bytes() const;
};

/// Returns the numbers that give a group's scale and offset, in a block of
/// `blockInputs`.
llvm::SmallVector<ScaleField, 4> scaleFields(const QuantizedPanel &panel,
                                             int64_t blockInputs);

/// Returns the place of a number in a header. `inBlock` is the number of the
/// group in its block, and `output` the number of the output in the panel.
Value placeOfField(KernelBuilder &kb, const ScaleField &field, Value header,
                   Value inBlock, Value output);

struct GroupScales {
  /// The offset is null if the format has none.
  Value scale, offset;
};

/// Returns the scales and offsets of a group from the numbers of scaleFields():
/// f32 for F32 and F16, i32 for others. They belong to one output, or to
/// several outputs as a vector.
GroupScales emitGroupScales(KernelBuilder &kb, const QuantizedPanel &panel,
                            Value inBlock, ValueRange numbers);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_GROUPSCALES_H
