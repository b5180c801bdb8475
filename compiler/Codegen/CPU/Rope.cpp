//===- Rope.cpp - Rotary positions ----------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;
using namespace mlir;

namespace {
/// A rotated pair of vectors.
struct Pair {
  Value first, second;
};
} // namespace

static Pair rotate(KernelBuilder &kb, Pair x, Value cosine, Value sine) {
  return {kb.fma(x.first, cosine, kb.neg(kb.mul(x.second, sine))),
          kb.fma(x.second, cosine, kb.mul(x.first, sine))};
}

/// Rotates the pairs (i, i + dim / 2).
static void rotateHalves(KernelBuilder &kb, Value from, Value to, Value table,
                         int64_t dim) {
  int64_t half = dim / 2;
  kb.forChunks(half, [&](Value first, Value mask) {
    auto load = [&](Value base, int64_t offset) {
      return kb.load(kb.f32Vector(), kb.at(kb.at(base, offset * 4), first, 4),
                     mask);
    };
    Pair y = rotate(kb, {load(from, 0), load(from, half)}, load(table, 0),
                    load(table, half));
    kb.store(y.first, kb.at(to, first, 4), mask);
    kb.store(y.second, kb.at(kb.at(to, half * 4), first, 4), mask);
  });
}

/// Rotates the pairs (2i, 2i + 1); one vector holds lanes() / 2 of them.
static void rotateNeighbours(KernelBuilder &kb, Value from, Value to,
                             Value table, int64_t dim) {
  int64_t pairs = kb.lanes() / 2, half = dim / 2;
  SmallVector<int64_t> even, odd, merge;
  for (int64_t i = 0; i < pairs; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
    merge.append({i, pairs + i});
  }
  VectorType type = kb.vectorType(kb.f32Type(), pairs);
  kb.forChunks(dim, [&](Value first, Value mask) {
    Value pairMask;
    if (mask)
      pairMask = kb.prefixMask(half % pairs, pairs);
    Value entry = kb.at(table, kb.div(first, 2), 4);
    Value cosine = kb.load(type, entry, pairMask);
    Value sine = kb.load(type, kb.at(entry, half * 4), pairMask);
    Value x = kb.load(kb.f32Vector(), kb.at(from, first, 4), mask);
    Pair y = rotate(kb, {kb.shuffle(x, x, even), kb.shuffle(x, x, odd)}, cosine,
                    sine);
    kb.store(kb.shuffle(y.first, y.second, merge), kb.at(to, first, 4), mask);
  });
}

/// buffers: x, table, positions, y (may be x). params: M.
static void emitRope(KernelBuilder &kb, const KernelConfig &config) {
  int64_t heads = config.integer("heads"), dim = config.integer("dim");
  int64_t headStride = config.integer("head_stride", dim);
  int64_t offset = config.integer("offset");
  int64_t copyWidth = config.integer("copy_width", headStride);
  int64_t xStride = config.integer("x_stride", heads * headStride);
  int64_t yStride = config.integer("y_stride", heads * headStride);
  bool interleaved = config.text("layout", "half") == "interleaved";
  kb.forTasks([&](Value row) {
    Value position = kb.max(kb.loadI32(kb.buffer(2), row), kb.integer(0));
    Value table = kb.at(kb.buffer(1), position, dim * 4);
    Value xRow = kb.at(kb.buffer(0), row, xStride * 4);
    Value yRow = kb.at(kb.buffer(3), row, yStride * 4);
    kb.forRange(kb.integer(0), kb.integer(heads), 1, [&](Value head) {
      Value from = kb.at(xRow, head, headStride * 4);
      Value to = kb.at(yRow, head, headStride * 4);
      kb.copy(from, to, offset);
      (interleaved ? rotateNeighbours : rotateHalves)(
          kb, kb.at(from, offset * 4), kb.at(to, offset * 4), table, dim);
      int64_t end = offset + dim;
      kb.copy(kb.at(from, end * 4), kb.at(to, end * 4), copyWidth - end);
    });
  });
}

static LogicalResult verifyRope(const KernelConfig &config,
                                EmitError emitError) {
  int64_t dim = config.integer("dim"), offset = config.integer("offset");
  if (dim % 2 != 0)
    return emitError() << "expected an even dim, got " << dim;
  int64_t width =
      config.integer("copy_width", config.integer("head_stride", dim));
  if (offset < 0 || offset + dim > width)
    return emitError() << "expected offset + dim to be at most copy_width "
                       << width << ", got " << offset + dim;
  return success();
}

static constexpr ConfigKey ropeKeys[] = {
    {"heads", ConfigKey::Int, true},
    {"dim", ConfigKey::Int, true},
    {"head_stride", ConfigKey::Int, false},
    {"offset", ConfigKey::Int, false},
    {"layout", ConfigKey::Text, false, "half|interleaved"},
    {"x_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"copy_width", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"rope", ropeKeys, emitRope, taskPerRow, nullptr, verifyRope}};

llvm::ArrayRef<KernelKind> mtp::codegen::ropeKernels() { return kinds; }
