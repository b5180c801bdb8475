//===- QuantizedMatmul.h - Rows times panels of integers --------*- C++ -*-===//
//
// The matmul of weights of integers. Rows are quantised too, group by group of
// their inputs. A group's dot product is one of integers and therefore exact.
// Only one chain over the groups uses floats, with its second line for formats
// with offsets:
//
//   sum = fma(float(dot(group)) * rowScale(group), weightScale(group), sum)
//   sum = fma(float(rowSum(group)) * rowScale(group), offset(group), sum)
//
// All formats share this code. A format differs in the operands of a step and
// in the reader of scales.
//
// The order of the chain depends on the width alone. A row therefore has equal
// bits in every block of rows and on every instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_QUANTIZEDMATMUL_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_QUANTIZEDMATMUL_H

#include "compiler/Codegen/CPU/products/RowBlocks.h"
#include "compiler/Codegen/Rows/GroupScales.h"
#include "runtime/schema/QuantizedPanel.h"

namespace mtp::codegen {

/// Returns the scratch bytes of one row of `k` values.
int64_t quantizedRowBytes(int64_t k, const WeightFormat &format,
                          const TargetDesc &target);
/// Returns the scratch bytes for rows of `k` values, multiplied without tiles.
int64_t quantizedScratchBytes(int64_t k, const WeightFormat &format,
                              const TargetDesc &target);
/// Emits the loop over the caller's tasks, without tiles. Precondition: the
/// spec's format is quantised.
void emitQuantizedMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec);

/// Integer matmul with sums in vector registers. Targets with tiles multiply
/// more than a few rows in QuantizedTiles.h.
class QuantizedMatmul : public RowBlocks {
public:
  QuantizedMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec,
                  RowLimits limits);

protected:
  void prepare(Value group, Value firstRow, Value count, Value rows) override;
  void getReady(Value weights, Value ready) override;
  Values multiply(Value weights, Value ready, Prefetch prefetch, Value block,
                  int64_t rows) override;

  /// Splits bytes into their low and high halves, as bytes.
  std::pair<Value, Value> splitNibbles(Value bytes);
  /// Returns a group's number at `offset` of a prepared row, in all lanes.
  Value ofRow(Value row, int64_t offset, Value group, mlir::Type type);
  mlir::VectorType byteVector() {
    return kb.vectorType(kb.i8Type(), 4 * kb.lanes());
  }

  const QuantizedPanel panel;
  /// True if rows are kept as i16.
  const bool wide;
  /// Offsets of the scales and of the accumulators' starts in a prepared row.
  const int64_t scalesOffset, startsOffset;

private:
  /// Place of a group of weights.
  struct Group {
    /// Header of its block, and the block's offset in the panel.
    Value header, blockOffset;
    /// Scales and offsets of all groups of the panel, or null.
    Value ready;
    /// Inputs of the block.
    int64_t blockInputs = 0;
    /// Numbers of the group in its block and in the panel.
    Value inBlock, number;
    int64_t inputs = 0;
  };

  void forGroups(llvm::function_ref<void(Value, int64_t)> body);
  void prepareGroup(Value from, Value inverse, Value to, Value group,
                    int64_t inputs);
  void storeBytes(Value bytes, Value to);
  using AddGroup = llvm::function_ref<Values(ValueRange, const Group &)>;
  Values addBlock(ValueRange sums, Value weights, Value ready, Value block,
                  int64_t inputs, AddGroup add);
  Values addPanel(ValueRange sums, Value weights, Value ready, AddGroup add);
  Values addGroup(ValueRange sums, Prefetch prefetch, Value block,
                  const Group &group, Strip strip);
  int64_t headerLines(const Group &group) const;
  void prefetchHeader(Prefetch prefetch, const Group &group, Value offset,
                      Strip strip);
  GroupScales loadScales(const Group &group, int64_t first);
  Values addScaled(ValueRange sums, ValueRange products, Value block,
                   const Group &group, Strip strip);
  Values addSteps(ValueRange acc, Value weights, Value x, int64_t steps,
                  Strip strip, llvm::function_ref<void(int64_t)> prefetchFor);
  llvm::SmallVector<Values> loadStep(Value weights, Strip strip);
  void addOperands(Values &acc, ValueRange operands, Value x, Strip strip);
  Values operandsOf(ValueRange words);
  Values bytesOf(ValueRange words);
  Value addHighBits(Value operand, Value highBits, int64_t i);
  /// Multiplies a few weights of each output with the inputs of a row at `x`.
  /// Adds the dot products to `acc` if it is not null.
  Value dot(Value acc, Value weights, Value x);
  Value load(Value x, mlir::Type type);

  mlir::VectorType wordVector() {
    return kb.vectorType(kb.i16Type(), 2 * kb.lanes());
  }
  /// Returns the bytes of an input of a prepared row.
  int64_t inputBytes() const { return wide ? 2 : 1; }
  /// Returns the bytes of a step's inputs in a prepared row.
  int64_t stepBytesOfRow() const { return panel.stepInputs() * inputBytes(); }
  /// Returns whether products are sums of two as i16: for small operands
  /// without an instruction that adds up four.
  bool inPairs() const { return !wide && !kb.getTarget().byteDot; }
  int64_t stepsPerLoop(int64_t rows) const;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_QUANTIZEDMATMUL_H
