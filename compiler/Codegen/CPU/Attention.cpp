//===- Attention.cpp - Attention over the paged cache ---------------------===//
//
// A task is one row and a tile of query heads that share a key head. It walks
// the blocks of `page` positions with an online softmax; blocks are absolute
// positions of the cache, so that a row's result does not depend on how it got
// there (chunked prefill, decoding, verification).
//
// The two kinds differ in which positions a row sees. That is a bit set per
// block: all positions up to its own, or a prefix and the set bits of a tree
// mask. Positions outside it are not read.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/CPU/MathApprox.h"
#include <limits>

using namespace mtp::codegen;
using namespace mlir;

static constexpr int64_t maxHeadTile = 4;
/// Output vectors that are accumulated at once.
static constexpr int64_t vectorTile = 4;

/// Query heads of one task.
static int64_t headTile(const KernelConfig &config) {
  int64_t group = config.integer("q_heads") / config.integer("kv_heads");
  int64_t tile = std::min(group, maxHeadTile);
  while (group % tile != 0)
    --tile;
  return tile;
}

namespace {

class Attention {
public:
  Attention(KernelBuilder &kb, const KernelConfig &config, bool tree)
      : kb(kb), config(config), tree(tree), dk(config.integer("dk")),
        dv(config.integer("dv")), page(config.integer("page")),
        tile(headTile(config)), bytes(byteWidth(config.dtype())),
        entryBytes(config.integer("entry_width") * bytes) {}

  void emit();
  static int64_t scratch(const KernelConfig &config, const TargetDesc &target);

private:
  /// What a row sees: positions [begin, end), less those that bitsOf leaves
  /// out.
  struct View {
    Value begin, end;
    llvm::function_ref<Value(Value)> bitsOf;
  };

  void emitTask(Value task);
  void emitRow(Value row, Value tileIndex, const View &view);
  void emitBlock(Value block, Value bits, Value keys, Value values, Value q);
  void emitHead(Value bits, bool full, Value keys, Value values, Value q,
                Value head);
  Values emitScores(Value bits, bool full, Value keys, Value q);
  Value emitSoftmax(Value bits, bool full, ArrayRef<Value> scores, Value head);
  void accumulate(Value bits, bool full, Value values, Value alpha, Value acc,
                  Value first, int64_t count, Value mask);
  Values forTokens(Value bits, bool full, Values inits,
                   llvm::function_ref<Values(Value, ValueRange)> body);
  void emitOutput(Value y, Value head);

  Value clearBitsAbove(Value count);
  Value laneMask(Value bits, int64_t chunk);

  int64_t chunks() const { return llvm::divideCeil(page, kb.lanes()); }
  int64_t paddedDv() const { return llvm::alignTo(dv, kb.lanes()); }

  // Scratch of one task.
  Value accOf(Value head) { return kb.at(kb.scratch(), head, paddedDv() * 4); }
  Value weights() { return kb.at(kb.scratch(), tile * paddedDv() * 4); }
  Value maxOf(Value head) {
    return kb.at(kb.at(weights(), chunks() * kb.lanes() * 4), head, 4);
  }
  Value sumOf(Value head) { return kb.at(maxOf(head), maxHeadTile * 4); }

  KernelBuilder &kb;
  const KernelConfig &config;
  const bool tree;
  const int64_t dk, dv, page, tile, bytes, entryBytes;
};

} // namespace

int64_t Attention::scratch(const KernelConfig &config,
                           const TargetDesc &target) {
  int64_t acc = llvm::alignTo(config.integer("dv"), target.lanes);
  int64_t weights = llvm::alignTo(config.integer("page"), target.lanes);
  return (headTile(config) * acc + weights + 2 * maxHeadTile) * 4;
}

//===----------------------------------------------------------------------===//
// Bit sets of positions
//===----------------------------------------------------------------------===//

/// The bit set {0, ..., count - 1}, with count clamped to [0, page].
Value Attention::clearBitsAbove(Value count) {
  count = kb.max(kb.min(count, kb.integer(page)), kb.integer(0));
  Value all = kb.cmp(Cmp::EQ, count, 64);
  Value shift = kb.select(all, kb.integer(0), count);
  Value bits = kb.sub(kb.shiftLeft(kb.integer(1), shift), 1);
  return kb.select(all, kb.integer(-1), bits);
}

/// The bits of one vector of tokens as a mask.
Value Attention::laneMask(Value bits, int64_t chunk) {
  Value shifted = kb.shiftRight(bits, kb.integer(chunk * kb.lanes()));
  Type narrow = IntegerType::get(kb.i32Type().getContext(), kb.lanes());
  Type mask = kb.vectorType(IntegerType::get(narrow.getContext(), 1),
                            kb.lanes());
  return kb.bitcast(kb.truncate(shifted, narrow), mask);
}

/// Runs `body` for every token of the block that is seen, in ascending order.
Values
Attention::forTokens(Value bits, bool full, Values inits,
                     llvm::function_ref<Values(Value, ValueRange)> body) {
  if (full)
    return kb.forRange(kb.integer(0), kb.integer(page), 1, inits, body);
  inits.push_back(bits);
  Values result = kb.whileLoop(
      inits,
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state.back(), 0); },
      [&](ValueRange state) {
        Value rest = state.back();
        Values next = body(kb.countTrailingZeros(rest), state.drop_back());
        next.push_back(kb.bitAnd(rest, kb.sub(rest, 1)));
        return next;
      });
  result.pop_back();
  return result;
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

/// The scaled dot products of a query with the keys of a block, as vectors of
/// tokens. Lanes of tokens that are not seen hold anything.
Values Attention::emitScores(Value bits, bool full, Value keys, Value q) {
  Values scores;
  Value firstSeen = full ? Value() : kb.countTrailingZeros(bits);
  for (int64_t chunk = 0; chunk < chunks(); ++chunk) {
    Values rows;
    for (int64_t lane = 0; lane < kb.lanes(); ++lane) {
      // A token that is not seen reads the key of one that is.
      int64_t token = std::min(chunk * kb.lanes() + lane, page - 1);
      if (full) {
        rows.push_back(kb.at(keys, token * entryBytes));
        continue;
      }
      Value bit = kb.bitAnd(bits, kb.integer(int64_t(uint64_t(1) << token)));
      Value index = kb.select(kb.cmp(Cmp::NE, bit, 0), kb.integer(token),
                              firstSeen);
      rows.push_back(kb.at(keys, index, entryBytes));
    }
    Values sums(kb.lanes(), kb.constant(kb.f32Vector(), 0));
    sums = kb.forChunks(dk, sums, [&](Value first, Value mask, ValueRange in) {
      Value query = kb.load(kb.f32Vector(), kb.at(q, first, 4), mask);
      Values next;
      for (auto [row, sum] : llvm::zip(rows, in)) {
        Value key =
            kb.loadFloats(kb.at(row, first, bytes), config.dtype(), mask);
        next.push_back(kb.fma(query, key, sum));
      }
      return next;
    });
    Value scale = kb.constant(kb.f32Vector(), config.real("scale"));
    scores.push_back(kb.mul(kb.reduceAddEach(sums), scale));
  }
  return scores;
}

/// Turns scores into weights in scratch, updates the running maximum and sum,
/// and returns the factor of what was accumulated before.
Value Attention::emitSoftmax(Value bits, bool full, ArrayRef<Value> scores,
                             Value head) {
  double lowest = -std::numeric_limits<double>::infinity();
  Values masked, masks;
  for (auto [chunk, score] : llvm::enumerate(scores)) {
    bool whole = full && (int64_t(chunk) + 1) * kb.lanes() <= page;
    masks.push_back(whole ? Value() : laneMask(bits, chunk));
    masked.push_back(whole ? score
                           : kb.select(masks.back(), score,
                                       kb.constant(kb.f32Vector(), lowest)));
  }
  Value most = masked.front();
  for (Value score : llvm::drop_begin(masked))
    most = kb.max(most, score);
  Value before = kb.load(kb.f32Type(), maxOf(head));
  Value now = kb.max(before, kb.reduceMax(most));
  Value alpha = kb.extractLane(
      emitExp(kb, kb.splat(kb.sub(before, now))), 0);

  Value total;
  for (auto [chunk, score] : llvm::enumerate(masked)) {
    Value weight = emitExp(kb, kb.sub(score, kb.splat(now)));
    if (masks[chunk])
      weight = kb.select(masks[chunk], weight, kb.constant(kb.f32Vector(), 0));
    kb.store(weight, kb.at(weights(), chunk * kb.lanes() * 4));
    total = total ? kb.add(total, weight) : weight;
  }
  Value sum = kb.load(kb.f32Type(), sumOf(head));
  kb.store(kb.fma(sum, alpha, kb.reduceAdd(total)), sumOf(head));
  kb.store(now, maxOf(head));
  return alpha;
}

/// acc = alpha * acc + weights * values, for `count` vectors at `first`.
void Attention::accumulate(Value bits, bool full, Value values, Value alpha,
                           Value acc, Value first, int64_t count, Value mask) {
  Value from = kb.at(values, first, bytes), to = kb.at(acc, first, 4);
  Value factor = kb.splat(alpha);
  Values sums;
  for (int64_t v = 0; v < count; ++v)
    sums.push_back(kb.mul(
        kb.load(kb.f32Vector(), kb.at(to, v * kb.lanes() * 4)), factor));
  sums = forTokens(bits, full, sums, [&](Value token, ValueRange in) {
    Value weight =
        kb.splat(kb.load(kb.f32Type(), kb.at(weights(), token, 4)));
    Value row = kb.at(from, token, entryBytes);
    Values next;
    for (int64_t v = 0; v < count; ++v) {
      Value value = kb.loadFloats(kb.at(row, v * kb.lanes() * bytes),
                                  config.dtype(), mask);
      next.push_back(kb.fma(weight, value, in[v]));
    }
    return next;
  });
  for (int64_t v = 0; v < count; ++v)
    kb.store(sums[v], kb.at(to, v * kb.lanes() * 4));
}

void Attention::emitHead(Value bits, bool full, Value keys, Value values,
                         Value q, Value head) {
  Values scores = emitScores(bits, full, keys, kb.at(q, head, dk * 4));
  Value alpha = emitSoftmax(bits, full, scores, head);
  Value acc = accOf(head);
  int64_t vectors = dv / kb.lanes(), rest = dv % kb.lanes();
  int64_t tiled = vectors / vectorTile * vectorTile;
  kb.forRange(kb.integer(0), kb.integer(tiled * kb.lanes()),
              vectorTile * kb.lanes(), [&](Value first) {
                accumulate(bits, full, values, alpha, acc, first, vectorTile,
                           Value());
              });
  if (tiled < vectors)
    accumulate(bits, full, values, alpha, acc, kb.integer(tiled * kb.lanes()),
               vectors - tiled, Value());
  if (rest > 0)
    accumulate(bits, full, values, alpha, acc,
               kb.integer(vectors * kb.lanes()), 1,
               kb.prefixMask(rest, kb.lanes()));
}

void Attention::emitBlock(Value block, Value bits, Value keys, Value values,
                          Value q) {
  auto forHeads = [&](bool full) {
    kb.forRange(kb.integer(0), kb.integer(tile), 1, [&](Value head) {
      emitHead(bits, full, keys, values, q, head);
    });
  };
  Value whole = clearBitsAbove(kb.integer(page));
  kb.ifElse(
      kb.cmp(Cmp::EQ, bits, whole), [&] { forHeads(true); },
      [&] {
        kb.ifThen(kb.cmp(Cmp::NE, bits, 0), [&] { forHeads(false); });
      });
}

//===----------------------------------------------------------------------===//
// One task
//===----------------------------------------------------------------------===//

/// Divides what was accumulated by the sum of the weights; a row that sees
/// nothing is zero.
void Attention::emitOutput(Value y, Value head) {
  Value sum = kb.load(kb.f32Type(), sumOf(head));
  Value inverse = kb.select(kb.cmp(Cmp::EQ, sum, kb.f32(0)), kb.f32(0),
                            kb.div(kb.f32(1), sum));
  Value to = kb.at(y, head, dv * 4), acc = accOf(head);
  kb.forChunks(dv, [&](Value first, Value mask) {
    Value value = kb.load(kb.f32Vector(), kb.at(acc, first, 4));
    kb.store(kb.mul(value, kb.splat(inverse)), kb.at(to, first, 4), mask);
  });
}

void Attention::emitRow(Value row, Value tileIndex, const View &view) {
  int64_t qHeads = config.integer("q_heads");
  int64_t group = qHeads / config.integer("kv_heads");
  Value head = kb.mul(tileIndex, tile), kvHead = kb.div(head, group);
  Value q = kb.at(kb.at(kb.buffer(0), row,
                        config.integer("q_stride", qHeads * dk) * 4),
                  head, dk * 4);
  Value y = kb.at(kb.at(kb.buffer(tree ? 6 : 5), row,
                        config.integer("y_stride", qHeads * dv) * 4),
                  head, dv * 4);
  Value slot = kb.loadI32(kb.buffer(1), row);
  Value pages = kb.at(kb.buffer(3), kb.mul(slot, kb.param(1)), 4);

  Value lowest =
      kb.f32(-std::numeric_limits<double>::infinity());
  kb.forRange(kb.integer(0), kb.integer(tile), 1, [&](Value h) {
    kb.store(lowest, maxOf(h));
    kb.store(kb.f32(0), sumOf(h));
    kb.forChunks(paddedDv(), [&](Value first, Value) {
      kb.store(kb.constant(kb.f32Vector(), 0), kb.at(accOf(h), first, 4));
    });
  });
  Value endBlock = kb.div(kb.add(view.end, page - 1), page);
  kb.forRange(kb.div(view.begin, page), endBlock, 1, [&](Value block) {
    Value entry = kb.at(kb.buffer(4), kb.loadI32(pages, block),
                        page * entryBytes);
    Value keys = kb.at(kb.at(entry, config.integer("k_offset") * bytes),
                       kvHead, dk * bytes);
    Value values = kb.at(kb.at(entry, config.integer("v_offset") * bytes),
                         kvHead, dv * bytes);
    emitBlock(block, view.bitsOf(kb.mul(block, page)), keys, values, q);
  });
  kb.forRange(kb.integer(0), kb.integer(tile), 1,
              [&](Value h) { emitOutput(y, h); });
}

void Attention::emitTask(Value task) {
  int64_t tiles = config.integer("q_heads") / tile;
  Value row = kb.div(task, tiles), tileIndex = kb.rem(task, tiles);
  Value place = kb.loadI32(kb.buffer(2), row);
  Value zero = kb.integer(0);

  if (!tree) {
    int64_t window = config.integer("window");
    Value end = kb.add(place, 1);
    Value begin = window ? kb.max(kb.sub(end, window), zero) : zero;
    auto bitsOf = [&](Value start) {
      Value bits = clearBitsAbove(kb.sub(end, start));
      if (!window)
        return bits;
      return kb.sub(bits, clearBitsAbove(kb.sub(begin, start)));
    };
    return emitRow(row, tileIndex, {begin, end, bitsOf});
  }

  // A tree row sees [0, place) and the nodes of its mask from `place` on.
  Value nodes = kb.param(2);
  Value mask = kb.load(kb.i64Type(),
                       kb.at(kb.buffer(5), kb.rem(row, nodes), 8));
  Value end = kb.select(kb.cmp(Cmp::LT, place, 0), zero, kb.add(place, nodes));
  auto bitsOf = [&](Value start) {
    // Node 0 is at bit `place - start` of the block.
    Value up = kb.sub(place, start), down = kb.sub(start, place);
    auto shiftBy = [&](Value count, bool left) {
      Value inRange = kb.bitAnd(kb.cmp(Cmp::GE, count, 0),
                                kb.cmp(Cmp::LT, count, 64));
      Value by = kb.select(inRange, count, zero);
      Value shifted = left ? kb.shiftLeft(mask, by) : kb.shiftRight(mask, by);
      return kb.select(inRange, shifted, zero);
    };
    Value nodeBits = kb.bitOr(shiftBy(up, true), shiftBy(down, false));
    Value present = kb.bitAnd(nodeBits, clearBitsAbove(kb.sub(end, start)));
    return kb.bitOr(clearBitsAbove(up), present);
  };
  emitRow(row, tileIndex, {zero, end, bitsOf});
}

void Attention::emit() {
  kb.forTasks([&](Value task) { emitTask(task); });
}

/// buffers: q, slots, positions, page table, base of the layer's pages, y.
/// params: M, maxPages.
static void emitAttention(KernelBuilder &kb, const KernelConfig &config) {
  Attention(kb, config, /*tree=*/false).emit();
}

/// buffers: q, slots, base, page table, base of the layer's pages, mask, y.
/// params: M, maxPages, N.
static void emitAttentionTree(KernelBuilder &kb, const KernelConfig &config) {
  Attention(kb, config, /*tree=*/true).emit();
}

static int64_t attentionTasks(const KernelConfig &config, int64_t rows) {
  return rows * (config.integer("q_heads") / headTile(config));
}

static LogicalResult verifyAttention(const KernelConfig &config,
                                     EmitError emitError) {
  int64_t qHeads = config.integer("q_heads");
  int64_t kvHeads = config.integer("kv_heads");
  if (qHeads % kvHeads != 0)
    return emitError() << "expected q_heads to be a multiple of kv_heads "
                       << kvHeads << ", got " << qHeads;
  if (config.integer("page") > 64)
    return emitError() << "expected a page of at most 64 positions, got "
                       << config.integer("page");
  int64_t entry = config.integer("entry_width");
  for (auto [offset, width] : {std::pair("k_offset", "dk"),
                               std::pair("v_offset", "dv")}) {
    int64_t end = config.integer(offset) + kvHeads * config.integer(width);
    if (config.integer(offset) < 0 || end > entry)
      return emitError() << "expected " << offset << " + kv_heads * " << width
                         << " to be at most entry_width " << entry << ", got "
                         << end;
  }
  return success();
}

static constexpr ConfigKey attentionKeys[] = {
    {"q_heads", ConfigKey::Int, true},
    {"kv_heads", ConfigKey::Int, true},
    {"dk", ConfigKey::Int, true},
    {"dv", ConfigKey::Int, true},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, true},
    {"k_offset", ConfigKey::Int, false},
    {"v_offset", ConfigKey::Int, false},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"scale", ConfigKey::Float, true},
    {"window", ConfigKey::Int, false},
    {"q_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false}};

static constexpr ConfigKey treeKeys[] = {
    {"q_heads", ConfigKey::Int, true},
    {"kv_heads", ConfigKey::Int, true},
    {"dk", ConfigKey::Int, true},
    {"dv", ConfigKey::Int, true},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, true},
    {"k_offset", ConfigKey::Int, false},
    {"v_offset", ConfigKey::Int, false},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"scale", ConfigKey::Float, true},
    {"q_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"attention", attentionKeys, emitAttention, attentionTasks,
     Attention::scratch, verifyAttention},
    {"attention_tree", treeKeys, emitAttentionTree, attentionTasks,
     Attention::scratch, verifyAttention}};

llvm::ArrayRef<KernelKind> mtp::codegen::attentionKernels() { return kinds; }
