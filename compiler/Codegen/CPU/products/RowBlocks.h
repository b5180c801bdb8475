//===- RowBlocks.h - Blocks of rows against weight panels -------*- C++ -*-===//
//
// The walk of the matmuls that keep their sums in vector registers. A block is
// a few prepared rows. A panel is multiplied with every block of rows before
// the walk goes on to the next panel. The sums of a block go through scratch,
// and whole rows are stored from there.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_ROWBLOCKS_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_ROWBLOCKS_H

#include "compiler/Codegen/CPU/products/PanelWalk.h"

namespace mtp::codegen {

class RowBlocks : public PanelWalk {
public:
  struct RowLimits {
    /// Rows of a block if there are several blocks.
    int64_t perBlock;
    /// Limit on the rows of a single block; at least `perBlock`.
    int64_t alone;
    /// Rows that are prepared at once.
    int64_t perPass;
  };
  /// Returns the scratch bytes for the prepared rows of a pass, of `rowBytes`
  /// each, for the sums of a block with the panels of a task, and for
  /// `readyBytes` of each of these panels.
  static int64_t scratchBytes(int64_t rowBytes, RowLimits limits,
                              int64_t readyBytes = 0) {
    return limits.perPass * rowBytes +
           2 * (limits.alone * sumBytes + readyBytes);
  }

protected:
  /// Creates a walk. `rowBytes` is the scratch of a prepared row. `readyBytes`
  /// is the scratch that getReady() fills for a panel.
  RowBlocks(CpuBuilder &kb, const PanelMatmulSpec &spec, int64_t rowBytes,
            int64_t panelBytes, RowLimits limits, int64_t readyBytes = 0);

  /// Prefetch during the multiplication of a panel with a block. For weights at
  /// offset o of the panel it fetches the cache line at `from` + o. If `shift`
  /// is not null, it fetches the line at `from` + (o >> `shift`). The caches
  /// from `level` outwards are filled.
  struct Prefetch {
    Value from, shift;
    int level = 1;
  };
  /// Computes what all full blocks of rows need of a panel, and stores it at
  /// `ready`.
  virtual void getReady(Value panel, Value ready) {}
  /// Returns the sums of a block of `rows` prepared rows with a panel, row
  /// after row. `ready` has the result of getReady(); it is null for the block
  /// after the full blocks.
  virtual Values multiply(Value panel, Value ready, Prefetch prefetch,
                          Value block, int64_t rows) = 0;
  Value prefetchAt(Prefetch prefetch, Value offset);

  /// Outputs of a panel whose sums with a block of rows fit in registers. With
  /// 16 lanes a strip is the whole panel. With 8 lanes a panel is cut along k
  /// into pieces that fit the L1 cache. All strips are multiplied over one
  /// piece before the next, so that memory is read once and in order.
  struct Strip {
    int64_t index, rows;
    /// Vectors of one row.
    int64_t vectors;
    /// Bytes from the start of a step of k to the strip's weights.
    int64_t bytes;
    /// Bytes that the strip prefetches in each of its steps: its share of a
    /// step, so that prefetches are spread over all strips of a piece.
    int64_t prefetchBytes;
  };
  int64_t stripCount(int64_t rows) const {
    return panelVectors() / stripVectors(rows);
  }
  /// Calls `body` with every strip and its sums. `body` returns the new sums.
  Values forStrips(ValueRange sums, int64_t rows,
                   llvm::function_ref<Values(Strip, ValueRange)> body);

  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  /// Computes and stores the block after `fullRows`, which may be the only one.
  void emitLastBlock(Value group, Value task, Value firstRow, Value count,
                     Value fullRows);

  using BlockBody = llvm::function_ref<void(int64_t, Value, Value)>;
  /// Calls `body` with the number of rows (static), the first row and the
  /// prepared block of every block: full blocks first, then the last block. If
  /// all rows fit in one block, it is the last block.
  void forRowBlocks(Value rows, BlockBody body);
  void forFullBlocks(Value fullRows, BlockBody body);
  /// Calls `body` for the rows after the full blocks, with the smallest block
  /// size that holds them.
  void forLastBlock(Value rows, Value fullRows, BlockBody body);
  /// Returns the number of rows in the blocks before the last one.
  Value fullRowsOf(Value rows);

  /// Returns the steps of k per loop iteration.
  static int64_t unroll(int64_t rows) { return rows == 1 ? 8 : 4; }
  /// Returns the vectors of the sums of one row with a panel.
  int64_t panelVectors() const { return panelWidth / kb.lanes(); }

  const int64_t rowBytes;
  const RowLimits rowLimits;

private:
  /// Returns the vectors of a strip. Few rows leave registers for more outputs.
  /// They also need more outputs, because a sum waits for its previous product.
  int64_t stripVectors(int64_t rows) const {
    return rows <= 2 ? panelVectors() : 2;
  }
  Prefetch prefetchOfFull(Value panel, Value row, Value fullRows);
  void emitBlock(Value group, Value task, int64_t blockRows, Value block,
                 bool isReady,
                 llvm::function_ref<Prefetch(Value)> prefetchOfPanel);

  /// Returns the sums of a block's first row with the task's first panel.
  Value blockSums() {
    return kb.at(kb.scratch(), rowLimits.perPass * rowBytes);
  }
  /// Returns the bytes from a block's sums with the first panel to the sums
  /// with the second.
  int64_t blockSumsBytes() const { return rowLimits.alone * sumBytes; }
  /// Returns the place of getReady()'s result for a panel of the task.
  Value readyPanel(int64_t which) {
    return kb.at(blockSums(), 2 * blockSumsBytes() + which * readyBytes);
  }

  const int64_t readyBytes;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_ROWBLOCKS_H
