//===- RowBlocks.h - Blocks of rows against weight panels -------*- C++ -*-===//
//
// The walk of the matmuls that keep their sums in vector registers. A block is
// a few prepared rows. A panel is multiplied with every block of rows before
// the walk goes on to the next panel. The sums of a block go through scratch,
// from where whole rows are stored.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_ROWBLOCKS_H
#define COMPILER_CODEGEN_CPU_ROWBLOCKS_H

#include "compiler/Codegen/CPU/PanelWalk.h"

namespace mtp::codegen {

class RowBlocks : public PanelWalk {
public:
  struct RowLimits {
    /// Rows of a block where there are several.
    int64_t perBlock;
    /// Rows of the largest block that is the only one, at least as many.
    int64_t alone;
    /// Rows that are prepared at once.
    int64_t perPass;
  };
  /// Scratch for the prepared rows of a pass, of `rowBytes` each, and the sums
  /// of a block with the panels of a task.
  static int64_t scratchBytes(int64_t rowBytes, RowLimits limits) {
    return limits.perPass * rowBytes + 2 * limits.alone * sumBytes;
  }

protected:
  /// `rowBytes` is what a prepared row takes in scratch.
  RowBlocks(CpuBuilder &kb, const PanelMatmulSpec &spec, int64_t rowBytes,
            int64_t panelBytes, RowLimits limits);

  /// What is prefetched while a panel is multiplied with a block: with the
  /// weights at offset o of the panel, the line at `from` + o, or at `from` +
  /// (o >> `shift`) where `shift` is not null, into the caches from `level` on.
  struct Prefetch {
    Value from, shift;
    int level = 1;
  };
  /// The sums of a block of `rows` prepared rows with a panel, row after row.
  virtual Values multiply(Value panel, Prefetch prefetch, Value block,
                          int64_t rows) = 0;
  Value prefetchAt(Prefetch prefetch, Value offset);

  /// As many outputs of a panel as there are registers for their sums with a
  /// block of rows: with 16 lanes the whole panel. With 8 lanes a panel is cut
  /// along k into pieces that fit the first cache, and all strips go over one
  /// piece before the next, so that memory is read in order and only once.
  struct Strip {
    int64_t index, rows;
    /// Vectors of one row.
    int64_t vectors;
    /// From the start of a step of k to the strip's weights in it.
    int64_t bytes;
    /// Bytes that the strip prefetches in each of its steps: its share of a
    /// step, so that prefetches are spread over all strips of a piece.
    int64_t prefetchBytes;
  };
  int64_t stripCount(int64_t rows) const {
    return panelVectors() / stripVectors(rows);
  }
  /// Calls `body` with every strip and its sums; it returns the new sums.
  Values forStrips(ValueRange sums, int64_t rows,
                   llvm::function_ref<Values(Strip, ValueRange)> body);

  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  /// The same for the block behind `fullRows`, which may be the only one.
  void emitLastBlock(Value group, Value task, Value firstRow, Value count,
                     Value fullRows);

  using BlockBody = llvm::function_ref<void(int64_t, Value, Value)>;
  /// Calls `body` with the rows (static), the first row and the prepared block
  /// of every block: those of the most rows, and then the last one. Rows that
  /// are one block have only that.
  void forRowBlocks(Value rows, BlockBody body);
  void forFullBlocks(Value fullRows, BlockBody body);
  /// Of the smallest size that holds what lies behind the full blocks.
  void forLastBlock(Value rows, Value fullRows, BlockBody body);
  /// The rows of the blocks before the last one.
  Value fullRowsOf(Value rows);

  /// Steps of k per loop iteration.
  static int64_t unroll(int64_t rows) { return rows == 1 ? 8 : 4; }
  /// Vectors of the sums of one row with a panel.
  int64_t panelVectors() const { return panelWidth / kb.lanes(); }

  const int64_t rowBytes;
  const RowLimits rowLimits;

private:
  /// Few rows leave registers for more outputs, and need them: a sum waits for
  /// the multiplication before.
  int64_t stripVectors(int64_t rows) const {
    return rows <= 2 ? panelVectors() : 2;
  }
  Prefetch prefetchOfFull(Value panel, Value row, Value fullRows);
  void emitBlock(Value group, Value task, int64_t blockRows, Value block,
                 llvm::function_ref<Prefetch(Value)> prefetchOfPanel);

  /// Sums of a block's first row with the task's first panel.
  Value blockSums() {
    return kb.at(kb.scratch(), rowLimits.perPass * rowBytes);
  }
  /// From a block's sums with the first panel to those with the second one.
  int64_t blockSumsBytes() const { return rowLimits.alone * sumBytes; }
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_ROWBLOCKS_H
