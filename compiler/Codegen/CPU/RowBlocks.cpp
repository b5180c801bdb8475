//===- RowBlocks.cpp - Blocks of rows against weight panels ---------------===//

#include "compiler/Codegen/CPU/RowBlocks.h"

using namespace mtp::codegen;

RowBlocks::RowBlocks(KernelBuilder &kb, const PanelMatmulSpec &spec,
                     int64_t rowBytes, int64_t panelBytes, RowLimits limits)
    : PanelWalk(kb, spec, panelBytes, limits.perPass), rowBytes(rowBytes),
      maxRows(limits.perBlock) {}

void RowBlocks::forRowBlocks(
    Value rows, llvm::function_ref<void(int64_t, Value, Value)> body) {
  Value fullRows = kb.mul(kb.div(rows, maxRows), maxRows);
  auto blockAt = [&](Value row) { return kb.at(kb.scratch(), row, rowBytes); };
  kb.forRange(kb.integer(0), fullRows, maxRows,
              [&](Value row) { body(maxRows, row, blockAt(row)); });
  Value rest = kb.sub(rows, fullRows);
  static constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8};
  int64_t least = 0;
  for (int64_t size : sizes) {
    if (size > maxRows)
      break;
    Value fits =
        kb.bitAnd(kb.cmp(Cmp::GT, rest, least), kb.cmp(Cmp::LE, rest, size));
    // A rest of maxRows is a full block.
    if (least + 1 < maxRows)
      kb.ifThen(fits, [&] { body(size, fullRows, blockAt(fullRows)); });
    least = size;
  }
}

/// All outputs of one task for one block of rows.
void RowBlocks::emitBlock(Value group, Value task, Value firstRow, Value count,
                          int64_t blockRows, Value row, Value block) {
  for (int64_t half = 0; half < halves(); ++half) {
    llvm::SmallVector<Values, 2> sums;
    for (int64_t which = 0; which < panelsPerTask(); ++which) {
      Value panel = panelPointer(group, task, which);
      sums.push_back(multiply(panel, block, blockRows, half));
    }
    Value left = kb.sub(count, row);
    for (int64_t r = 0; r < blockRows; ++r)
      kb.ifThen(kb.cmp(Cmp::GT, left, r), [&] {
        for (int64_t v = 0; v < vectorsPerHalf; ++v) {
          Values ofRow;
          for (const Values &panel : sums)
            ofRow.push_back(panel[r * vectorsPerHalf + v]);
          storeOutputs(group, task, kb.add(kb.add(firstRow, row), r),
                       (half * vectorsPerHalf + v) * kb.lanes(), ofRow);
        }
      });
  }
}

void RowBlocks::emitTask(Value group, Value task, Value firstRow, Value count) {
  forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
    emitBlock(group, task, firstRow, count, blockRows, row, block);
  });
}
