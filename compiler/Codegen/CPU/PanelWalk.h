//===- PanelWalk.h - Walking rows and weight panels -------------*- C++ -*-===//
//
// What the matmuls of all weight formats share: which tasks of which matrix a
// caller has, so many rows at a time, gating and the stores. An engine says how
// rows are prepared in scratch and how they are multiplied by a task's panels.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_PANELWALK_H
#define COMPILER_CODEGEN_CPU_PANELWALK_H

#include "compiler/Codegen/CPU/PanelMatmul.h"

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
  /// The sums of one row with one panel.
  static constexpr int64_t sumBytes = panelWidth * 4;

protected:
  /// Prepares `count` rows of a group, the first of them `firstRow`; the group
  /// has `rows`.
  virtual void prepare(Value group, Value firstRow, Value count,
                       Value rows) = 0;
  /// Computes and stores all outputs of a task for `count` prepared rows, the
  /// first of them `firstRow` of the group.
  virtual void emitTask(Value group, Value task, Value firstRow,
                        Value count) = 0;

  /// The scale that the norm gives the row at `from`; null without a norm.
  Value inverseRms(Value from);
  /// One vector of a row, normed, from input `index` on.
  Value loadInputs(Value from, Value inverse, Value index, Value mask = {});

  /// Panels of one task: two when gated, gate and up.
  int64_t panelsPerTask() const { return spec.gated ? 2 : 1; }
  Value panelPointer(Value group, Value task, int64_t which);
  /// The outputs of a task of `count` rows from `firstRow` on. At `sums` are
  /// those of the rows with the task's first panel, `panelSumsBytes` behind
  /// them those with the second one.
  void storeRows(Value group, Value task, Value firstRow, Value count,
                 Value sums, int64_t panelSumsBytes);

  /// Prefetches the `bytes` that lie `prefetchDistance` behind `weights`.
  void prefetch(Value weights, int64_t bytes);
  /// How far ahead of the multiplications weights are prefetched: what one core
  /// reads in twice the latency of memory. At 512 bytes eight rows of bf16 took
  /// 1.4 times one row's time, at 8 KiB 1.1 times.
  static constexpr int64_t prefetchDistance = 8192;

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

#endif // COMPILER_CODEGEN_CPU_PANELWALK_H
