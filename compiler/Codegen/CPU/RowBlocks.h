//===- RowBlocks.h - Blocks of rows against weight panels -------*- C++ -*-===//
//
// The walk of the engines that keep their sums in vector registers: a block of
// a few prepared rows meets a panel, then the next block meets the same panel.
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

protected:
  /// `rowBytes` is what a prepared row takes in scratch.
  RowBlocks(KernelBuilder &kb, const PanelMatmulSpec &spec, int64_t rowBytes,
            int64_t panelBytes, RowLimits limits);

  /// The sums of a block of `rows` prepared rows with one half panel, row after
  /// row.
  virtual Values multiply(Value panel, Value block, int64_t rows,
                          int64_t half) = 0;

  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  /// Calls `body` with the rows (static), the first row and the prepared block
  /// of every row block. Blocks are of maxRows; the last one is of the smallest
  /// size that holds the rest.
  void forRowBlocks(Value rows,
                    llvm::function_ref<void(int64_t, Value, Value)> body);

  /// Steps of k per loop iteration.
  static int64_t unroll(int64_t rows) { return rows == 1 ? 8 : 4; }
  /// Output vectors that are accumulated at once.
  static constexpr int64_t vectorsPerHalf = 2;
  /// A panel is walked once with 16 lanes, in two halves with 8.
  int64_t halves() const { return panelWidth / (vectorsPerHalf * kb.lanes()); }
  /// Bytes of one step of a half panel, four for each of its outputs.
  int64_t halfBytes() const { return vectorsPerHalf * kb.lanes() * 4; }

  const int64_t rowBytes;

private:
  void emitBlock(Value group, Value task, Value firstRow, Value count,
                 int64_t blockRows, Value row, Value block);

  const int64_t maxRows;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ROWBLOCKS_H
