//===- LinearArgmax.cpp - A head that writes few logits -------------------===//
//
// The lanes of a warp have the 32 outputs of a panel for one row. The warp
// writes their best value and its index: the winner of a part (see
// ../CPU/LinearArgmax.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/products/Linear.h"
#include "compiler/Codegen/Rows/Argmax.h"

using namespace mtp::codegen;

/// Returns the best of the warp's outputs.
static Best bestOfWarp(GpuBuilder &kb, Value value, Value column, Value mask) {
  Best best = betterOf(kb, {value, kb.truncate(column, kb.i32Type())},
                       noBest(kb, kb.f32Type(), kb.i32Type()), mask);
  Values winner = kb.reduceWarp(
      {best.value, best.index}, [&](ValueRange own, ValueRange other) {
        Best better = betterOf(kb, {other[0], other[1]}, {own[0], own[1]});
        return Values{better.value, better.index};
      });
  return {winner[0], winner[1]};
}

static GpuLaunch argmaxLaunch(exec::LinearArgmaxKernelAttr kernel) {
  return tileLaunch(ProductParams(kernel), /*isWide=*/true);
}

/// Emits linear_argmax. Buffers: x, (norm weight), W, (bias), (slots,
/// sampling), values, indices, (logits). Params: M.
static void emitLinearArgmax(GpuBuilder &kb,
                             exec::LinearArgmaxKernelAttr kernel) {
  ProductParams params(kernel);
  int64_t n = kernel.getN();
  int64_t parts = productPanels(n, /*gated=*/false);
  bool hasLogits = kernel.getLogits();

  ProjectionBuffers buffers(kb, params);
  int64_t next = buffers.next;
  Value slots = hasLogits ? kb.buffer(next++) : Value();
  Value sampling = hasLogits ? kb.buffer(next++) : Value();
  Value values = kb.buffer(next++), indices = kb.buffer(next++);
  Value logits = hasLogits ? kb.buffer(next++) : Value();

  PanelProductSpec spec = productSpec(buffers, params);
  spec.rows = kb.param(0);
  BlockTile tile(kb, params, spec.rows);
  spec.panel = tile.panel;
  auto rowPointer = [&](Value row) {
    return kb.at(buffers.x, row, params.xStride * 4);
  };
  auto store = [&](const ProductOutput &output) {
    Value result = addBias(kb, buffers.bias, output);
    Best best = bestOfWarp(kb, result, output.column, output.mask);
    auto at = [&](Value base) {
      return kb.at(kb.at(base, output.row, parts * 4), tile.panel, 4);
    };
    Value isFirst = kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0);
    kb.storeOwn(best.value, at(values), isFirst);
    kb.storeOwn(best.index, at(indices), isFirst);
    if (!hasLogits)
      return;
    Value slot =
        kb.clampIndex(kb.loadI32(slots, output.row), kernel.getSlots());
    Value to = kb.at(kb.at(logits, output.row, n * 4), output.column, 4);
    kb.storeOwn(result, to,
                kb.bitAnd(readsLogits(kb, sampling, slot), output.mask));
  };
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitTileProduct(kb, params, spec, tile.firstRow, /*isWide=*/true);
}

static const GpuEmitter kinds[] = {
    gpuEmitter(argmaxLaunch, emitLinearArgmax, verifyOnGpu)};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuArgmaxKernels() { return kinds; }
