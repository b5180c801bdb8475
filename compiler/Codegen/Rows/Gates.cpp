//===- Gates.cpp - Gates and norms of recurrent layers --------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp::codegen;

/// Emits y = sigmoid(gate) * x. An item is a group of columns with one gate.
/// Buffers: x, gates, y. Params: M.
static void emitSigmoidGate(KernelBuilder &kb,
                            exec::SigmoidGateKernelAttr kernel) {
  int64_t width = kernel.getWidth(), gates = kernel.getGates();
  bool isPerColumn = gates == width;
  int64_t groups = isPerColumn ? 1 : gates, group = width / groups;
  auto rowOf = [&](int64_t buffer, int64_t stride, Value row) {
    return kb.at(kb.buffer(buffer), row, stride * 4);
  };
  kb.forTasks([&](Value row) {
    Value x = rowOf(0, strideOr(kernel.getXStride(), width), row);
    Value gate = rowOf(1, strideOr(kernel.getGateStride(), gates), row);
    Value y = rowOf(2, strideOr(kernel.getYStride(), width), row);
    kb.forItems(groups, [&](Value item) {
      Value from = kb.at(x, item, group * 4), to = kb.at(y, item, group * 4);
      Value common;
      if (!isPerColumn)
        common = emitSigmoid(
            kb, kb.splat(kb.loadOne(kb.f32Type(), kb.at(gate, item, 4))));
      kb.mapChunks(
          group,
          [&](Value first, Value mask) {
            Values loaded{
                kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask)};
            if (isPerColumn)
              loaded.push_back(
                  kb.loadLanes(kb.f32Type(), kb.at(gate, first, 4), mask));
            return loaded;
          },
          [&](Value first, Value mask, ValueRange loaded) {
            Value factor = isPerColumn ? emitSigmoid(kb, loaded[1]) : common;
            kb.storeLanes(kb.mul(loaded[0], factor), kb.at(to, first, 4), mask);
          });
    });
  });
}

/// Emits l2_norm. Buffers: x, y. Params: M.
static void emitL2Norm(KernelBuilder &kb, exec::L2NormKernelAttr kernel) {
  int64_t width = kernel.getWidth(), groups = kernel.getGroups();
  int64_t xStride = strideOr(kernel.getXStride(), width * groups);
  int64_t yStride = strideOr(kernel.getYStride(), width * groups);
  kb.forTasks([&](Value row) {
    Value xRow = kb.at(kb.buffer(0), row, xStride * 4);
    Value yRow = kb.at(kb.buffer(1), row, yStride * 4);
    kb.forItems(groups, [&](Value group) {
      Value from = kb.at(xRow, group, width * 4);
      Value to = kb.at(yRow, group, width * 4);
      auto load = [&](Value first, Value mask) {
        return kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask);
      };
      Values squares =
          kb.forChunks(width, {kb.constant(kb.f32Lanes(), 0)},
                       [&](Value first, Value mask, ValueRange sums) {
                         Value x = load(first, mask);
                         return Values{kb.fma(x, x, sums[0])};
                       });
      Value sum =
          kb.add(kb.reduceAdd(squares[0]), kb.f32(valueOf(kernel.getEps())));
      Value inverse = kb.splat(kb.div(kb.f32(1.0), kb.sqrt(sum)));
      kb.mapChunks(
          width,
          [&](Value first, Value mask) { return Values{load(first, mask)}; },
          [&](Value first, Value mask, ValueRange loaded) {
            kb.storeLanes(kb.mul(loaded[0], inverse), kb.at(to, first, 4),
                          mask);
          });
    });
  });
}

/// Emits decay. Buffers: x, rates, biases, y. Params: M.
static void emitDecay(KernelBuilder &kb, exec::DecayKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t xStride = strideOr(kernel.getXStride(), width);
  int64_t yStride = strideOr(kernel.getYStride(), width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, xStride * 4);
    Value y = kb.at(kb.buffer(3), row, yStride * 4);
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Values loaded;
          for (Value from : {x, kb.buffer(1), kb.buffer(2)})
            loaded.push_back(
                kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask));
          return loaded;
        },
        [&](Value first, Value mask, ValueRange loaded) {
          Value amount = emitSoftplus(kb, kb.add(loaded[0], loaded[2]));
          Value exponent = kernel.getLinear()
                               ? kb.mul(loaded[1], amount)
                               : kb.neg(kb.mul(emitExp(kb, loaded[1]), amount));
          kb.storeLanes(emitExp(kb, exponent), kb.at(y, first, 4), mask);
        });
  });
}

static TaskItems sigmoidGateItems(exec::SigmoidGateKernelAttr kernel) {
  return {kernel.getGates() == kernel.getWidth() ? 1 : kernel.getGates(),
          /*areJoined=*/true};
}

static TaskItems l2NormItems(exec::L2NormKernelAttr kernel) {
  return {kernel.getGroups(), /*areJoined=*/true};
}

static const RowKernel kinds[] = {
    rowKernel(emitSigmoidGate, /*scratch=*/nullptr, sigmoidGateItems),
    rowKernel(emitL2Norm, /*scratch=*/nullptr, l2NormItems),
    elementKernel(emitDecay)};

llvm::ArrayRef<RowKernel> mtp::codegen::gateKernels() { return kinds; }
