//===- SampleKeys.cpp - Keys by which sampling picks a token --------------===//
//
// Computes the keys of runtime/device/cpu/SampleMath.h, noise minus distance,
// for the tokens that a row's distribution keeps. Sampling picks the token of
// the largest key, to the bit. Without that token it would pick the token of
// the next key, and so on.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Argmax.h"
#include "compiler/Codegen/Rows/MathApprox.h"
#include "compiler/Codegen/Rows/RowSums.h"
#include "compiler/Codegen/Rows/TokenNoise.h"
#include "compiler/Codegen/Rows/TokenWeight.h"
#include "runtime/schema/SamplingLayout.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;

// Words of a slot (runtime/schema/FORMAT.md).
static constexpr int64_t kSeedLow = 0, kSeedHigh = 1, kTemperature = 2;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// Pointers of a row, and the inputs of its noise.
struct KeyedRow {
  Value x, p, keys, sum;
  /// Null if a column is its token.
  Value tokens;
  /// i32; `number` is 0 for the noise of the position.
  Value words, position, number;
};

/// Writes the keys of a row that is sampled at random.
class KeyWriter {
public:
  KeyWriter(KernelBuilder &kb, int64_t width, const KeyedRow &row)
      : kb(kb), width(width), row(row) {}

  void write(Value best, Value column);

private:
  Value word(int64_t index, mlir::Type type) {
    return kb.loadOne(type, kb.at(row.words, index * 4));
  }
  Value noiseOf(const NoiseKey &key, Value first, Value mask);

  KernelBuilder &kb;
  const int64_t width;
  const KeyedRow &row;
};
} // namespace

Value KeyWriter::noiseOf(const NoiseKey &key, Value first, Value mask) {
  Value token =
      row.tokens ? kb.loadLanes(kb.i32Type(), kb.at(row.tokens, first, 4), mask)
                 : kb.add(kb.laneNumbers(),
                          kb.splat(kb.truncate(first, kb.i32Type())));
  Value block = kb.shiftRight(token, kb.constant(kb.i32Lanes(), 2));
  return emitGumbel(kb, emitWordOf(kb, emitNoiseWords(kb, key, block), token));
}

/// Writes the keys. `best` is the row's largest logit, at `column`.
void KeyWriter::write(Value best, Value column) {
  Value most = kb.f32(std::numeric_limits<float>::max());
  Value perTemperature = kb.splat(
      kb.min(kb.div(kb.f32(1), word(kTemperature, kb.f32Type())), most));
  NoiseKey key{kb.splat(word(kSeedLow, kb.i32Type())),
               kb.splat(word(kSeedHigh, kb.i32Type())), kb.splat(row.position),
               kb.splat(row.number)};
  Value bestLanes = kb.splat(best);
  Value none = kb.constant(kb.f32Lanes(), -kInfinity);
  kb.forChunks(width, [&](Value first, Value mask) {
    Value logit = kb.loadLanes(kb.f32Type(), kb.at(row.x, first, 4), mask);
    Value share = kb.loadLanes(kb.f32Type(), kb.at(row.p, first, 4), mask);
    Value isKept = kb.cmp(Cmp::GT, share, kb.constant(kb.f32Lanes(), 0));
    Value distance = emitDistance(kb, bestLanes, perTemperature, logit);
    Value own = kb.sub(noiseOf(key, first, mask), distance);
    kb.storeLanes(kb.select(isKept, own, none), kb.at(row.keys, first, 4),
                  mask);
  });
  // The best token has weight 1, so its share is 1 / sum, a normal number.
  Value share = kb.loadOne(kb.f32Type(), kb.at(row.p, column, 4));
  kb.storeOne(kb.neg(emitLog(kb, share)), row.sum);
}

/// Returns the pointers of row `row`.
static KeyedRow rowOf(KernelBuilder &kb, exec::SampleKeysKernelAttr kernel,
                      Value row) {
  int64_t bytes = kernel.getWidth() * 4, next = 2;
  KeyedRow own;
  own.x = kb.at(kb.buffer(0), row, bytes);
  own.p = kb.at(kb.buffer(1), row, bytes);
  if (kernel.getMapped())
    own.tokens = kb.buffer(next++);
  Value slot =
      kb.clampIndex(kb.loadI32(kb.buffer(next++), row), kernel.getSlots());
  Value one = kb.constant(kb.i32Type(), 1);
  auto behind = [&](Value numbers) { // the row's number plus 1
    return kb.add(kb.loadOne(kb.i32Type(), kb.at(numbers, row, 4)), one);
  };
  own.position = behind(kb.buffer(next++));
  own.number = kernel.getNumbered() ? behind(kb.buffer(next++))
                                    : kb.constant(kb.i32Type(), 0);
  own.words = kb.at(kb.buffer(next++), slot, kSamplingWords * 4);
  own.keys = kb.at(kb.buffer(next++), row, bytes);
  own.sum = kb.at(kb.buffer(next), row, 4);
  return own;
}

/// Emits sample_keys. Buffers: x, p, [tokens], slots, positions, [numbers],
/// sampling, keys, sums. Params: M.
static void emitSampleKeys(KernelBuilder &kb,
                           exec::SampleKeysKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  kb.forTasks([&](Value index) {
    KeyedRow row = rowOf(kb, kernel, index);
    Value column = emitArgmax(kb, row.x, width);
    Value best = kb.loadOne(kb.f32Type(), kb.at(row.x, column, 4));
    Value temperature =
        kb.loadOne(kb.f32Type(), kb.at(row.words, kTemperature * 4));
    Value isDrawn =
        kb.bitAnd(kb.bitAnd(kb.cmp(Cmp::GT, best, kb.f32(-kInfinity)),
                            kb.cmp(Cmp::LT, best, kb.f32(kInfinity))),
                  kb.cmp(Cmp::GT, temperature, kb.f32(0)));
    kb.ifElse(
        isDrawn, [&] { KeyWriter(kb, width, row).write(best, column); },
        [&] {
          kb.copy(row.x, row.keys, width);
          kb.storeOne(emitLogSumExp(kb, row.x, width), row.sum);
        });
  });
}

static const RowKernel kinds[] = {rowKernel(emitSampleKeys)};

llvm::ArrayRef<RowKernel> mtp::codegen::sampleKeyKernels() { return kinds; }
