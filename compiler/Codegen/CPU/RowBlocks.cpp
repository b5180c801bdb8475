//===- RowBlocks.cpp - Blocks of rows against weight panels ---------------===//

#include "compiler/Codegen/CPU/RowBlocks.h"

using namespace mtp::codegen;

/// Bytes of the weights of a task that every block meets before the next ones:
/// with as much on its way and the rows they fit an L1 cache.
static constexpr int64_t partBytes = 8192;

RowBlocks::RowBlocks(KernelBuilder &kb, const PanelMatmulSpec &spec,
                     const Shape &shape, RowLimits limits)
    : PanelWalk(kb, spec, shape.panelBytes, limits.perPass), shape(shape),
      rowLimits(limits) {}

int64_t RowBlocks::partUnits() const {
  int64_t units = partBytes / (panelsPerTask() * shape.unitBytes);
  return std::max<int64_t>(units, 1);
}

void RowBlocks::forRowBlocks(
    Value rows, llvm::function_ref<void(int64_t, Value, Value)> body) {
  int64_t most = rowLimits.perBlock;
  Value fullRows = kb.mul(kb.div(rows, most), most);
  auto blockAt = [&](Value row) {
    return kb.at(kb.scratch(), row, shape.rowBytes);
  };
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

void RowBlocks::prefetchAhead(Value weights, const Part &part) {
  for (Value distance : part.ahead)
    kb.prefetch(kb.at(weights, distance, 1));
}

/// The lines that a step of the block at `row` asks for. A step is one line for
/// each vector of 16 lanes. Where blocks follow one another the first asks for
/// one half of what comes next and the others for the other half, so that
/// memory is busy all the time.
Values RowBlocks::linesAhead(Value singleBlock, Value row) {
  constexpr int64_t line = 64;
  int64_t lines = halfBytes() / line;
  if (lines == 1)
    return {kb.integer(prefetchBytes)};
  Value first = kb.integer(prefetchBytes);
  Value second = kb.integer(prefetchBytes + line);
  Value follows = kb.cmp(Cmp::GT, row, 0);
  return {kb.select(follows, second, first),
          kb.select(kb.bitOr(singleBlock, follows), second, first)};
}

/// Adds a part of every panel of a task to the sums of one block.
void RowBlocks::multiplyBlock(Value group, Value task, int64_t blockRows,
                              Value row, Value block, const Part &part) {
  for (int64_t which = 0; which < panelsPerTask(); ++which)
    for (int64_t half = 0; half < halves(); ++half) {
      Value at = kb.at(kb.at(sumsOf(which), half * halfBytes()), row, sumBytes);
      auto forVectors = [&](llvm::function_ref<void(Value)> body) {
        for (int64_t r = 0; r < blockRows; ++r)
          for (int64_t v = 0; v < vectorsPerHalf; ++v)
            body(kb.at(at, r * sumBytes + v * kb.lanes() * 4));
      };
      Values sums;
      forVectors(
          [&](Value from) { sums.push_back(kb.load(kb.f32Vector(), from)); });
      sums = multiply(panelPointer(group, task, which), block, blockRows, half,
                      part, sums);
      size_t next = 0;
      forVectors([&](Value to) { kb.store(sums[next++], to); });
    }
}

void RowBlocks::clearSums(Value count) {
  // A block may have a row more than there are.
  Value rows = kb.min(kb.add(count, 1), kb.integer(rowLimits.perPass));
  Value zero = kb.constant(kb.f32Vector(), 0);
  kb.forRange(kb.integer(0), rows, 1, [&](Value row) {
    for (int64_t which = 0; which < panelsPerTask(); ++which)
      for (int64_t column = 0; column < panelWidth; column += kb.lanes())
        kb.store(zero, kb.at(kb.at(sumsOf(which), column * 4), row, sumBytes));
  });
}

void RowBlocks::emitTask(Value group, Value task, Value firstRow, Value count) {
  clearSums(count);
  Value single = kb.cmp(Cmp::LE, count, rowLimits.perBlock);
  int64_t most =
      std::max<int64_t>(llvm::divideCeil(shape.units, partUnits()), 1);
  Value parts = kb.select(single, kb.integer(1), kb.integer(most));
  Value units =
      kb.select(single, kb.integer(shape.units), kb.integer(partUnits()));
  kb.forRange(kb.integer(0), parts, 1, [&](Value index) {
    Part part;
    part.begin = kb.mul(index, units);
    part.end = kb.min(kb.add(part.begin, units), kb.integer(shape.units));
    part.last = kb.cmp(Cmp::EQ, index, kb.sub(parts, 1));
    forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
      part.ahead = linesAhead(single, row);
      multiplyBlock(group, task, blockRows, row, block, part);
    });
  });
  storeRows(group, task, firstRow, count, sumsOf(0),
            rowLimits.perPass * sumBytes);
}
