//===- QuantizedMatmul.h - Rows times panels of integers --------*- C++ -*-===//
//
// The matmul of weights in int8 and int4. Rows are quantised too, group by
// group of their inputs, so that a group's dot product is one of integers and
// exact; what is left for floats is one chain over the groups:
//
//   sum = fma(float(dot(group)) * rowScale(group), weightScale(group), sum)
//
// Its order depends on the width alone, so that a row has the same bits in
// every block of rows, and on every instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_QUANTIZEDMATMUL_H
#define COMPILER_CODEGEN_CPU_QUANTIZEDMATMUL_H

#include "compiler/Codegen/CPU/RowBlocks.h"
#include "runtime/schema/QuantizedPanel.h"

namespace mtp::codegen {

/// Bytes in scratch of one row of `k` values.
int64_t quantizedRowBytes(int64_t k, const WeightFormat &format,
                          const TargetDesc &target);
/// Scratch for rows of `k` values.
int64_t quantizedScratchBytes(int64_t k, const WeightFormat &format,
                              const TargetDesc &target);
/// Emits the loop over the caller's tasks; the spec's format is quantised.
void emitQuantizedMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec);

/// Sums in vector registers. QuantizedTiles.h is what targets with tiles have
/// for more rows.
class QuantizedMatmul : public RowBlocks {
public:
  QuantizedMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec,
                  RowLimits limits);

protected:
  void prepare(Value group, Value firstRow, Value count, Value rows) override;
  Values multiply(Value weights, Prefetch prefetch, Value block,
                  int64_t rows) override;

  /// The four bytes of low halves and those of high halves, as bytes.
  std::pair<Value, Value> splitNibbles(Value bytes);
  /// The number at `offset` of a prepared row for a group, in all lanes.
  Value ofRow(Value row, int64_t offset, Value group, mlir::Type type);
  mlir::VectorType byteVector() {
    return kb.vectorType(kb.i8Type(), 4 * kb.lanes());
  }

  const QuantizedPanel panel;
  /// Whether rows are kept as i16.
  const bool wide;
  /// Where the scales and the starts of a prepared row are.
  const int64_t scalesOffset, startsOffset;

private:
  void forGroups(llvm::function_ref<void(Value, int64_t)> body);
  void prepareGroup(Value from, Value inverse, Value to, Value group,
                    int64_t inputs);
  void storeBytes(Value bytes, Value to);
  Values addGroup(ValueRange sums, Value weights, Prefetch prefetch,
                  Value block, Value group, int64_t inputs, Strip strip);
  Values addScaled(ValueRange sums, ValueRange products, Value scales,
                   Value block, Value group, Strip strip);
  Values addSteps(ValueRange acc, Value weights, Value x, int64_t steps,
                  Strip strip, llvm::function_ref<void(int64_t)> prefetchFor);
  void addStep(Values &acc, Value weights, Value x, Strip strip);
  std::pair<Value, Value> operandsOf(Value bytes);
  /// The dot products of a few weights of each output with those inputs of a
  /// row, which are somewhere at `x`, added to `acc` where that is not null.
  Value dot(Value acc, Value weights, Value x);
  Value load(Value x, mlir::Type type);

  mlir::VectorType wordVector() {
    return kb.vectorType(kb.i16Type(), 2 * kb.lanes());
  }
  /// Bytes of an input of a prepared row.
  int64_t inputBytes() const { return wide ? 2 : 1; }
  /// Inputs of one step: those of four bytes per output.
  int64_t stepInputs() const { return 32 / panel.bits; }
  /// Whether products come as i16, two of them added up: those of int4 without
  /// an instruction that adds up four.
  bool inPairs() const { return panel.bits == 4 && !kb.getTarget().byteDot; }
  int64_t stepsPerLoop(int64_t rows) const;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_QUANTIZEDMATMUL_H
