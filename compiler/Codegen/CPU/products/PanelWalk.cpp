//===- PanelWalk.cpp - Walking rows and weight panels ---------------------===//

#include "compiler/Codegen/CPU/products/PanelWalk.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include "compiler/Codegen/Rows/RowNorm.h"

using namespace mtp::codegen;

int64_t mtp::codegen::panelTasks(int64_t n, bool gated) {
  int64_t outputs = gated ? n / 2 : n;
  return (outputs + PanelWalk::panelWidth - 1) / PanelWalk::panelWidth;
}

PanelWalk::PanelWalk(CpuBuilder &kb, const PanelMatmulSpec &spec,
                     int64_t panelBytes, int64_t rowsPerPass)
    : kb(kb), spec(spec), panelBytes(panelBytes), rowsPerPass(rowsPerPass),
      tasksPerGroup(panelTasks(spec.n, spec.gated)) {}

Value PanelWalk::inverseRms(Value from) {
  return spec.normWeight ? emitInverseRms(kb, from, spec.k, spec.eps) : Value();
}

Value PanelWalk::loadInputs(Value from, Value inverse, Value index,
                            Value mask) {
  Value x = kb.load(kb.f32Vector(), kb.at(from, index, 4), mask);
  if (!spec.normWeight)
    return x;
  Value weight =
      kb.load(kb.f32Vector(), kb.at(spec.normWeight, index, 4), mask);
  return emitScaleByNorm(kb, x, inverse, weight, spec.normOffset);
}

Value PanelWalk::panelPointer(Value group, Value task, int64_t which) {
  int64_t taskBytes = panelsPerTask() * panelBytes;
  Value ofGroup = kb.at(spec.weights, group, tasksPerGroup * taskBytes);
  return kb.at(kb.at(ofGroup, task, taskBytes), which * panelBytes);
}

void PanelWalk::prefetch(Value weights, int64_t bytes) {
  kb.prefetch(kb.at(weights, prefetchDistance()), bytes);
}

void PanelWalk::storeRows(Value group, Value task, Value firstRow, Value count,
                          Value sums, int64_t panelSumsBytes) {
  int64_t outputs = spec.gated ? spec.n / 2 : spec.n;
  kb.forRange(kb.integer(0), count, 1, [&](Value row) {
    llvm::SmallVector<OutputVector> vectors;
    for (int64_t first = 0; first < panelWidth; first += kb.lanes()) {
      auto ofPanel = [&](int64_t which) {
        Value from = kb.at(sums, which * panelSumsBytes + first * 4);
        return kb.load(kb.f32Vector(), kb.at(from, row, sumBytes));
      };
      Value result = ofPanel(0);
      if (spec.gated)
        result = emitGated(kb, spec.activation, result, ofPanel(1));
      Value column = kb.add(kb.mul(task, panelWidth), first), mask;
      if (outputs % panelWidth != 0)
        mask = kb.prefixMask(kb.sub(kb.integer(outputs), column), kb.lanes());
      vectors.push_back({column, result, mask});
    }
    spec.store(group, kb.add(firstRow, row), vectors);
  });
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
  kb.forRange(begin, end, 1,
              [&](Value task) { emitTask(group, task, firstRow, count); });
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
