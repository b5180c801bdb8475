//===- PanelMatmul.cpp - Rows times packed weight panels ------------------===//

#include "compiler/Codegen/CPU/products/PanelMatmul.h"

#include "compiler/Codegen/CPU/products/QuantizedMatmul.h"
#include "compiler/Codegen/CPU/products/QuantizedTiles.h"
#include "compiler/Codegen/CPU/products/RowBlocks.h"
#include "compiler/Codegen/CPU/products/TileMatmul.h"

using namespace mtp::codegen;

static bool usesDot(DType dtype, const TargetDesc &target) {
  return dtype == DType::BF16 && target.bf16Dot;
}

/// Returns the units of one prepared row, padded to whole vectors.
static int64_t paddedUnits(int64_t k, DType dtype, const TargetDesc &target) {
  int64_t units = usesDot(dtype, target) ? (k + 1) / 2 : k;
  return (units + target.lanes - 1) / target.lanes * target.lanes;
}

/// Returns the number of rows whose sums fit in registers. With 8 lanes, six
/// rows are faster in one block than in two, but more rows are faster in blocks
/// of four.
static RowBlocks::RowLimits rowLimits(const TargetDesc &target) {
  bool wide = target.lanes == 16;
  return {std::min<int64_t>(wide ? 8 : 4, target.blockRows), wide ? 8 : 6, 64};
}

int64_t mtp::codegen::panelScratchBytes(int64_t k, const WeightFormat &format,
                                        const TargetDesc &target) {
  bool tiles = usesTiles(k, format, target);
  if (format.isQuantized() && tiles)
    return quantizedTilesScratchBytes(quantizedRowBytes(k, format, target),
                                      format);
  if (format.isQuantized())
    return quantizedScratchBytes(k, format, target);
  if (tiles)
    return tileScratchBytes(k);
  return RowBlocks::scratchBytes(paddedUnits(k, dtypeOf(format), target) * 4,
                                 rowLimits(target));
}

namespace {

/// Matmul of f32 or bf16 weights.
class PanelMatmul : public RowBlocks {
public:
  PanelMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec)
      : RowBlocks(kb, spec,
                  paddedUnits(spec.k, dtypeOf(spec.format), kb.getTarget()) * 4,
                  spec.format.panelBytes(spec.k, kPanelWidth),
                  ::rowLimits(kb.getTarget())),
        dtype(dtypeOf(spec.format)), dot(usesDot(dtype, kb.getTarget())) {}

private:
  void prepare(Value group, Value firstRow, Value count, Value rows) override;
  Values multiply(Value panel, Value, Prefetch prefetch, Value block,
                  int64_t rows) override;

  void prepareBlock(Value group, Value firstRow, Value rows, int64_t stride,
                    Value to);
  Value loadUnits(Value from, Value inverse, Value first, Value mask,
                  Value maskHigh);
  Values interleave(ValueRange rows);
  void multiplyUnit(Values &acc, Value panel, Value block, Value unit,
                    Strip strip);
  Values multiplyPiece(ValueRange sums, Value panel, Prefetch prefetch,
                       Value block, Value first, int64_t count, Strip strip);
  Value prefetchOffset(Value unit, Value first, int64_t count, Strip strip);

  /// Steps of k in a piece of a panel (see Strip): 4 KiB.
  static constexpr int64_t pieceSteps = 32;
  /// Returns the distance in a block between the units of one row.
  static int64_t blockStride(int64_t rows) { return llvm::PowerOf2Ceil(rows); }

  const DType dtype;
  const bool dot;
};

} // namespace

//===----------------------------------------------------------------------===//
// Preparing rows
//===----------------------------------------------------------------------===//

/// Interleaves vectors so that their lanes alternate, row after row.
Values PanelMatmul::interleave(ValueRange rows) {
  // Rows r and r + size / 2 end up next to each other in the first step, so the
  // order is right after the last step.
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

/// Loads one vector of units of a row, beginning at unit `first`.
Value PanelMatmul::loadUnits(Value from, Value inverse, Value first, Value mask,
                             Value maskHigh) {
  if (!dot)
    return kb.bitcast(loadInputs(from, inverse, first, mask), kb.i32Vector());
  Value value = kb.mul(first, 2);
  Value low = loadInputs(from, inverse, value, mask);
  Value high = loadInputs(from, inverse, kb.add(value, kb.lanes()), maskHigh);
  return kb.bitcast(kb.roundToBF16(kb.concat({low, high})), kb.i32Vector());
}

void PanelMatmul::prepareBlock(Value group, Value firstRow, Value rows,
                               int64_t stride, Value to) {
  Values pointers, inverses;
  for (int64_t r = 0; r < stride; ++r) {
    // Rows beyond the end repeat the last row; their results are not stored.
    Value row = kb.min(kb.add(firstRow, r), kb.sub(rows, 1));
    pointers.push_back(spec.rowPointer(group, row));
    inverses.push_back(inverseRms(pointers[r]));
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

void PanelMatmul::prepare(Value group, Value firstRow, Value count,
                          Value rows) {
  forRowBlocks(count, [&](int64_t blockRows, Value row, Value block) {
    prepareBlock(group, kb.add(firstRow, row), rows, blockStride(blockRows),
                 block);
  });
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// Multiplies one step of k for all sums of a strip. `panel` and `block` are
/// the bases of the weights and the rows, `unit` is the step.
void PanelMatmul::multiplyUnit(Values &acc, Value panel, Value block,
                               Value unit, Strip strip) {
  int64_t stride = blockStride(strip.rows);
  bool widened = dtype == DType::BF16 && !dot;
  // A widened step takes a pair of bf16 weights and two units.
  Value x = kb.at(block, unit, stride * (widened ? 8 : 4));
  Value weights = kb.at(kb.at(panel, unit, stepBytes), strip.bytes);
  auto broadcast = [&](int64_t row) {
    return kb.splat(kb.load(kb.i32Type(), kb.at(x, row * 4)));
  };
  Values vectors;
  for (int64_t v = 0; v < strip.vectors; ++v)
    vectors.push_back(
        kb.load(kb.i32Vector(), kb.at(weights, v * kb.lanes() * 4)));

  auto accumulate = [&](int64_t rowOffset, mlir::Type type,
                        llvm::function_ref<Value(Value)> decode) {
    Values decoded;
    for (Value vector : vectors)
      decoded.push_back(kb.bitcast(decode(vector), type));
    for (int64_t r = 0; r < strip.rows; ++r) {
      Value value = kb.bitcast(broadcast(rowOffset + r), type);
      for (int64_t v = 0; v < strip.vectors; ++v) {
        Value &sum = acc[r * strip.vectors + v];
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

/// Returns the offset in a panel for a strip's prefetch in step `unit` of the
/// piece of `count` steps from `first` on. The strips of a piece prefetch
/// consecutive ranges of the memory ahead of the piece:
///   first * stepBytes + (index * count + unit - first) * prefetchBytes
Value PanelMatmul::prefetchOffset(Value unit, Value first, int64_t count,
                                  Strip strip) {
  return kb.add(kb.mul(unit, strip.prefetchBytes),
                kb.add(kb.mul(first, stepBytes - strip.prefetchBytes),
                       strip.index * count * strip.prefetchBytes));
}

/// Multiplies the steps of one piece, `count` from `first` on, for all sums of
/// a strip.
Values PanelMatmul::multiplyPiece(ValueRange sums, Value panel,
                                  Prefetch prefetch, Value block, Value first,
                                  int64_t count, Strip strip) {
  int64_t perLoop = unroll(strip.rows), unrolled = count / perLoop * perLoop;
  auto run = [&](Value unit, ValueRange in, int64_t units) {
    Values next(in.begin(), in.end());
    Value from =
        prefetchAt(prefetch, prefetchOffset(unit, first, count, strip));
    for (int64_t u = 0; u < units; ++u) {
      // Prefetches come before the loads; after them they gained nothing. With
      // one row the loads already run far enough ahead, and a prefetch was
      // slower.
      if (strip.rows > 1)
        kb.prefetch(kb.at(from, u * strip.prefetchBytes), strip.prefetchBytes,
                    prefetch.level);
      multiplyUnit(next, panel, block, kb.add(unit, u), strip);
    }
    return next;
  };
  Value end = kb.add(first, unrolled);
  Values next =
      kb.forRange(first, end, perLoop, sums, [&](Value unit, ValueRange in) {
        return run(unit, in, perLoop);
      });
  return run(end, next, count - unrolled);
}

Values PanelMatmul::multiply(Value panel, Value, Prefetch prefetch, Value block,
                             int64_t rows) {
  int64_t steps = dtype == DType::BF16 ? (spec.k + 1) / 2 : spec.k;
  Values zeros(rows * panelVectors(), kb.constant(kb.f32Vector(), 0));
  auto run = [&](Value first, ValueRange sums, int64_t count) {
    return forStrips(sums, rows, [&](Strip strip, ValueRange ofStrip) {
      return multiplyPiece(ofStrip, panel, prefetch, block, first, count,
                           strip);
    });
  };
  if (stripCount(rows) == 1)
    return run(kb.integer(0), zeros, steps);
  int64_t whole = steps / pieceSteps * pieceSteps;
  Values sums = kb.forRange(
      kb.integer(0), kb.integer(whole), pieceSteps, zeros,
      [&](Value first, ValueRange in) { return run(first, in, pieceSteps); });
  return run(kb.integer(whole), sums, steps - whole);
}

void mtp::codegen::emitPanelMatmul(CpuBuilder &kb,
                                   const PanelMatmulSpec &spec) {
  bool tiles = usesTiles(spec.k, spec.format, kb.getTarget());
  if (spec.format.isQuantized())
    return tiles ? emitQuantizedTiles(kb, spec) : emitQuantizedMatmul(kb, spec);
  if (tiles)
    return emitTileMatmul(kb, spec);
  PanelMatmul(kb, spec).emit();
}
