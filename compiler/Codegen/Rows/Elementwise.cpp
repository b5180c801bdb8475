//===- Elementwise.cpp - Sums, gates and copies of rows -------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp::codegen;

/// Emits y[r] = combine(a[r], b[r]). Buffers: a, b, y. Params: M.
template <typename KernelT>
static void emitBinary(KernelBuilder &kb, KernelT kernel,
                       llvm::function_ref<Value(Value, Value)> combine) {
  int64_t width = kernel.getWidth();
  auto rowOf = [&](int64_t buffer, int64_t stride, Value row) {
    return kb.at(kb.buffer(buffer), row, strideOr(stride, width) * 4);
  };
  kb.forTasks([&](Value row) {
    Value a = rowOf(0, kernel.getAStride(), row),
          b = rowOf(1, kernel.getBStride(), row);
    Value y = rowOf(2, kernel.getYStride(), row);
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Value left = kb.loadLanes(kb.f32Type(), kb.at(a, first, 4), mask);
          Value right = kb.loadLanes(kb.f32Type(), kb.at(b, first, 4), mask);
          return Values{left, right};
        },
        [&](Value first, Value mask, ValueRange loaded) {
          kb.storeLanes(combine(loaded[0], loaded[1]), kb.at(y, first, 4),
                        mask);
        });
  });
}

static void emitAdd(KernelBuilder &kb, exec::AddKernelAttr kernel) {
  emitBinary(kb, kernel, [&](Value a, Value b) { return kb.add(a, b); });
}

/// Emits y = silu(gate) * up. Buffers: gate, up, y. Params: M.
static void emitSwiglu(KernelBuilder &kb, exec::SwigluKernelAttr kernel) {
  emitBinary(kb, kernel, [&](Value gate, Value up) {
    return kb.mul(emitSilu(kb, gate), up);
  });
}

/// Emits y = gelu(gate) * up. Buffers: gate, up, y. Params: M.
static void emitGegluTanh(KernelBuilder &kb, exec::GegluTanhKernelAttr kernel) {
  emitBinary(kb, kernel, [&](Value gate, Value up) {
    return kb.mul(emitGeluTanh(kb, gate), up);
  });
}

/// Emits y[r] = apply(x[r]). Buffers: x, y. Params: M.
template <typename KernelT>
static void emitUnary(KernelBuilder &kb, KernelT kernel,
                      llvm::function_ref<Value(Value)> apply) {
  int64_t width = kernel.getWidth();
  int64_t xStride = strideOr(kernel.getXStride(), width);
  int64_t yStride = strideOr(kernel.getYStride(), width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, xStride * 4);
    Value y = kb.at(kb.buffer(1), row, yStride * 4);
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          return Values{kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask)};
        },
        [&](Value first, Value mask, ValueRange loaded) {
          kb.storeLanes(apply(loaded[0]), kb.at(y, first, 4), mask);
        });
  });
}

static void emitSiluRows(KernelBuilder &kb, exec::SiluKernelAttr kernel) {
  emitUnary(kb, kernel, [&](Value x) { return emitSilu(kb, x); });
}

static void emitSigmoidRows(KernelBuilder &kb, exec::SigmoidKernelAttr kernel) {
  emitUnary(kb, kernel, [&](Value x) { return emitSigmoid(kb, x); });
}

/// Emits y[r] = x[r] + bias. Buffers: x, bias, y. Params: M.
static void emitAddBias(KernelBuilder &kb, exec::AddBiasKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t xStride = strideOr(kernel.getXStride(), width);
  int64_t yStride = strideOr(kernel.getYStride(), width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, xStride * 4);
    Value y = kb.at(kb.buffer(2), row, yStride * 4);
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Value value = kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask);
          Value bias =
              kb.loadLanes(kb.f32Type(), kb.at(kb.buffer(1), first, 4), mask);
          return Values{value, bias};
        },
        [&](Value first, Value mask, ValueRange loaded) {
          kb.storeLanes(kb.add(loaded[0], loaded[1]), kb.at(y, first, 4), mask);
        });
  });
}

/// Emits y[r] = a[r] followed by b[r]. Buffers: a, b, y. Params: M.
static void emitConcat(KernelBuilder &kb, exec::ConcatKernelAttr kernel) {
  int64_t aWidth = kernel.getAWidth(), bWidth = kernel.getBWidth();
  int64_t aStride = strideOr(kernel.getAStride(), aWidth);
  int64_t bStride = strideOr(kernel.getBStride(), bWidth);
  int64_t yStride = strideOr(kernel.getYStride(), aWidth + bWidth);
  kb.forTasks([&](Value row) {
    Value y = kb.at(kb.buffer(2), row, yStride * 4);
    kb.copy(kb.at(kb.buffer(0), row, aStride * 4), y, aWidth);
    kb.copy(kb.at(kb.buffer(1), row, bStride * 4), kb.at(y, aWidth * 4),
            bWidth);
  });
}

/// Emits copy_cols. Buffers: x, y. Params: M.
static void emitCopyCols(KernelBuilder &kb, exec::CopyColsKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t xStride = strideOr(kernel.getXStride(), width);
  int64_t yStride = strideOr(kernel.getYStride(), width);
  Value x = kb.at(kb.buffer(0), kernel.getXOffset() * 4);
  Value y = kb.at(kb.buffer(1), kernel.getYOffset() * 4);
  kb.forTasks([&](Value row) {
    kb.copy(kb.at(x, row, xStride * 4), kb.at(y, row, yStride * 4), width);
  });
}

/// Emits out[i] = x[index[i]]. An index outside x takes the nearest row.
/// Buffers: x, index, out. Params: M, rows of x.
static void emitGatherRows(KernelBuilder &kb,
                           exec::GatherRowsKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t stride = strideOr(kernel.getXStride(), width);
  kb.forTasks([&](Value row) {
    Value from = kb.clampIndex(kb.loadI32(kb.buffer(1), row), kb.param(1));
    kb.copy(kb.at(kb.buffer(0), from, stride * 4),
            kb.at(kb.buffer(2), row, width * 4), width);
  });
}

static TaskItems concatItems(exec::ConcatKernelAttr kernel) {
  return TaskItems::elements(std::max(kernel.getAWidth(), kernel.getBWidth()));
}

static const RowKernel kinds[] = {
    elementKernel(emitAdd),
    elementKernel(emitAddBias),
    elementKernel(emitSwiglu),
    elementKernel(emitGegluTanh),
    elementKernel(emitSiluRows),
    elementKernel(emitSigmoidRows),
    rowKernel(emitConcat, /*scratch=*/nullptr, concatItems),
    elementKernel(emitCopyCols),
    elementKernel(emitGatherRows)};

llvm::ArrayRef<RowKernel> mtp::codegen::elementwiseKernels() { return kinds; }
