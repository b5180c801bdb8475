//===- Linear.cpp - Projections -------------------------------------------===//

#include "compiler/Codegen/CPU/products/Linear.h"

#include "compiler/Codegen/CPU/builder/KernelTable.h"
#include "compiler/Codegen/Rows/KeptColumns.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

PanelMatmulSpec codegen::matmulSpec(const ProductParams &params) {
  PanelMatmulSpec spec;
  spec.k = params.k;
  spec.n = params.n;
  spec.format = params.format;
  spec.gated = params.gated;
  spec.activation = params.activation;
  spec.eps = params.eps;
  spec.normOffset = params.normOffset;
  return spec;
}

PanelMatmulSpec codegen::projectionSpec(const ProjectionBuffers &buffers,
                                        const ProductParams &params) {
  PanelMatmulSpec spec = matmulSpec(params);
  spec.weights = buffers.weights;
  spec.normWeight = buffers.normWeight;
  return spec;
}

Value codegen::addBias(CpuBuilder &kb, Value bias, const OutputVector &output) {
  if (!bias)
    return output.values;
  Value from = kb.at(bias, output.column, 4);
  return kb.add(output.values, kb.load(kb.f32Vector(), from, output.mask));
}

/// Buffers: x, [norm weight], W, [bias], [residual], y. Params: M.
static void emitLinear(CpuBuilder &kb, exec::LinearKernelAttr kernel) {
  ProductParams params(kernel);
  int64_t outputs = kernel.getOutputs();
  int64_t yStride = strideOr(kernel.getYStride(), outputs);
  int64_t residualStride = strideOr(kernel.getResidualStride(), outputs);

  ProjectionBuffers buffers(kb, params);
  int64_t next = buffers.next;
  Value residual = kernel.getResidual() ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next), rows = kb.param(0);

  PanelMatmulSpec spec = projectionSpec(buffers, params);
  auto rowCount = [&](Value) { return rows; };
  auto rowPointer = [&](Value, Value row) {
    return kb.at(buffers.x, row, params.xStride * 4);
  };
  auto store = [&](Value, Value row, llvm::ArrayRef<OutputVector> outputs) {
    auto at = [&](Value base, int64_t stride, Value column) {
      return kb.at(kb.at(base, row, stride * 4), column, 4);
    };
    for (const OutputVector &output : outputs) {
      Value result = addBias(kb, buffers.bias, output);
      if (residual) {
        Value from = at(residual, residualStride, output.column);
        result = kb.add(result, kb.load(kb.f32Vector(), from, output.mask));
      }
      kb.store(result, at(y, yStride, output.column), output.mask);
    }
  };
  spec.rowCount = rowCount;
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitPanelMatmul(kb, spec);
}

/// Calls `copy` for every row and every head whose first panel is among the
/// caller's tasks.
static void keepColumns(CpuBuilder &kb, int64_t tasksPerHead,
                        llvm::function_ref<void(Value, Value)> copy) {
  kb.forTasks([&](Value task) {
    Value first = kb.cmp(Cmp::EQ, kb.rem(task, kb.integer(tasksPerHead)), 0);
    kb.ifThen(first, [&] {
      Value head = kb.div(task, tasksPerHead);
      kb.forRange(kb.integer(0), kb.param(0), 1,
                  [&](Value row) { copy(head, row); });
    });
  });
}

/// Buffers: x, W (heads stacked), [table, positions], y. Params: M.
static void emitHeadLinear(CpuBuilder &kb, exec::HeadLinearKernelAttr kernel) {
  int64_t heads = kernel.getHeads(), n = kernel.getN();
  HeadStrides in{kernel.getXRow(), kernel.getXHead()};
  HeadStrides out{kernel.getYRow(), kernel.getYHead()};
  Value x = kb.at(kb.buffer(0), kernel.getXOffset() * 4);
  Value y =
      kb.at(kb.buffer(kernel.getRotation() ? 4 : 2), kernel.getYOffset() * 4);
  Value rows = kb.param(0);

  if (kernel.getKeepWidth() > 0)
    keepColumns(kb, panelTasks(n, /*gated=*/false), [&](Value head, Value row) {
      Value from =
          kb.at(in.at(kb, kb.buffer(0), head, row), kernel.getKeepOffset() * 4);
      Value to = kb.at(out.at(kb, y, head, row), n * 4);
      emitKeptColumns(kb, kernel, from, to, row);
    });

  PanelMatmulSpec spec = matmulSpec(ProductParams(kernel));
  spec.groups = heads;
  spec.weights = kb.buffer(1);
  auto rowCount = [&](Value) { return rows; };
  auto rowPointer = [&](Value head, Value row) {
    return in.at(kb, x, head, row);
  };
  auto store = [&](Value head, Value row,
                   llvm::ArrayRef<OutputVector> outputs) {
    for (const OutputVector &output : outputs)
      kb.store(output.values, kb.at(out.at(kb, y, head, row), output.column, 4),
               output.mask);
  };
  spec.rowCount = rowCount;
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitPanelMatmul(kb, spec);
}

static const KernelEmitter kinds[] = {
    kernelEmitter(emitLinear, productScratchBytes<exec::LinearKernelAttr>,
                  verifyOnCpu<exec::LinearKernelAttr>),
    kernelEmitter(emitHeadLinear,
                  productScratchBytes<exec::HeadLinearKernelAttr>,
                  verifyOnCpu<exec::HeadLinearKernelAttr>)};

llvm::ArrayRef<KernelEmitter> codegen::linearKernels() { return kinds; }
