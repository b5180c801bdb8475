//===- Norm.cpp - Root-mean-square norm -----------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/RowNorm.h"

using namespace mtp::codegen;

Value mtp::codegen::emitInverseRms(KernelBuilder &kb, Value x, int64_t width,
                                   float eps) {
  Values squares = kb.forChunks(width, {kb.constant(kb.f32Lanes(), 0)},
                                [&](Value first, Value mask, ValueRange sums) {
                                  Value v = kb.loadLanes(
                                      kb.f32Type(), kb.at(x, first, 4), mask);
                                  return Values{kb.fma(v, v, sums[0])};
                                });
  return emitInverseOfSquares(kb, kb.reduceAdd(squares[0]), width, eps);
}

Value mtp::codegen::emitInverseOfSquares(KernelBuilder &kb, Value sum,
                                         int64_t width, float eps) {
  Value mean = kb.div(sum, kb.f32(width));
  return kb.div(kb.f32(1.0), kb.sqrt(kb.add(mean, kb.f32(eps))));
}

Value mtp::codegen::emitScaleByNorm(KernelBuilder &kb, Value x, Value inverse,
                                    Value weight, int64_t offset) {
  if (offset != 0)
    weight = kb.add(weight, kb.constant(kb.f32Lanes(), offset));
  return kb.mul(kb.mul(x, kb.splat(inverse)), weight);
}

/// Emits rms_norm. Buffers: x, weight, out. Params: M.
static void emitRmsNorm(KernelBuilder &kb, exec::RmsNormKernelAttr kernel) {
  int64_t width = kernel.getWidth(), groups = kernel.getGroups();
  int64_t xStride = strideOr(kernel.getXStride(), width * groups);
  int64_t yStride = strideOr(kernel.getYStride(), width * groups);
  Value x = kb.buffer(0), weight = kb.buffer(1), y = kb.buffer(2);
  kb.forTasks([&](Value row) {
    Value xRow = kb.at(x, row, xStride * 4), yRow = kb.at(y, row, yStride * 4);
    kb.forItems(groups, [&](Value group) {
      Value from = kb.at(xRow, group, width * 4);
      Value to = kb.at(yRow, group, width * 4);
      Value inverse = emitInverseRms(kb, from, width, valueOf(kernel.getEps()));
      kb.mapChunks(
          width,
          [&](Value first, Value mask) {
            Value v = kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask);
            Value w = kb.loadLanes(kb.f32Type(), kb.at(weight, first, 4), mask);
            return Values{v, w};
          },
          [&](Value first, Value mask, ValueRange loaded) {
            kb.storeLanes(emitScaleByNorm(kb, loaded[0], inverse, loaded[1],
                                          kernel.getOffset()),
                          kb.at(to, first, 4), mask);
          });
    });
  });
}

/// Emits round_rows. Buffers: x, [norm weight], y. Params: M.
static void emitRoundRows(KernelBuilder &kb, exec::RoundRowsKernelAttr kernel) {
  int64_t width = kernel.getWidth(), next = 0;
  int64_t xStride = strideOr(kernel.getXStride(), width);
  Value x = kb.buffer(next++);
  Value norm = kernel.getNorm() ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next);
  kb.forTasks([&](Value row) {
    Value from = kb.at(x, row, xStride * 4), to = kb.at(y, row, width * 2);
    Value inverse;
    if (norm)
      inverse = emitInverseRms(kb, from, width, valueOf(kernel.getEps()));
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Values loaded{
              kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask)};
          if (norm)
            loaded.push_back(
                kb.loadLanes(kb.f32Type(), kb.at(norm, first, 4), mask));
          return loaded;
        },
        [&](Value first, Value mask, ValueRange loaded) {
          Value v = loaded[0];
          if (norm)
            v = emitScaleByNorm(kb, v, inverse, loaded[1], kernel.getOffset());
          kb.storeFloats(v, kb.at(to, first, 2), DType::BF16, mask);
        });
  });
}

/// Returns one item for each group, whose lanes are joined.
static TaskItems rmsNormItems(exec::RmsNormKernelAttr kernel) {
  return {kernel.getGroups(), /*areJoined=*/true};
}

static TaskItems roundRowsItems(exec::RoundRowsKernelAttr kernel) {
  return kernel.getNorm() ? TaskItems()
                          : TaskItems::elements(kernel.getWidth());
}

static const RowKernel kinds[] = {
    rowKernel(emitRmsNorm, /*scratch=*/nullptr, rmsNormItems),
    rowKernel(emitRoundRows, /*scratch=*/nullptr, roundRowsItems)};

llvm::ArrayRef<RowKernel> mtp::codegen::normKernels() { return kinds; }
