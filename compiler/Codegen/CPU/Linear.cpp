//===- Linear.cpp - Projections -------------------------------------------===//

#include "compiler/Codegen/CPU/Linear.h"

#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/Rows/Rope.h"

using namespace mtp::codegen;
using namespace mlir;

static bool isGated(const KernelConfig &config) {
  return config.text("activation") == "swiglu";
}

ProjectionBuffers::ProjectionBuffers(CpuBuilder &kb,
                                     const KernelConfig &config) {
  x = kb.buffer(next++);
  if (config.flag("norm"))
    normWeight = kb.buffer(next++);
  weights = kb.buffer(next++);
  if (config.flag("bias"))
    bias = kb.buffer(next++);
}

PanelMatmulSpec mtp::codegen::projectionSpec(const ProjectionBuffers &buffers,
                                             const KernelConfig &config) {
  PanelMatmulSpec spec;
  spec.k = config.integer("k");
  spec.n = config.integer("n");
  spec.format = config.weightFormat();
  spec.weights = buffers.weights;
  spec.normWeight = buffers.normWeight;
  spec.eps = config.real("eps");
  spec.normOffset = config.integer("offset");
  return spec;
}

Value mtp::codegen::addBias(CpuBuilder &kb, Value bias,
                            const OutputVector &output) {
  if (!bias)
    return output.values;
  Value from = kb.at(bias, output.column, 4);
  return kb.add(output.values, kb.load(kb.f32Vector(), from, output.mask));
}

int64_t mtp::codegen::projectionScratchBytes(const KernelConfig &config,
                                             const TargetDesc &target) {
  return panelScratchBytes(config.integer("k"), config.weightFormat(), target);
}

/// buffers: x, (norm weight), W, (bias), (residual), y. params: M.
static void emitLinear(CpuBuilder &kb, const KernelConfig &config) {
  int64_t k = config.integer("k"), n = config.integer("n");
  int64_t outputs = isGated(config) ? n / 2 : n;
  int64_t xStride = config.integer("x_stride", k);
  int64_t yStride = config.integer("y_stride", outputs);
  int64_t residualStride = config.integer("residual_stride", outputs);

  ProjectionBuffers buffers(kb, config);
  int64_t next = buffers.next;
  Value residual = config.flag("residual") ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next), rows = kb.param(0);

  PanelMatmulSpec spec = projectionSpec(buffers, config);
  spec.gated = isGated(config);
  auto rowCount = [&](Value) { return rows; };
  auto rowPointer = [&](Value, Value row) {
    return kb.at(buffers.x, row, xStride * 4);
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

/// The kept columns of the heads whose first panel is among the caller's tasks:
/// `copy` gets every such head and row.
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

namespace {
/// How far apart rows and heads lie, in f32.
struct HeadStrides {
  int64_t row;
  int64_t head;

  Value at(CpuBuilder &kb, Value base, Value headIndex, Value rowIndex) const {
    return kb.at(kb.at(base, rowIndex, row * 4), headIndex, head * 4);
  }
};
} // namespace

/// buffers: x, W (heads stacked), [table, positions], y. params: M.
static void emitHeadLinear(CpuBuilder &kb, const KernelConfig &config) {
  int64_t heads = config.integer("heads");
  int64_t k = config.integer("k"), n = config.integer("n");
  HeadStrides in, out;
  in.head = config.integer("x_head_stride", k);
  in.row = config.integer("x_stride", heads * in.head);
  out.head = config.integer("y_head_stride", n);
  out.row = config.integer("y_stride", heads * out.head);
  Value x = kb.at(kb.buffer(0), config.integer("x_offset") * 4);
  bool rotate = config.flag("rotate");
  Value y = kb.at(kb.buffer(rotate ? 4 : 2), config.integer("y_offset") * 4);
  Value rows = kb.param(0);

  if (int64_t width = config.integer("keep_width"))
    keepColumns(kb, panelTasks(n, /*gated=*/false), [&](Value head, Value row) {
      Value from = kb.at(in.at(kb, kb.buffer(0), head, row),
                         config.integer("keep_offset") * 4);
      Value to = kb.at(out.at(kb, y, head, row), n * 4);
      if (!rotate)
        return kb.copy(from, to, width);
      RopeSpec rope = ropeSpec(config, width);
      Value angles = emitAngles(kb, rope, kb.buffer(2), kb.buffer(3), row);
      emitRotatedHead(kb, rope, from, to, angles);
    });

  PanelMatmulSpec spec;
  spec.k = k;
  spec.n = n;
  spec.format = config.weightFormat();
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
    {"linear", emitLinear, projectionScratchBytes},
    {"head_linear", emitHeadLinear, projectionScratchBytes}};

llvm::ArrayRef<KernelEmitter> mtp::codegen::linearKernels() { return kinds; }
