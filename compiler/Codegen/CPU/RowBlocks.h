//===- RowBlocks.h - Blocks of rows against weight panels -------*- C++ -*-===//
//
// The walk of the engines that keep their sums in vector registers. A block of
// a few prepared rows meets a part of a panel, then the next block meets the
// same part while the next part is on its way; so memory and multiplications
// overlap, and a part is read again out of the L1 cache. Between parts the sums
// wait in scratch, behind the prepared rows.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_ROWBLOCKS_H
#define COMPILER_CODEGEN_CPU_ROWBLOCKS_H

#include "compiler/Codegen/CPU/PanelWalk.h"

namespace mtp::codegen {

class RowBlocks : public PanelWalk {
public:
  struct RowLimits {
    /// Rows of the largest block; the smaller ones are 1, 2, 3, 4, 5 and 6.
    int64_t perBlock;
    /// Rows that are prepared at once.
    int64_t perPass;
  };
  /// As many as there are registers for sums.
  static RowLimits limits(const TargetDesc &target) {
    return {target.lanes == 16 ? 8 : 4, 64};
  }
  /// Scratch for the prepared rows of a pass and their sums.
  static int64_t scratchBytes(int64_t rowBytes, int64_t rowsPerPass) {
    return rowsPerPass * (rowBytes + 2 * sumBytes);
  }

protected:
  struct Shape {
    /// What a prepared row takes in scratch.
    int64_t rowBytes;
    int64_t panelBytes;
    /// A panel is so many units, of so many bytes, and a rest that the engine
    /// knows of. A part is whole units.
    int64_t units, unitBytes;
  };
  RowBlocks(KernelBuilder &kb, const PanelMatmulSpec &spec, const Shape &shape,
            RowLimits limits);

  struct Part {
    /// Units of a panel.
    Value begin, end;
    /// Whether it is the panel's last part, which has the rest.
    Value last;
    /// Distance in bytes from the weights of a step to the lines that are asked
    /// for with it.
    Values ahead;
  };
  /// Adds the products of a block of `rows` prepared rows with a part of a half
  /// panel to `sums`, row after row.
  virtual Values multiply(Value panel, Value block, int64_t rows, int64_t half,
                          const Part &part, Values sums) = 0;

  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  /// Calls `body` with the rows (static), the first row and the prepared block
  /// of every row block. Blocks are of the most rows; the last one is of the
  /// smallest size that holds the rest.
  void forRowBlocks(Value rows,
                    llvm::function_ref<void(int64_t, Value, Value)> body);
  /// Asks for what a step at `weights` is to ask for.
  void prefetchAhead(Value weights, const Part &part);

  /// Sums of the first prepared row with panel `which` of the task.
  Value sumsOf(int64_t which) {
    return kb.at(kb.scratch(),
                 rowLimits.perPass * (shape.rowBytes + which * sumBytes));
  }

  /// Steps of k per loop iteration.
  static int64_t unroll(int64_t rows) { return rows == 1 ? 8 : 4; }
  /// Output vectors that are accumulated at once.
  static constexpr int64_t vectorsPerHalf = 2;
  /// A panel is walked once with 16 lanes, in two halves with 8.
  int64_t halves() const { return panelWidth / (vectorsPerHalf * kb.lanes()); }
  /// Bytes of one step of a half panel, four for each of its outputs.
  int64_t halfBytes() const { return vectorsPerHalf * kb.lanes() * 4; }

  const Shape shape;

private:
  /// Units of a part where there is more than one.
  int64_t partUnits() const;
  void clearSums(Value count);
  Values linesAhead(Value singleBlock, Value row);
  void multiplyBlock(Value group, Value task, int64_t blockRows, Value row,
                     Value block, const Part &part);

  const RowLimits rowLimits;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ROWBLOCKS_H
