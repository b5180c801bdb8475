//===- RowBlocks.cpp - Blocks of rows against weight panels ---------------===//

#include "compiler/Codegen/CPU/products/RowBlocks.h"

using namespace mtp::codegen;

RowBlocks::RowBlocks(CpuBuilder &kb, const PanelMatmulSpec &spec,
                     int64_t rowBytes, int64_t panelBytes, RowLimits limits,
                     int64_t readyBytes)
    : PanelWalk(kb, spec, panelBytes, limits.perPass), rowBytes(rowBytes),
      rowLimits(limits), readyBytes(readyBytes) {}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value RowBlocks::fullRowsOf(Value rows) {
  // A single block is the last block.
  int64_t most = rowLimits.perBlock;
  return kb.select(kb.cmp(Cmp::GT, rows, rowLimits.alone),
                   kb.mul(kb.div(rows, most), most), kb.integer(0));
}

void RowBlocks::forFullBlocks(Value fullRows, BlockBody body) {
  int64_t most = rowLimits.perBlock;
  kb.forRange(kb.integer(0), fullRows, most, [&](Value row) {
    body(most, row, kb.at(kb.scratch(), row, rowBytes));
  });
}

void RowBlocks::forLastBlock(Value rows, Value fullRows, BlockBody body) {
  Value rest = kb.sub(rows, fullRows);
  Value block = kb.at(kb.scratch(), fullRows, rowBytes);
  static constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8};
  int64_t least = 0;
  for (int64_t size : sizes) {
    if (size > rowLimits.alone)
      break;
    Value fits =
        kb.bitAnd(kb.cmp(Cmp::GT, rest, least), kb.cmp(Cmp::LE, rest, size));
    kb.ifThen(fits, [&] { body(size, fullRows, block); });
    least = size;
  }
}

void RowBlocks::forRowBlocks(Value rows, BlockBody body) {
  Value fullRows = fullRowsOf(rows);
  forFullBlocks(fullRows, body);
  forLastBlock(rows, fullRows, body);
}

Values
RowBlocks::forStrips(ValueRange sums, int64_t rows,
                     llvm::function_ref<Values(Strip, ValueRange)> body) {
  int64_t vectors = stripVectors(rows);
  Values result(sums.begin(), sums.end());
  for (int64_t s = 0; s < stripCount(rows); ++s) {
    auto at = [&](int64_t i) {
      return i / vectors * panelVectors() + s * vectors + i % vectors;
    };
    Values ofStrip;
    for (int64_t i = 0; i < rows * vectors; ++i)
      ofStrip.push_back(result[at(i)]);
    ofStrip = body({s, rows, vectors, s * vectors * kb.lanes() * 4,
                    stepBytes / stripCount(rows)},
                   ofStrip);
    for (auto [i, sum] : llvm::enumerate(ofStrip))
      result[at(i)] = sum;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Prefetches
//===----------------------------------------------------------------------===//

Value RowBlocks::prefetchAt(Prefetch prefetch, Value offset) {
  if (prefetch.shift)
    offset = kb.shiftRight(offset, prefetch.shift);
  return kb.at(prefetch.from, offset, 1);
}

/// Returns the prefetch of a full block: the panel of the next task, so that
/// memory is busy while this panel is multiplied again. The first block
/// prefetches all of it; if there are several blocks, the first two prefetch
/// one half each. Later blocks prefetch the panel that they read.
RowBlocks::Prefetch RowBlocks::prefetchOfFull(Value panel, Value row,
                                              Value fullRows) {
  int64_t most = rowLimits.perBlock;
  Value next = kb.at(panel, panelsPerTask() * panelBytes);
  Value ofSecond =
      kb.select(kb.cmp(Cmp::EQ, row, most), kb.at(next, panelBytes / 2), panel);
  Value from = kb.select(kb.cmp(Cmp::EQ, row, int64_t(0)), next, ofSecond);
  Value shift =
      kb.select(kb.cmp(Cmp::GT, fullRows, most), kb.integer(1), kb.integer(0));
  // A panel does not fit the L1 cache, which also has few entries for lines in
  // flight.
  return {from, shift, /*level=*/2};
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Leaves the sums of a block of rows with every panel of a task in scratch.
void RowBlocks::emitBlock(Value group, Value task, int64_t blockRows,
                          Value block, bool isReady,
                          llvm::function_ref<Prefetch(Value)> prefetchOfPanel) {
  for (int64_t which = 0; which < panelsPerTask(); ++which) {
    Value panel = panelPointer(group, task, which);
    Values sums = multiply(panel, isReady ? readyPanel(which) : Value(),
                           prefetchOfPanel(panel), block, blockRows);
    Value to = kb.at(blockSums(), which * blockSumsBytes());
    for (auto [i, sum] : llvm::enumerate(sums))
      kb.store(sum, kb.at(to, i * kb.lanes() * 4));
  }
}

void RowBlocks::emitLastBlock(Value group, Value task, Value firstRow,
                              Value count, Value fullRows) {
  forLastBlock(count, fullRows, [&](int64_t rows, Value row, Value block) {
    emitBlock(group, task, rows, block, /*isReady=*/false, [&](Value panel) {
      return Prefetch{kb.at(panel, prefetchDistance()), Value()};
    });
    // A block may have one row more than there are rows.
    storeRows(group, task, kb.add(firstRow, row), kb.sub(count, row),
              blockSums(), blockSumsBytes());
  });
}

void RowBlocks::emitTask(Value group, Value task, Value firstRow, Value count) {
  Value fullRows = fullRowsOf(count);
  if (readyBytes)
    kb.ifThen(kb.cmp(Cmp::GT, fullRows, 0), [&] {
      for (int64_t which = 0; which < panelsPerTask(); ++which)
        getReady(panelPointer(group, task, which), readyPanel(which));
    });
  forFullBlocks(fullRows, [&](int64_t rows, Value row, Value block) {
    emitBlock(group, task, rows, block, readyBytes != 0, [&](Value panel) {
      return prefetchOfFull(panel, row, fullRows);
    });
    storeRows(group, task, kb.add(firstRow, row), kb.integer(rows), blockSums(),
              blockSumsBytes());
  });
  emitLastBlock(group, task, firstRow, count, fullRows);
}
