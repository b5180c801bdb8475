//===- FragmentWeights.h - Weights as tensor cores take them ----*- C++ -*-===//
//
// A chunk of a tile of 16 outputs goes from memory to the registers of
// mma.sync, 16 bytes of a lane at once, and is multiplied there.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTWEIGHTS_H
#define COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTWEIGHTS_H

#include "compiler/Codegen/GPU/products/FragmentShape.h"

namespace mtp::codegen {

class FragmentWeights {
public:
  FragmentWeights(GpuBuilder &kb, const FragmentShape &shape)
      : kb(kb), shape(shape) {}

  /// A warp's part of a chunk of tile `tile` (0 or 1) of a panel.
  Values load(Value panel, Value tile, Value chunk);
  /// Values of the types of `load`.
  Values none();
  int64_t count() const;

  /// The sums (four f32 of each lane) plus the products of a chunk; `operands`
  /// gives the rows' words of a unit, `rowScales` are those of the lane's two
  /// columns, of integers.
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

#endif // COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTWEIGHTS_H
