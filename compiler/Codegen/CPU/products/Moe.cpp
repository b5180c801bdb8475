//===- Moe.cpp - Products of experts --------------------------------------===//
//
// A pair is (row, j): expert number j of a row, with number row * top_k + j.
// Pairs are sorted by expert. A step reads an expert's weights once for any
// number of rows, and not at all if the expert has no rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/builder/KernelTable.h"
#include "compiler/Codegen/CPU/products/Linear.h"

using namespace mtp::codegen;

/// Emits the pairs of the experts as rows of a panel matmul. Buffers: x, W,
/// expert start, pairs, y. Params: M.
template <typename KernelT>
static void emitExperts(CpuBuilder &kb, KernelT kernel) {
  int64_t yStride = expertColumns(kernel);
  PanelMatmulSpec spec = matmulSpec(expertMatrix(kernel));
  spec.groups = kernel.getExperts();
  spec.weights = kb.buffer(1);
  Value expertStart = kb.buffer(2), pairs = kb.buffer(3), y = kb.buffer(4);
  Value count = kb.mul(kb.param(0), kernel.getTopK());
  auto startAt = [&](Value expert) {
    return startOfExpert(kb, expertStart, count, expert);
  };
  auto pairAt = [&](Value expert, Value row) {
    return pairOfExpert(kb, pairs, count, startAt(expert), row);
  };
  auto rowCount = [&](Value expert) {
    return kb.sub(startAt(kb.add(expert, 1)), startAt(expert));
  };
  auto rowPointer = [&](Value expert, Value row) {
    return rowOfPair(kb, kernel, pairAt(expert, row));
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

static const KernelEmitter kinds[] = {
    kernelEmitter(emitExperts<exec::MoeGateUpKernelAttr>,
                  productScratchBytes<exec::MoeGateUpKernelAttr>,
                  verifyOnCpu<exec::MoeGateUpKernelAttr>),
    kernelEmitter(emitExperts<exec::MoeDownKernelAttr>,
                  productScratchBytes<exec::MoeDownKernelAttr>,
                  verifyOnCpu<exec::MoeDownKernelAttr>)};

llvm::ArrayRef<KernelEmitter> mtp::codegen::moeKernels() { return kinds; }
