//===- PanelWalk.h - Walking rows and weight panels -------------*- C++ -*-===//
//
// Code that the matmuls of all weight formats share: the caller's tasks of each
// matrix, passes over a limited number of rows, gating and the stores. An
// engine defines the preparation of rows in scratch and their multiplication
// with a task's panels.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELWALK_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELWALK_H

#include "compiler/Codegen/CPU/products/PanelSpec.h"

namespace mtp::codegen {

class PanelWalk {
public:
  PanelWalk(CpuBuilder &kb, const PanelMatmulSpec &spec, int64_t panelBytes,
            int64_t rowsPerPass);
  virtual ~PanelWalk() = default;

  /// Emits the loop over the caller's tasks.
  virtual void emit();

  static constexpr int64_t panelWidth = kPanelWidth;
  /// Distance in a panel between the weights of an output in one step of k and
  /// in the next: four bytes of each output.
  static constexpr int64_t stepBytes = panelWidth * 4;
  /// Bytes of the sums of one row with one panel.
  static constexpr int64_t sumBytes = panelWidth * 4;

protected:
  /// Prepares `count` rows of a group, from row `firstRow` on. The group has
  /// `rows` rows.
  virtual void prepare(Value group, Value firstRow, Value count,
                       Value rows) = 0;
  /// Computes and stores all outputs of a task for `count` prepared rows, from
  /// row `firstRow` of the group on.
  virtual void emitTask(Value group, Value task, Value firstRow,
                        Value count) = 0;

  /// Returns the scale of the norm for the row at `from`; null without a norm.
  Value inverseRms(Value from);
  /// Loads one vector of a row, normed, from input `index` on.
  Value loadInputs(Value from, Value inverse, Value index, Value mask = {});

  /// Returns the number of panels of one task: two (gate and up) if gated, else
  /// one.
  int64_t panelsPerTask() const { return spec.gated ? 2 : 1; }
  Value panelPointer(Value group, Value task, int64_t which);
  /// Stores the outputs of a task for `count` rows from `firstRow` on. `sums`
  /// points to the sums of the rows with the task's first panel. The sums with
  /// the second panel follow `panelSumsBytes` later.
  void storeRows(Value group, Value task, Value firstRow, Value count,
                 Value sums, int64_t panelSumsBytes);

  /// Prefetches the `bytes` that lie `prefetchDistance()` after `weights`.
  void prefetch(Value weights, int64_t bytes);
  /// Returns the distance in bytes between multiplication and prefetch.
  int64_t prefetchDistance() const { return kb.getTarget().prefetchBytes; }

  CpuBuilder &kb;
  const PanelMatmulSpec &spec;
  const int64_t panelBytes;

private:
  void emitGroup(Value group);
  void emitPass(Value group, Value firstRow, Value rows);

  /// Rows that are prepared at once; a longer input streams the weights again.
  const int64_t rowsPerPass;
  const int64_t tasksPerGroup;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELWALK_H
