//===- PanelMatmul.cpp - Rows times packed weight panels ------------------===//

#include "compiler/Codegen/CPU/PanelMatmul.h"

#include "compiler/Codegen/CPU/MathApprox.h"
#include "compiler/Codegen/CPU/RowNorm.h"

using namespace mtp::codegen;

static constexpr int64_t panelWidth = 32;
/// Rows that are prepared at once; a longer input streams the weights again.
static constexpr int64_t rowsPerPass = 64;
/// How far ahead of the multiplications weights are asked for: what one core
/// streams in twice the latency of memory. At 512 bytes eight rows took 1.4
/// times one row's time, at 8 KiB 1.1 times. One row runs ahead far enough by
/// itself, and was slower with it.
static constexpr int64_t prefetchBytes = 8192;
static constexpr int64_t prefetchRows = 2;
/// Steps of k per loop iteration.
static int64_t unroll(int64_t rows) { return rows < prefetchRows ? 8 : 4; }

static bool usesDot(DType dtype, const TargetDesc &target) {
  return dtype == DType::BF16 && target.bf16Dot;
}

/// Units of one prepared row, padded to whole vectors.
static int64_t paddedUnits(int64_t k, DType dtype, const TargetDesc &target) {
  int64_t units = usesDot(dtype, target) ? (k + 1) / 2 : k;
  return (units + target.lanes - 1) / target.lanes * target.lanes;
}

int64_t mtp::codegen::panelTasks(int64_t n, bool gated) {
  int64_t outputs = gated ? n / 2 : n;
  return (outputs + panelWidth - 1) / panelWidth;
}

int64_t mtp::codegen::panelScratchBytes(int64_t k, DType dtype,
                                        const TargetDesc &target) {
  return rowsPerPass * paddedUnits(k, dtype, target) * 4;
}

namespace {

class PanelMatmul {
public:
  PanelMatmul(KernelBuilder &kb, const PanelMatmulSpec &spec)
      : kb(kb), spec(spec), dot(usesDot(spec.dtype, kb.getTarget())),
        maxRows(kb.lanes() == 16 ? 8 : 4),
        units(paddedUnits(spec.k, spec.dtype, kb.getTarget())),
        tasksPerGroup(panelTasks(spec.n, spec.gated)) {}

  void emit();

private:
  void emitGroup(Value group);
  void emitPass(Value group, Value firstRow, Value rows);
  void forRowBlocks(Value rows,
                    llvm::function_ref<void(int64_t, Value, Value)> body);
  void prepareBlock(Value group, Value firstRow, Value rows, int64_t stride,
                    Value to);
  Value loadUnits(Value from, Value inverse, Value first, Value mask,
                  Value maskHigh);
  Values interleave(Values rows);
  Values multiply(Value panel, Value block, int64_t rows, int64_t half);
  void multiplyUnit(Values &acc, Value panel, Value block, int64_t rows,
                    Value unit);
  void emitBlock(Value group, Value task, Value firstRow, Value rowsLeft,
                 int64_t blockRows, Value block);
  Value panelPointer(Value group, Value panel);

  /// Distance in a block between the units of one row.
  static int64_t blockStride(int64_t rows) { return llvm::PowerOf2Ceil(rows); }
  /// Output vectors that are accumulated at once.
  static constexpr int64_t vectorsPerHalf = 2;
  /// A panel is walked once with 16 lanes, in two halves with 8.
  int64_t halves() const { return panelWidth / (vectorsPerHalf * kb.lanes()); }

  KernelBuilder &kb;
  const PanelMatmulSpec &spec;
  const bool dot;
  const int64_t maxRows;
  const int64_t units;
  const int64_t tasksPerGroup;
};

} // namespace

Value PanelMatmul::panelPointer(Value group, Value panel) {
  int64_t depth = spec.dtype == DType::BF16 ? (spec.k + 1) / 2 * 2 : spec.k;
  int64_t bytes = depth * panelWidth * byteWidth(spec.dtype);
  int64_t panels = tasksPerGroup * (spec.gated ? 2 : 1);
  return kb.at(kb.at(spec.weights, group, panels * bytes), panel, bytes);
}

//===----------------------------------------------------------------------===//
// Preparing rows
//===----------------------------------------------------------------------===//

/// Interleaves vectors so that their lanes alternate, row after row.
Values PanelMatmul::interleave(Values rows) {
  // Rows r and r + size / 2 end up next to each other in the first step, so
  // the order is right after the last one.
  int64_t count = kb.lanes();
  llvm::SmallVector<int64_t> lower, upper;
  for (int64_t i = 0; i < count; ++i) {
    lower.push_back(i / 2 + (i % 2) * count);
    upper.push_back(count / 2 + i / 2 + (i % 2) * count);
  }
  llvm::SmallVector<Values> sequences;
  for (Value row : rows)
    sequences.push_back({row});
  while (sequences.size() > 1) {
    size_t half = sequences.size() / 2;
    for (size_t s = 0; s < half; ++s) {
      Values merged;
      for (auto [a, b] : llvm::zip(sequences[s], sequences[s + half])) {
        merged.push_back(kb.shuffle(a, b, lower));
        merged.push_back(kb.shuffle(a, b, upper));
      }
      sequences[s] = merged;
    }
    sequences.resize(half);
  }
  return sequences.front();
}

/// One vector of units of a row, beginning at unit `first`.
Value PanelMatmul::loadUnits(Value from, Value inverse, Value first, Value mask,
                             Value maskHigh) {
  auto loadPart = [&](Value index, Value partMask) {
    Value x = kb.load(kb.f32Vector(), kb.at(from, index, 4), partMask);
    if (!spec.normWeight)
      return x;
    Value weight =
        kb.load(kb.f32Vector(), kb.at(spec.normWeight, index, 4), partMask);
    return emitScaleByNorm(kb, x, inverse, weight, spec.normOffset);
  };
  if (!dot)
    return kb.bitcast(loadPart(first, mask), kb.i32Vector());
  Value value = kb.mul(first, 2);
  Value low = loadPart(value, mask);
  Value high = loadPart(kb.add(value, kb.lanes()), maskHigh);
  return kb.bitcast(kb.roundToBF16(kb.concat({low, high})), kb.i32Vector());
}

void PanelMatmul::prepareBlock(Value group, Value firstRow, Value rows,
                               int64_t stride, Value to) {
  Values pointers, inverses;
  for (int64_t r = 0; r < stride; ++r) {
    // Rows beyond the end repeat the last one; their results are not stored.
    Value row = kb.min(kb.add(firstRow, r), kb.sub(rows, 1));
    pointers.push_back(spec.rowPointer(group, row));
    inverses.push_back(spec.normWeight
                           ? emitInverseRms(kb, pointers[r], spec.k, spec.eps)
                           : Value());
  }
  auto prepare = [&](Value first, Value mask, Value maskHigh) {
    Values vectors;
    for (auto [pointer, inverse] : llvm::zip(pointers, inverses))
      vectors.push_back(loadUnits(pointer, inverse, first, mask, maskHigh));
    Value at = kb.at(to, first, stride * 4);
    for (auto [i, vector] : llvm::enumerate(interleave(vectors)))
      kb.store(vector, kb.at(at, i * kb.lanes() * 4));
  };
  int64_t valuesPerVector = kb.lanes() * (dot ? 2 : 1);
  int64_t fullVectors = spec.k / valuesPerVector;
  kb.forRange(kb.integer(0), kb.integer(fullVectors * kb.lanes()), kb.lanes(),
              [&](Value first) { prepare(first, Value(), Value()); });
  int64_t rest = spec.k - fullVectors * valuesPerVector;
  if (rest > 0) {
    int64_t low = std::min(rest, kb.lanes());
    prepare(kb.integer(fullVectors * kb.lanes()),
            kb.prefixMask(low, kb.lanes()),
            kb.prefixMask(rest - low, kb.lanes()));
  }
}

/// Calls `body` with the rows (static), the first row and the prepared block
/// of every row block. Blocks are of maxRows; the last one is of the smallest
/// size that holds the rest.
void PanelMatmul::forRowBlocks(
    Value rows, llvm::function_ref<void(int64_t, Value, Value)> body) {
  Value fullRows = kb.mul(kb.div(rows, maxRows), maxRows);
  auto blockAt = [&](Value row) { return kb.at(kb.scratch(), row, units * 4); };
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

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// One step of k for all accumulators: `panel` and `block` are the bases of
/// the weights and the rows, `unit` the step.
void PanelMatmul::multiplyUnit(Values &acc, Value panel, Value block,
                               int64_t rows, Value unit) {
  int64_t stride = blockStride(rows);
  bool widened = spec.dtype == DType::BF16 && !dot;
  // A widened step takes a pair of bf16 weights and two units.
  Value x = kb.at(block, unit, stride * (widened ? 8 : 4));
  Value weights = kb.at(panel, unit, panelWidth * 4);
  auto broadcast = [&](int64_t row) {
    return kb.splat(kb.load(kb.i32Type(), kb.at(x, row * 4)));
  };
  // Before the loads: after them it was no faster than no prefetch at all.
  for (int64_t line = 0; line < vectorsPerHalf * kb.lanes() * 4; line += 64)
    if (rows >= prefetchRows)
      kb.prefetch(kb.at(weights, prefetchBytes + line));

  Values vectors;
  for (int64_t v = 0; v < vectorsPerHalf; ++v)
    vectors.push_back(
        kb.load(kb.i32Vector(), kb.at(weights, v * kb.lanes() * 4)));

  auto accumulate = [&](int64_t rowOffset, mlir::Type type,
                        llvm::function_ref<Value(Value)> decode) {
    Values decoded;
    for (Value vector : vectors)
      decoded.push_back(kb.bitcast(decode(vector), type));
    for (int64_t r = 0; r < rows; ++r) {
      Value value = kb.bitcast(broadcast(rowOffset + r), type);
      for (int64_t v = 0; v < vectorsPerHalf; ++v) {
        Value &sum = acc[r * vectorsPerHalf + v];
        sum = dot ? kb.dotBF16(sum, decoded[v], value)
                  : kb.fma(decoded[v], value, sum);
      }
    }
  };
  auto same = [](Value vector) { return vector; };
  if (dot)
    return accumulate(0, kb.vectorType(kb.bf16Type(), 2 * kb.lanes()), same);
  if (!widened)
    return accumulate(0, kb.f32Vector(), same);
  accumulate(0, kb.f32Vector(), [&](Value pair) {
    return kb.shiftLeft(pair, kb.constant(kb.i32Vector(), 16));
  });
  accumulate(stride, kb.f32Vector(), [&](Value pair) {
    return kb.bitAnd(pair, kb.constant(kb.i32Vector(), -65536));
  });
}

/// The sums of `rows` rows with one half panel, row after row.
Values PanelMatmul::multiply(Value panel, Value block, int64_t rows,
                             int64_t half) {
  panel = kb.at(panel, half * vectorsPerHalf * kb.lanes() * 4);
  int64_t steps = spec.dtype == DType::BF16 ? (spec.k + 1) / 2 : spec.k;
  int64_t perLoop = unroll(rows), unrolled = steps / perLoop * perLoop;
  Values acc(rows * vectorsPerHalf, kb.constant(kb.f32Vector(), 0));
  auto step = [&](Value unit, ValueRange in, int64_t count) {
    Values sums(in.begin(), in.end());
    for (int64_t u = 0; u < count; ++u)
      multiplyUnit(sums, panel, block, rows, kb.add(unit, u));
    return sums;
  };
  acc = kb.forRange(
      kb.integer(0), kb.integer(unrolled), perLoop, acc,
      [&](Value unit, ValueRange in) { return step(unit, in, perLoop); });
  return step(kb.integer(unrolled), acc, steps - unrolled);
}

/// All outputs of one task for one block of rows.
void PanelMatmul::emitBlock(Value group, Value task, Value firstRow,
                            Value rowsLeft, int64_t blockRows, Value block) {
  int64_t outputs = spec.gated ? spec.n / 2 : spec.n;
  Value panel = panelPointer(group, spec.gated ? kb.mul(task, 2) : task);
  for (int64_t half = 0; half < halves(); ++half) {
    Values sums = multiply(panel, block, blockRows, half);
    if (spec.gated) {
      Value upPanel = panelPointer(group, kb.add(kb.mul(task, 2), 1));
      Values up = multiply(upPanel, block, blockRows, half);
      for (auto [sum, factor] : llvm::zip(sums, up))
        sum = kb.mul(emitSilu(kb, sum), factor);
    }
    for (int64_t r = 0; r < blockRows; ++r)
      kb.ifThen(kb.cmp(Cmp::GT, rowsLeft, r), [&] {
        for (int64_t v = 0; v < vectorsPerHalf; ++v) {
          int64_t offset = (half * vectorsPerHalf + v) * kb.lanes();
          Value column = kb.add(kb.mul(task, panelWidth), offset);
          Value mask;
          if (outputs % panelWidth != 0)
            mask =
                kb.prefixMask(kb.sub(kb.integer(outputs), column), kb.lanes());
          spec.store(group, kb.add(firstRow, r), column,
                     sums[r * vectorsPerHalf + v], mask);
        }
      });
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void PanelMatmul::emitPass(Value group, Value firstRow, Value rows) {
  auto limit = [&](Value value, int64_t most) {
    return kb.min(value, kb.integer(most));
  };
  Value count = limit(kb.sub(rows, firstRow), rowsPerPass);
  forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
    prepareBlock(group, kb.add(firstRow, row), rows, blockStride(blockRows),
                 block);
  });
  Value groupBegin =
      spec.taskSpansGroups ? kb.integer(0) : kb.mul(group, tasksPerGroup);
  Value begin = kb.max(kb.sub(kb.taskBegin(), groupBegin), kb.integer(0));
  Value end = limit(kb.sub(kb.taskEnd(), groupBegin), tasksPerGroup);
  kb.forRange(begin, end, 1, [&](Value task) {
    forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
      emitBlock(group, task, kb.add(firstRow, row), kb.sub(count, row),
                blockRows, block);
    });
  });
}

void PanelMatmul::emitGroup(Value group) {
  Value rows = spec.rowCount(group);
  kb.forRange(kb.integer(0), rows, rowsPerPass,
              [&](Value firstRow) { emitPass(group, firstRow, rows); });
}

void PanelMatmul::emit() {
  if (spec.taskSpansGroups)
    return kb.forRange(kb.integer(0), kb.integer(spec.groups), 1,
                       [&](Value group) { emitGroup(group); });
  Value first = kb.div(kb.taskBegin(), tasksPerGroup);
  Value end = kb.div(kb.add(kb.taskEnd(), tasksPerGroup - 1), tasksPerGroup);
  kb.forRange(first, end, 1, [&](Value group) { emitGroup(group); });
}

void mtp::codegen::emitPanelMatmul(KernelBuilder &kb,
                                   const PanelMatmulSpec &spec) {
  PanelMatmul(kb, spec).emit();
}
