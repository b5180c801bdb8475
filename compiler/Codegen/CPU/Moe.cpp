//===- Moe.cpp - Products of experts --------------------------------------===//
//
// A pair is (row, j): row's j-th expert, numbered row * top_k + j. Pairs are
// sorted by expert, so that an expert's weights are read once per step however
// many rows it has, and not at all when it has none.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/CPU/PanelMatmul.h"

using namespace mtp::codegen;

/// The pairs of the experts as rows of a panel matmul.
static void emitExperts(CpuBuilder &kb, PanelMatmulSpec &spec, int64_t topK,
                        Value expertStart, Value pairs,
                        llvm::function_ref<Value(Value)> rowOf, Value y,
                        int64_t yStride) {
  // Starts and pairs are numbers in memory: they stay among the pairs.
  Value count = kb.mul(kb.param(0), topK);
  auto startAt = [&](Value expert) {
    return kb.clampIndex(kb.loadI32(expertStart, expert), kb.add(count, 1));
  };
  auto pairAt = [&](Value expert, Value row) {
    Value place = kb.clampIndex(kb.add(startAt(expert), row), count);
    return kb.clampIndex(kb.loadI32(pairs, place), count);
  };
  auto rowCount = [&](Value expert) {
    return kb.sub(startAt(kb.add(expert, 1)), startAt(expert));
  };
  auto rowPointer = [&](Value expert, Value row) {
    return rowOf(pairAt(expert, row));
  };
  auto store = [&](Value expert, Value row,
                   llvm::ArrayRef<OutputVector> outputs) {
    Value to = kb.at(y, pairAt(expert, row), yStride * 4);
    for (const OutputVector &output : outputs)
      kb.store(output.values, kb.at(to, output.column, 4), output.mask);
  };
  spec.taskSpansGroups = true;
  spec.rowCount = rowCount;
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitPanelMatmul(kb, spec);
}

/// buffers: x, W, expert start, pairs, act. params: M.
static void emitMoeGateUp(CpuBuilder &kb, const KernelConfig &config) {
  int64_t k = config.integer("k"), inter = config.integer("inter");
  int64_t xStride = config.integer("x_stride", k);
  PanelMatmulSpec spec;
  spec.k = k;
  spec.n = 2 * inter;
  spec.format = config.weightFormat();
  spec.gated = true;
  spec.groups = config.integer("experts");
  spec.weights = kb.buffer(1);
  auto rowOf = [&](Value pair) {
    Value row = kb.div(pair, config.integer("top_k"));
    return kb.at(kb.buffer(0), row, xStride * 4);
  };
  emitExperts(kb, spec, config.integer("top_k"), kb.buffer(2), kb.buffer(3),
              rowOf, kb.buffer(4), inter);
}

/// buffers: act, W, expert start, pairs, down. params: M.
static void emitMoeDown(CpuBuilder &kb, const KernelConfig &config) {
  int64_t k = config.integer("k"), n = config.integer("n");
  PanelMatmulSpec spec;
  spec.k = k;
  spec.n = n;
  spec.format = config.weightFormat();
  spec.groups = config.integer("experts");
  spec.weights = kb.buffer(1);
  auto rowOf = [&](Value pair) { return kb.at(kb.buffer(0), pair, k * 4); };
  emitExperts(kb, spec, config.integer("top_k"), kb.buffer(2), kb.buffer(3),
              rowOf, kb.buffer(4), n);
}

static int64_t scratchBytes(const KernelConfig &config,
                            const TargetDesc &target) {
  return panelScratchBytes(config.integer("k"), config.weightFormat(), target);
}

static const KernelEmitter kinds[] = {
    {"moe_gate_up", emitMoeGateUp, scratchBytes},
    {"moe_down", emitMoeDown, scratchBytes}};

llvm::ArrayRef<KernelEmitter> mtp::codegen::moeKernels() { return kinds; }
