//===- Moe.cpp - Products of experts --------------------------------------===//
//
// A pair is (row, j): row's j-th expert, numbered row * top_k + j. Pairs are
// sorted by expert, so that an expert's weights are read once per step however
// many rows it has, and not at all when it has none.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/CPU/Linear.h"

using namespace mtp::codegen;

/// The pairs of the experts as rows of a panel matmul.
template <typename KernelT>
static void emitExperts(CpuBuilder &kb, KernelT kernel,
                        llvm::function_ref<Value(Value)> rowOf,
                        int64_t yStride) {
  PanelMatmulSpec spec = matmulSpec(expertMatrix(kernel));
  spec.groups = kernel.getExperts();
  spec.weights = kb.buffer(1);
  Value expertStart = kb.buffer(2), pairs = kb.buffer(3), y = kb.buffer(4);
  // Starts and pairs are numbers in memory: they stay among the pairs.
  Value count = kb.mul(kb.param(0), kernel.getTopK());
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
static void emitMoeGateUp(CpuBuilder &kb, exec::MoeGateUpKernelAttr kernel) {
  int64_t xStride = strideOr(kernel.getXStride(), kernel.getK());
  auto rowOf = [&](Value pair) {
    Value row = kb.div(pair, kernel.getTopK());
    return kb.at(kb.buffer(0), row, xStride * 4);
  };
  emitExperts(kb, kernel, rowOf, kernel.getInter());
}

/// buffers: act, W, expert start, pairs, down. params: M.
static void emitMoeDown(CpuBuilder &kb, exec::MoeDownKernelAttr kernel) {
  auto rowOf = [&](Value pair) {
    return kb.at(kb.buffer(0), pair, kernel.getK() * 4);
  };
  emitExperts(kb, kernel, rowOf, kernel.getN());
}

static const KernelEmitter kinds[] = {
    kernelEmitter(emitMoeGateUp, productScratchBytes<exec::MoeGateUpKernelAttr>,
                  verifyOnCpu<exec::MoeGateUpKernelAttr>),
    kernelEmitter(emitMoeDown, productScratchBytes<exec::MoeDownKernelAttr>,
                  verifyOnCpu<exec::MoeDownKernelAttr>)};

llvm::ArrayRef<KernelEmitter> mtp::codegen::moeKernels() { return kinds; }
