//===- PanelWalk.h - Walking rows and weight panels -------------*- C++ -*-===//
//
// What the matmuls of all weight formats share: which tasks of which matrix a
// caller has, 64 rows at a time, the blocks of rows that a panel meets, gating
// and the stores. A format says how rows are prepared in scratch and how a
// block of them is multiplied by a panel.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_PANELWALK_H
#define COMPILER_CODEGEN_CPU_PANELWALK_H

#include "compiler/Codegen/CPU/PanelMatmul.h"

namespace mtp::codegen {

class PanelWalk {
public:
  /// `rowBytes` is what a prepared row takes in scratch.
  PanelWalk(KernelBuilder &kb, const PanelMatmulSpec &spec, int64_t rowBytes,
            int64_t panelBytes);
  virtual ~PanelWalk() = default;

  /// Emits the loop over the caller's tasks.
  void emit();

  static constexpr int64_t panelWidth = 32;
  /// Rows that are prepared at once; a longer input streams the weights again.
  static constexpr int64_t rowsPerPass = 64;

protected:
  /// Prepares `count` rows of a group, the first of them `firstRow`; the group
  /// has `rows`.
  virtual void prepare(Value group, Value firstRow, Value count,
                       Value rows) = 0;
  /// The sums of a block of `rows` prepared rows with one half panel, row after
  /// row.
  virtual Values multiply(Value panel, Value block, int64_t rows,
                          int64_t half) = 0;

  /// Calls `body` with the rows (static), the first row and the prepared block
  /// of every row block. Blocks are of maxRows; the last one is of the smallest
  /// size that holds the rest.
  void forRowBlocks(Value rows,
                    llvm::function_ref<void(int64_t, Value, Value)> body);
  /// Asks for the weights ahead of `weights`, one step of a half panel.
  void prefetchStep(Value weights);

  /// Steps of k per loop iteration.
  static int64_t unroll(int64_t rows) { return rows == 1 ? 8 : 4; }
  /// Output vectors that are accumulated at once.
  static constexpr int64_t vectorsPerHalf = 2;
  /// A panel is walked once with 16 lanes, in two halves with 8.
  int64_t halves() const { return panelWidth / (vectorsPerHalf * kb.lanes()); }
  /// Bytes of one step of a half panel, four for each of its outputs.
  int64_t halfBytes() const { return vectorsPerHalf * kb.lanes() * 4; }

  KernelBuilder &kb;
  const PanelMatmulSpec &spec;
  const int64_t rowBytes;

private:
  void emitGroup(Value group);
  void emitPass(Value group, Value firstRow, Value rows);
  void emitBlock(Value group, Value task, Value firstRow, Value rowsLeft,
                 int64_t blockRows, Value block);
  Value panelPointer(Value group, Value panel);

  const int64_t maxRows;
  const int64_t panelBytes;
  const int64_t tasksPerGroup;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_PANELWALK_H
