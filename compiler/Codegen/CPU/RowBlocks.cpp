//===- RowBlocks.cpp - Blocks of rows against weight panels ---------------===//

#include "compiler/Codegen/CPU/RowBlocks.h"

using namespace mtp::codegen;

RowBlocks::RowBlocks(KernelBuilder &kb, const PanelMatmulSpec &spec,
                     int64_t rowBytes, int64_t panelBytes, RowLimits limits)
    : PanelWalk(kb, spec, panelBytes, limits.perPass), rowBytes(rowBytes),
      rowLimits(limits) {}

void RowBlocks::forRowBlocks(
    Value rows, llvm::function_ref<void(int64_t, Value, Value)> body) {
  int64_t most = rowLimits.perBlock;
  Value fullRows = kb.mul(kb.div(rows, most), most);
  auto blockAt = [&](Value row) { return kb.at(kb.scratch(), row, rowBytes); };
  kb.forRange(kb.integer(0), fullRows, most,
              [&](Value row) { body(most, row, blockAt(row)); });
  Value rest = kb.sub(rows, fullRows);
  static constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8};
  int64_t least = 0;
  for (int64_t size : sizes) {
    if (size > most)
      break;
    Value fits =
        kb.bitAnd(kb.cmp(Cmp::GT, rest, least), kb.cmp(Cmp::LE, rest, size));
    // A rest of the most rows is a full block.
    if (least + 1 < most)
      kb.ifThen(fits, [&] { body(size, fullRows, blockAt(fullRows)); });
    least = size;
  }
}

/// Leaves the sums of a block of rows with every panel of a task in scratch.
void RowBlocks::emitBlock(Value group, Value task, int64_t blockRows,
                          Value block) {
  for (int64_t which = 0; which < panelsPerTask(); ++which)
    for (int64_t half = 0; half < halves(); ++half) {
      Value panel = panelPointer(group, task, which);
      Values ofHalf = multiply(panel, block, blockRows, half);
      Value to =
          kb.at(blockSums(), which * blockSumsBytes() + half * halfBytes());
      for (auto [i, sum] : llvm::enumerate(ofHalf))
        kb.store(sum, kb.at(to, i / vectorsPerHalf * sumBytes +
                                    i % vectorsPerHalf * kb.lanes() * 4));
    }
}

void RowBlocks::emitTask(Value group, Value task, Value firstRow, Value count) {
  forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
    emitBlock(group, task, blockRows, block);
    // A block may have a row more than there are.
    Value left = kb.min(kb.sub(count, row), kb.integer(blockRows));
    storeRows(group, task, kb.add(firstRow, row), left, blockSums(),
              blockSumsBytes());
  });
}
