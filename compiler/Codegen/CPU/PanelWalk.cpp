//===- PanelWalk.cpp - Walking rows and weight panels ---------------------===//

#include "compiler/Codegen/CPU/PanelWalk.h"

#include "compiler/Codegen/CPU/MathApprox.h"

using namespace mtp::codegen;

/// How far ahead of the multiplications weights are asked for: what one core
/// streams in twice the latency of memory. At 512 bytes eight rows of bf16 took
/// 1.4 times one row's time, at 8 KiB 1.1 times.
static constexpr int64_t prefetchBytes = 8192;

int64_t mtp::codegen::panelTasks(int64_t n, bool gated) {
  int64_t outputs = gated ? n / 2 : n;
  return (outputs + PanelWalk::panelWidth - 1) / PanelWalk::panelWidth;
}

PanelWalk::PanelWalk(KernelBuilder &kb, const PanelMatmulSpec &spec,
                     int64_t rowBytes, int64_t panelBytes)
    : kb(kb), spec(spec), rowBytes(rowBytes), maxRows(kb.lanes() == 16 ? 8 : 4),
      panelBytes(panelBytes), tasksPerGroup(panelTasks(spec.n, spec.gated)) {}

Value PanelWalk::panelPointer(Value group, Value panel) {
  int64_t panels = tasksPerGroup * (spec.gated ? 2 : 1);
  return kb.at(kb.at(spec.weights, group, panels * panelBytes), panel,
               panelBytes);
}

void PanelWalk::prefetchStep(Value weights) {
  for (int64_t line = 0; line < halfBytes(); line += 64)
    kb.prefetch(kb.at(weights, prefetchBytes + line));
}

void PanelWalk::forRowBlocks(
    Value rows, llvm::function_ref<void(int64_t, Value, Value)> body) {
  Value fullRows = kb.mul(kb.div(rows, maxRows), maxRows);
  auto blockAt = [&](Value row) { return kb.at(kb.scratch(), row, rowBytes); };
  kb.forRange(kb.integer(0), fullRows, maxRows,
              [&](Value row) { body(maxRows, row, blockAt(row)); });
  Value rest = kb.sub(rows, fullRows);
  static constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8};
  int64_t least = 0;
  for (int64_t size : sizes) {
    if (size > maxRows)
      break;
    Value fits =
        kb.bitAnd(kb.cmp(Cmp::GT, rest, least), kb.cmp(Cmp::LE, rest, size));
    // A rest of maxRows is a full block.
    if (least + 1 < maxRows)
      kb.ifThen(fits, [&] { body(size, fullRows, blockAt(fullRows)); });
    least = size;
  }
}

/// All outputs of one task for one block of rows.
void PanelWalk::emitBlock(Value group, Value task, Value firstRow,
                          Value rowsLeft, int64_t blockRows, Value block) {
  int64_t outputs = spec.gated ? spec.n / 2 : spec.n;
  Value panel = panelPointer(group, spec.gated ? kb.mul(task, 2) : task);
  for (int64_t half = 0; half < halves(); ++half) {
    Values sums = multiply(panel, block, blockRows, half);
    if (spec.gated) {
      Value upPanel = panelPointer(group, kb.add(kb.mul(task, 2), 1));
      Values up = multiply(upPanel, block, blockRows, half);
      for (auto [sum, factor] : llvm::zip(sums, up))
        sum = kb.mul(emitSilu(kb, sum), factor);
    }
    for (int64_t r = 0; r < blockRows; ++r)
      kb.ifThen(kb.cmp(Cmp::GT, rowsLeft, r), [&] {
        for (int64_t v = 0; v < vectorsPerHalf; ++v) {
          int64_t offset = (half * vectorsPerHalf + v) * kb.lanes();
          Value column = kb.add(kb.mul(task, panelWidth), offset);
          Value mask;
          if (outputs % panelWidth != 0)
            mask =
                kb.prefixMask(kb.sub(kb.integer(outputs), column), kb.lanes());
          spec.store(group, kb.add(firstRow, r), column,
                     sums[r * vectorsPerHalf + v], mask);
        }
      });
  }
}

void PanelWalk::emitPass(Value group, Value firstRow, Value rows) {
  auto limit = [&](Value value, int64_t most) {
    return kb.min(value, kb.integer(most));
  };
  Value count = limit(kb.sub(rows, firstRow), rowsPerPass);
  prepare(group, firstRow, count, rows);
  Value groupBegin =
      spec.taskSpansGroups ? kb.integer(0) : kb.mul(group, tasksPerGroup);
  Value begin = kb.max(kb.sub(kb.taskBegin(), groupBegin), kb.integer(0));
  Value end = limit(kb.sub(kb.taskEnd(), groupBegin), tasksPerGroup);
  kb.forRange(begin, end, 1, [&](Value task) {
    forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
      emitBlock(group, task, kb.add(firstRow, row), kb.sub(count, row),
                blockRows, block);
    });
  });
}

void PanelWalk::emitGroup(Value group) {
  Value rows = spec.rowCount(group);
  kb.forRange(kb.integer(0), rows, rowsPerPass,
              [&](Value firstRow) { emitPass(group, firstRow, rows); });
}

void PanelWalk::emit() {
  if (spec.taskSpansGroups)
    return kb.forRange(kb.integer(0), kb.integer(spec.groups), 1,
                       [&](Value group) { emitGroup(group); });
  Value first = kb.div(kb.taskBegin(), tasksPerGroup);
  Value end = kb.div(kb.add(kb.taskEnd(), tasksPerGroup - 1), tasksPerGroup);
  kb.forRange(first, end, 1, [&](Value group) { emitGroup(group); });
}
