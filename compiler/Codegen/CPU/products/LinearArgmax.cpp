//===- LinearArgmax.cpp - Projection and argmax without logits ------------===//
//
// A greedy row needs only the best of a head's logits. A task has 32 of them in
// registers, and writes their best value and its index: the winner of the
// panel. `argmax_parts` compares the winners. If there is a buffer for logits,
// logits are also written, except in slots whose logits are not read.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/builder/KernelTable.h"
#include "compiler/Codegen/CPU/products/Linear.h"
#include "compiler/Codegen/CPU/products/PanelWalk.h"
#include "compiler/Codegen/Rows/Argmax.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

namespace {

/// Winners of panels, [row][panel].
struct PartWinners {
  CpuBuilder &kb;
  Value values, indices;
  int64_t parts;

  /// Stores the winner of a row's outputs in one panel.
  void store(Value row, llvm::ArrayRef<OutputVector> candidates);
};

} // namespace

void PartWinners::store(Value row, llvm::ArrayRef<OutputVector> candidates) {
  Best lanes = noBest(kb, kb.f32Vector(), kb.i32Vector());
  for (const OutputVector &vector : candidates) {
    Value first = kb.splat(kb.truncate(vector.column, kb.i32Type()));
    Value index = kb.add(kb.iota(kb.lanes()), first);
    lanes = betterOf(kb, {vector.values, index}, lanes, vector.mask);
  }
  Best best = bestLane(kb, lanes);

  Value part = kb.div(candidates.front().column, PanelWalk::panelWidth);
  auto at = [&](Value base) {
    return kb.at(kb.at(base, row, parts * 4), part, 4);
  };
  kb.store(best.value, at(values));
  kb.store(best.index, at(indices));
}

/// Buffers: x, [norm weight], W, [bias], [slots, sampling], values, indices,
/// [logits]. Params: M.
static void emitLinearArgmax(CpuBuilder &kb,
                             exec::LinearArgmaxKernelAttr kernel) {
  ProductParams params(kernel);
  int64_t n = kernel.getN();
  bool hasLogits = kernel.getLogits();

  ProjectionBuffers buffers(kb, params);
  int64_t next = buffers.next;
  Value slots = hasLogits ? kb.buffer(next++) : Value();
  Value sampling = hasLogits ? kb.buffer(next++) : Value();
  Value values = kb.buffer(next++), indices = kb.buffer(next++);
  Value logits = hasLogits ? kb.buffer(next++) : Value();
  Value rows = kb.param(0);
  PartWinners winners{kb, values, indices, panelTasks(n, /*gated=*/false)};

  PanelMatmulSpec spec = projectionSpec(buffers, params);
  auto rowCount = [&](Value) { return rows; };
  auto rowPointer = [&](Value, Value row) {
    return kb.at(buffers.x, row, params.xStride * 4);
  };
  auto store = [&](Value, Value row, llvm::ArrayRef<OutputVector> sums) {
    llvm::SmallVector<OutputVector> outputs(sums);
    for (OutputVector &output : outputs)
      output.values = addBias(kb, buffers.bias, output);
    winners.store(row, outputs);
    if (!hasLogits)
      return;
    Value slot = kb.clampIndex(kb.loadI32(slots, row), kernel.getSlots());
    kb.ifThen(readsLogits(kb, sampling, slot), [&] {
      Value to = kb.at(logits, row, n * 4);
      for (const OutputVector &output : outputs)
        kb.store(output.values, kb.at(to, output.column, 4), output.mask);
    });
  };
  spec.rowCount = rowCount;
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitPanelMatmul(kb, spec);
}

static const KernelEmitter kinds[] = {kernelEmitter(
    emitLinearArgmax, productScratchBytes<exec::LinearArgmaxKernelAttr>,
    verifyOnCpu<exec::LinearArgmaxKernelAttr>)};

llvm::ArrayRef<KernelEmitter> codegen::linearArgmaxKernels() { return kinds; }
