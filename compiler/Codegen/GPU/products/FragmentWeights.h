//===- FragmentWeights.h - Weights in the form of tensor cores --*- C++ -*-===//
//
// Loads a chunk of a tile of 16 outputs from memory to the registers of
// mma.sync, 16 bytes of a lane at once, and multiplies it there.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTWEIGHTS_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTWEIGHTS_H

#include "compiler/Codegen/GPU/products/FragmentShape.h"

namespace mtp::codegen {

class FragmentWeights {
public:
  FragmentWeights(GpuBuilder &kb, const FragmentShape &shape)
      : kb(kb), shape(shape) {}

  /// Loads a warp's part of a chunk of tile `tile` (0 or 1) of a panel.
  Values load(Value panel, Value tile, Value chunk);
  /// Returns zeros of the types that `load` returns.
  Values none();
  int64_t count() const;

  /// Returns the sums (four f32 of each lane) plus the products of a chunk.
  /// `operands` has the words of the rows for each unit. For integers,
  /// `rowScales` has the scales of the lane's two columns.
  Values multiply(ValueRange held, llvm::ArrayRef<Values> operands,
                  ValueRange rowScales, ValueRange sums);

private:
  Values loadIntegers(Value from, Value isFull);
  Values unitOf(ValueRange held, int64_t unit);
  Values multiplyIntegers(ValueRange held, llvm::ArrayRef<Values> operands,
                          ValueRange rowScales, ValueRange sums);

  GpuBuilder &kb;
  const FragmentShape shape;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTWEIGHTS_H
