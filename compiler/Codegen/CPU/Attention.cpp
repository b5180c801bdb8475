//===- Attention.cpp - Attention over the paged cache ---------------------===//
//
// A task is one row and a tile of query heads that share a key head. It walks
// the blocks of `page` positions with an online softmax; blocks are absolute
// positions of the cache, so that a row's result does not depend on how it got
// there (chunked prefill, decoding, verification).
//
// A row of a tree sees a prefix and its ancestors, whose entries lie scattered
// behind it. They are gathered into the blocks that they would be in if their
// path were the only one, so that a path's results are the bits of a chain.
// Positions that a row does not see are not read.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/CPU/MathApprox.h"
#include <limits>

using namespace mtp::codegen;
using namespace mlir;

static constexpr int64_t maxHeadTile = 4;

/// Query heads of one task.
static int64_t headTile(const KernelConfig &config) {
  int64_t group = config.integer("q_heads") / config.integer("kv_heads");
  int64_t tile = std::min(group, maxHeadTile);
  while (group % tile != 0)
    --tile;
  return tile;
}

namespace {

/// How a row of the cache is read. Two bf16 vectors are one load of pairs: the
/// even columns are the low halves and the odd ones the high halves. So the
/// columns of a "chunk" of two vectors are split like that in scratch too, and
/// put back in order at the end. Columns after the last whole chunk, and all
/// those of f32, are in their own order.
struct Columns {
  Columns(int64_t width, DType dtype, int64_t lanes)
      : width(width), vectorsPerChunk(dtype == DType::BF16 ? 2 : 1),
        chunk(vectorsPerChunk * lanes), chunked(width / chunk * chunk),
        padded(llvm::alignTo(width, lanes)) {}

  const int64_t width, vectorsPerChunk, chunk;
  /// Columns in whole chunks; columns with padding to whole vectors.
  const int64_t chunked, padded;
};

class Attention {
public:
  Attention(KernelBuilder &kb, const KernelConfig &config, bool tree)
      : kb(kb), config(config), tree(tree), page(config.integer("page")),
        tile(headTile(config)), dtype(config.dtype()), bytes(byteWidth(dtype)),
        entryBytes(config.integer("entry_width") * bytes),
        keyColumns(config.integer("dk"), dtype, kb.lanes()),
        valueColumns(config.integer("dv"), dtype, kb.lanes()) {}

  void emit();
  static int64_t scratch(const KernelConfig &config, const TargetDesc &target);
  static int64_t treeScratch(const KernelConfig &config,
                             const TargetDesc &target);

private:
  /// What a row sees: positions [begin, end), less those that bitsOf leaves
  /// out.
  struct View {
    Value begin, end;
    llvm::function_ref<Value(Value)> bitsOf;
    /// Trees only: the place of node 0, and the set of the nodes seen.
    Value base = {}, mask = {};
  };
  /// A block of the cache: the first entry's key and value, and the bit set of
  /// the tokens that are seen; `full` if it is known to be all of them.
  struct Block {
    Value keys, values, bits;
    bool full;
  };

  void emitTask(Value task);
  void emitRow(Value row, Value tileIndex, const View &view);
  void prepareQuery(Value q);
  Value entryOf(Value pages, Value position);
  void copyEntry(Value from, Value to, Value kvHead);
  void gatherPath(const View &view, Value pages, Value start, Value kvHead);
  void emitBlock(const Block &block);
  Value tokenRow(const Block &block, int64_t token, Value firstSeen);
  Values multiplyKeys(ArrayRef<Value> rows, Value first, ValueRange in,
                      int64_t vectors,
                      llvm::function_ref<Values(Value)> loadKey);
  Values emitKeyTile(ArrayRef<Value> rows);
  Values emitScores(const Block &block, int64_t chunk);
  void maskScores(const Block &block, Values &scores);
  Value updateMaxima(ArrayRef<Values> scores);
  void emitWeights(const Block &block, ArrayRef<Value> scores, Value alpha,
                   int64_t head);
  void emitValues(const Block &block, ArrayRef<Value> alphas);
  void accumulate(const Block &block, ArrayRef<Value> alphas, Value first,
                  int64_t vectors,
                  llvm::function_ref<Values(Value row)> loadRow);
  Values forTokens(const Block &block, Values inits,
                   llvm::function_ref<Values(Value, ValueRange)> body);
  void emitOutput(Value y, int64_t head);

  Values loadChunk(Value from);
  Value clearBitsAbove(Value count);
  Value seenLanes(const Block &block, int64_t chunk);

  int64_t lanes() const { return kb.lanes(); }
  /// Accumulators that fit in registers beside their operands.
  int64_t maxSums() const { return lanes(); }
  int64_t tokenChunks() const { return llvm::divideCeil(page, lanes()); }
  /// Keys that are multiplied at once.
  int64_t tokenTile() const {
    return llvm::bit_floor(uint64_t(maxSums() / tile));
  }

  // Scratch of one task.
  Value queryOf(int64_t head) {
    return kb.at(kb.scratch(), head * keyColumns.padded * 4);
  }
  Value sumsOf(int64_t head) {
    return kb.at(queryOf(tile), head * valueColumns.padded * 4);
  }
  Value weightsOf(int64_t head) {
    return kb.at(sumsOf(tile), head * tokenChunks() * lanes() * 4);
  }
  Value maxOf(int64_t head) { return kb.at(weightsOf(tile), head * 4); }
  Value totalOf(int64_t head) { return kb.at(maxOf(tile), head * 4); }
  /// Trees only: a block of entries.
  Value gathered() { return totalOf(tile); }

  KernelBuilder &kb;
  const KernelConfig &config;
  const bool tree;
  const int64_t page, tile;
  const DType dtype;
  const int64_t bytes, entryBytes;
  const Columns keyColumns, valueColumns;
};

} // namespace

int64_t Attention::scratch(const KernelConfig &config,
                           const TargetDesc &target) {
  auto padded = [&](llvm::StringRef key) {
    return llvm::alignTo(config.integer(key), target.lanes);
  };
  return headTile(config) * (padded("dk") + padded("dv") + padded("page") + 2) *
         4;
}

int64_t Attention::treeScratch(const KernelConfig &config,
                               const TargetDesc &target) {
  return scratch(config, target) + config.integer("page") *
                                       config.integer("entry_width") *
                                       byteWidth(config.dtype());
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

/// The mask of the tokens of one vector that are seen; null if all are.
Value Attention::seenLanes(const Block &block, int64_t chunk) {
  if (block.full && (chunk + 1) * lanes() <= page)
    return Value();
  Value shifted = kb.shiftRight(block.bits, kb.integer(chunk * lanes()));
  Type i1 = kb.boolean(true).getType();
  Type narrow = IntegerType::get(i1.getContext(), lanes());
  return kb.bitcast(kb.truncate(shifted, narrow), kb.vectorType(i1, lanes()));
}

/// Runs `body` for every token of the block that is seen, in ascending order.
Values
Attention::forTokens(const Block &block, Values inits,
                     llvm::function_ref<Values(Value, ValueRange)> body) {
  if (block.full)
    return kb.forRange(kb.integer(0), kb.integer(page), 1, inits, body);
  inits.push_back(block.bits);
  Values result = kb.whileLoop(
      inits, [&](ValueRange state) { return kb.cmp(Cmp::NE, state.back(), 0); },
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
// Scores
//===----------------------------------------------------------------------===//

/// The f32 vectors of one chunk of columns.
Values Attention::loadChunk(Value from) {
  if (dtype == DType::F32)
    return {kb.load(kb.f32Vector(), from)};
  Value pairs = kb.load(kb.i32Vector(), from);
  Value low = kb.shiftLeft(pairs, kb.constant(kb.i32Vector(), 16));
  Value high = kb.bitAnd(pairs, kb.constant(kb.i32Vector(), -65536));
  return {kb.bitcast(low, kb.f32Vector()), kb.bitcast(high, kb.f32Vector())};
}

/// Copies the queries to scratch, with the columns as keys are read.
void Attention::prepareQuery(Value q) {
  SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < lanes(); ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  const Columns &columns = keyColumns;
  for (int64_t head = 0; head < tile; ++head) {
    Value from = kb.at(q, head * columns.width * 4), to = queryOf(head);
    kb.forRange(kb.integer(0), kb.integer(columns.chunked), columns.chunk,
                [&](Value first) {
                  Value source = kb.at(from, first, 4);
                  Value target = kb.at(to, first, 4);
                  Value a = kb.load(kb.f32Vector(), source);
                  if (columns.vectorsPerChunk == 1)
                    return kb.store(a, target);
                  Value b = kb.load(kb.f32Vector(), kb.at(source, lanes() * 4));
                  kb.store(kb.shuffle(a, b, even), target);
                  kb.store(kb.shuffle(a, b, odd), kb.at(target, lanes() * 4));
                });
    kb.forChunks(columns.width - columns.chunked, [&](Value first, Value mask) {
      Value column = kb.add(first, columns.chunked);
      Value x = kb.load(kb.f32Vector(), kb.at(from, column, 4), mask);
      kb.store(x, kb.at(to, column, 4));
    });
  }
}

/// Where a token's key lies. A token that is not seen gets the key of one that
/// is; a token beyond the page that of the page's last.
Value Attention::tokenRow(const Block &block, int64_t token, Value firstSeen) {
  token = std::min(token, page - 1);
  if (block.full)
    return kb.at(block.keys, token * entryBytes);
  Value bit = kb.integer(static_cast<int64_t>(uint64_t(1) << token));
  Value seen = kb.cmp(Cmp::NE, kb.bitAnd(block.bits, bit), 0);
  Value index = kb.select(seen, kb.integer(token), firstSeen);
  return kb.at(block.keys, index, entryBytes);
}

/// Adds the products of the queries and the keys, for `vectors` vectors of
/// columns from `first`. The sums are ordered by head, then by key.
Values Attention::multiplyKeys(ArrayRef<Value> rows, Value first, ValueRange in,
                               int64_t vectors,
                               llvm::function_ref<Values(Value)> loadKey) {
  SmallVector<Values> keys;
  for (Value row : rows)
    keys.push_back(loadKey(kb.at(row, first, bytes)));
  Values sums(in.begin(), in.end());
  for (int64_t v = 0; v < vectors; ++v)
    for (int64_t head = 0; head < tile; ++head) {
      Value from = kb.at(queryOf(head), first, 4);
      Value query = kb.load(kb.f32Vector(), kb.at(from, v * lanes() * 4));
      for (auto [t, key] : llvm::enumerate(keys)) {
        Value &sum = sums[head * keys.size() + t];
        sum = kb.fma(query, key[v], sum);
      }
    }
  return sums;
}

/// The products of the queries and a tile of keys over all columns: vectors
/// that are yet to be added up, ordered by head, then by key.
Values Attention::emitKeyTile(ArrayRef<Value> rows) {
  const Columns &columns = keyColumns;
  Values sums(tile * rows.size(), kb.constant(kb.f32Vector(), 0));
  sums = kb.forRange(kb.integer(0), kb.integer(columns.chunked), columns.chunk,
                     sums, [&](Value first, ValueRange in) {
                       return multiplyKeys(
                           rows, first, in, columns.vectorsPerChunk,
                           [&](Value key) { return loadChunk(key); });
                     });
  return kb.forChunks(
      columns.width - columns.chunked, sums,
      [&](Value first, Value mask, ValueRange in) {
        return multiplyKeys(
            rows, kb.add(first, columns.chunked), in, 1,
            [&](Value key) { return Values{kb.loadFloats(key, dtype, mask)}; });
      });
}

/// The scaled dot products of the queries with one vector of tokens, one
/// vector per head. Lanes of tokens that are not seen hold anything.
Values Attention::emitScores(const Block &block, int64_t chunk) {
  Value firstSeen = block.full ? Value() : kb.countTrailingZeros(block.bits);
  SmallVector<Values> partial(tile);
  for (int64_t begin = 0; begin < lanes(); begin += tokenTile()) {
    Values rows;
    for (int64_t t = 0; t < tokenTile(); ++t)
      rows.push_back(tokenRow(block, chunk * lanes() + begin + t, firstSeen));
    Values sums = emitKeyTile(rows);
    for (int64_t head = 0; head < tile; ++head) {
      auto ofHead =
          ArrayRef<Value>(sums).slice(head * tokenTile(), tokenTile());
      partial[head].push_back(kb.foldSegments(ofHead, lanes()));
    }
  }
  Values scores;
  Value scale = kb.constant(kb.f32Vector(), config.real("scale"));
  for (const Values &sums : partial)
    scores.push_back(
        kb.mul(kb.foldSegments(sums, lanes() / tokenTile()), scale));
  return scores;
}

/// Sets the scores of tokens that are not seen to -infinity.
void Attention::maskScores(const Block &block, Values &scores) {
  double lowest = -std::numeric_limits<double>::infinity();
  for (auto [chunk, score] : llvm::enumerate(scores))
    if (Value mask = seenLanes(block, chunk))
      score = kb.select(mask, score, kb.constant(kb.f32Vector(), lowest));
}

/// Updates the running maximum of each head. Returns the factors, lane by head,
/// of what was accumulated before.
Value Attention::updateMaxima(ArrayRef<Values> scores) {
  Value growth;
  for (int64_t head = 0; head < tile; ++head) {
    Value most = scores[head].front();
    for (Value score : llvm::drop_begin(scores[head]))
      most = kb.max(most, score);
    Value before = kb.load(kb.f32Type(), maxOf(head));
    Value now = kb.max(before, kb.reduceMax(most));
    kb.store(now, maxOf(head));
    Value difference = kb.splat(kb.sub(before, now));
    growth = growth
                 ? kb.select(kb.prefixMask(head, lanes()), growth, difference)
                 : difference;
  }
  // One exponential for all heads.
  return emitExp(kb, growth);
}

/// Turns the scores of a head into weights in scratch and adds them to its sum.
void Attention::emitWeights(const Block &block, ArrayRef<Value> scores,
                            Value alpha, int64_t head) {
  Value now = kb.splat(kb.load(kb.f32Type(), maxOf(head))), total;
  for (auto [chunk, score] : llvm::enumerate(scores)) {
    Value weight = emitExp(kb, kb.sub(score, now));
    if (Value mask = seenLanes(block, chunk))
      weight = kb.select(mask, weight, kb.constant(kb.f32Vector(), 0));
    kb.store(weight, kb.at(weightsOf(head), chunk * lanes() * 4));
    total = total ? kb.add(total, weight) : weight;
  }
  Value sum = kb.load(kb.f32Type(), totalOf(head));
  kb.store(kb.fma(sum, alpha, kb.reduceAdd(total)), totalOf(head));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// sums = alpha * sums + weights * values, for `vectors` vectors of columns
/// from `first` and all heads.
void Attention::accumulate(const Block &block, ArrayRef<Value> alphas,
                           Value first, int64_t vectors,
                           llvm::function_ref<Values(Value row)> loadRow) {
  Value from = kb.at(block.values, first, bytes);
  auto place = [&](int64_t head, int64_t v) {
    return kb.at(kb.at(sumsOf(head), first, 4), v * lanes() * 4);
  };
  Values sums;
  for (int64_t head = 0; head < tile; ++head)
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(kb.mul(kb.load(kb.f32Vector(), place(head, v)),
                            kb.splat(alphas[head])));
  sums = forTokens(block, sums, [&](Value token, ValueRange in) {
    Values values = loadRow(kb.at(from, token, entryBytes));
    Values next;
    for (int64_t head = 0; head < tile; ++head) {
      Value weight =
          kb.splat(kb.load(kb.f32Type(), kb.at(weightsOf(head), token, 4)));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(kb.fma(weight, values[v], in[head * vectors + v]));
    }
    return next;
  });
  for (int64_t head = 0; head < tile; ++head)
    for (int64_t v = 0; v < vectors; ++v)
      kb.store(sums[head * vectors + v], place(head, v));
}

void Attention::emitValues(const Block &block, ArrayRef<Value> alphas) {
  const Columns &columns = valueColumns;
  int64_t perChunk = columns.vectorsPerChunk;
  auto chunksAt = [&](Value first, int64_t count) {
    accumulate(block, alphas, first, count * perChunk, [&](Value row) {
      Values values;
      for (int64_t c = 0; c < count; ++c)
        values.append(loadChunk(kb.at(row, c * columns.chunk * bytes)));
      return values;
    });
  };
  int64_t chunks = columns.chunked / columns.chunk;
  int64_t atOnce = std::max<int64_t>(1, maxSums() / (tile * perChunk));
  int64_t tiled = chunks / atOnce * atOnce;
  kb.forRange(kb.integer(0), kb.integer(tiled * columns.chunk),
              atOnce * columns.chunk,
              [&](Value first) { chunksAt(first, atOnce); });
  if (tiled < chunks)
    chunksAt(kb.integer(tiled * columns.chunk), chunks - tiled);
  kb.forChunks(columns.width - columns.chunked, [&](Value first, Value mask) {
    accumulate(
        block, alphas, kb.add(first, columns.chunked), 1,
        [&](Value row) { return Values{kb.loadFloats(row, dtype, mask)}; });
  });
}

void Attention::emitBlock(const Block &block) {
  SmallVector<Values> scores(tile);
  for (int64_t chunk = 0; chunk < tokenChunks(); ++chunk)
    for (auto [head, score] : llvm::enumerate(emitScores(block, chunk)))
      scores[head].push_back(score);
  for (Values &headScores : scores)
    maskScores(block, headScores);
  Value factors = updateMaxima(scores);
  Values alphas;
  for (int64_t head = 0; head < tile; ++head) {
    alphas.push_back(kb.extractLane(factors, head));
    emitWeights(block, scores[head], alphas[head], head);
  }
  emitValues(block, alphas);
}

//===----------------------------------------------------------------------===//
// One task
//===----------------------------------------------------------------------===//

/// Divides what was accumulated by the sum of the weights; a row that sees
/// nothing is zero. Puts the columns back in order.
void Attention::emitOutput(Value y, int64_t head) {
  Value total = kb.load(kb.f32Type(), totalOf(head));
  Value inverse = kb.splat(kb.select(kb.cmp(Cmp::EQ, total, kb.f32(0)),
                                     kb.f32(0), kb.div(kb.f32(1), total)));
  SmallVector<int64_t> lower, upper;
  for (int64_t i = 0; i < lanes(); ++i) {
    lower.push_back(i / 2 + i % 2 * lanes());
    upper.push_back(lanes() / 2 + i / 2 + i % 2 * lanes());
  }
  const Columns &columns = valueColumns;
  Value to = kb.at(y, head * columns.width * 4), sums = sumsOf(head);
  auto load = [&](Value first, int64_t v) {
    Value from = kb.at(kb.at(sums, first, 4), v * lanes() * 4);
    return kb.mul(kb.load(kb.f32Vector(), from), inverse);
  };
  kb.forRange(kb.integer(0), kb.integer(columns.chunked), columns.chunk,
              [&](Value first) {
                Value target = kb.at(to, first, 4), a = load(first, 0);
                if (columns.vectorsPerChunk == 1)
                  return kb.store(a, target);
                Value b = load(first, 1);
                kb.store(kb.shuffle(a, b, lower), target);
                kb.store(kb.shuffle(a, b, upper), kb.at(target, lanes() * 4));
              });
  kb.forChunks(columns.width - columns.chunked, [&](Value first, Value mask) {
    Value column = kb.add(first, columns.chunked);
    kb.store(load(column, 0), kb.at(to, column, 4), mask);
  });
}

/// Where the entry of a position lies.
Value Attention::entryOf(Value pages, Value position) {
  Value number = kb.loadI32(pages, kb.div(position, page));
  return kb.at(kb.at(kb.buffer(4), number, page * entryBytes),
               kb.rem(position, kb.integer(page)), entryBytes);
}

/// Copies the key and the value of one head.
void Attention::copyEntry(Value from, Value to, Value kvHead) {
  for (auto [offset, width] : {std::pair("k_offset", keyColumns.width),
                               std::pair("v_offset", valueColumns.width)}) {
    int64_t first = config.integer(offset) * bytes, step = width * bytes;
    Value source = kb.at(kb.at(from, first), kvHead, step);
    Value target = kb.at(kb.at(to, first), kvHead, step);
    kb.forChunks(width, [&](Value column, Value mask) {
      Value floats = kb.loadFloats(kb.at(source, column, bytes), dtype, mask);
      kb.storeFloats(floats, kb.at(target, column, bytes), dtype, mask);
    });
  }
}

/// Fills the scratch block with what a row of a tree sees as positions `start`
/// and on: the prefix, then the nodes of its path one by one.
void Attention::gatherPath(const View &view, Value pages, Value start,
                           Value kvHead) {
  Value zero = kb.integer(0);
  Value prefix = kb.max(kb.sub(view.base, start), zero);
  kb.forRange(zero, prefix, 1, [&](Value i) {
    copyEntry(entryOf(pages, kb.add(start, i)),
              kb.at(gathered(), i, entryBytes), kvHead);
  });
  kb.whileLoop(
      Values{view.mask, kb.sub(view.base, start)},
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state[0], 0); },
      [&](ValueRange state) {
        Value rest = state[0], to = state[1];
        Value inBlock =
            kb.bitAnd(kb.cmp(Cmp::GE, to, 0), kb.cmp(Cmp::LT, to, page));
        kb.ifThen(inBlock, [&] {
          Value node = kb.add(view.base, kb.countTrailingZeros(rest));
          copyEntry(entryOf(pages, node), kb.at(gathered(), to, entryBytes),
                    kvHead);
        });
        return Values{kb.bitAnd(rest, kb.sub(rest, 1)), kb.add(to, 1)};
      });
}

void Attention::emitRow(Value row, Value tileIndex, const View &view) {
  int64_t qHeads = config.integer("q_heads");
  int64_t group = qHeads / config.integer("kv_heads");
  int64_t dk = keyColumns.width, dv = valueColumns.width;
  Value head = kb.mul(tileIndex, tile), kvHead = kb.div(head, group);
  Value q =
      kb.at(kb.buffer(0), row, config.integer("q_stride", qHeads * dk) * 4);
  Value y = kb.at(kb.buffer(tree ? 6 : 5), row,
                  config.integer("y_stride", qHeads * dv) * 4);
  Value slot = kb.loadI32(kb.buffer(1), row);
  Value pages = kb.at(kb.buffer(3), kb.mul(slot, kb.param(1)), 4);

  prepareQuery(kb.at(q, head, dk * 4));
  for (int64_t h = 0; h < tile; ++h) {
    kb.store(kb.f32(-std::numeric_limits<double>::infinity()), maxOf(h));
    kb.store(kb.f32(0), totalOf(h));
  }
  kb.forRange(kb.integer(0), kb.integer(tile * valueColumns.padded), lanes(),
              [&](Value first) {
                kb.store(kb.constant(kb.f32Vector(), 0),
                         kb.at(sumsOf(0), first, 4));
              });
  Value whole = clearBitsAbove(kb.integer(page));
  Value endBlock = kb.div(kb.add(view.end, page - 1), page);
  kb.forRange(kb.div(view.begin, page), endBlock, 1, [&](Value index) {
    Value start = kb.mul(index, page);
    Value entry =
        kb.at(kb.buffer(4), kb.loadI32(pages, index), page * entryBytes);
    if (tree) {
      Value holdsNodes = kb.cmp(Cmp::LT, view.base, kb.add(start, page));
      kb.ifThen(holdsNodes, [&] { gatherPath(view, pages, start, kvHead); });
      entry = kb.select(holdsNodes, gathered(), entry);
    }
    Block block;
    block.keys = kb.at(kb.at(entry, config.integer("k_offset") * bytes), kvHead,
                       dk * bytes);
    block.values = kb.at(kb.at(entry, config.integer("v_offset") * bytes),
                         kvHead, dv * bytes);
    block.bits = view.bitsOf(start);
    auto emitIfSeen = [&](bool full) {
      block.full = full;
      emitBlock(block);
    };
    kb.ifElse(
        kb.cmp(Cmp::EQ, block.bits, whole), [&] { emitIfSeen(true); },
        [&] {
          kb.ifThen(kb.cmp(Cmp::NE, block.bits, 0), [&] { emitIfSeen(false); });
        });
  });
  for (int64_t h = 0; h < tile; ++h)
    emitOutput(kb.at(y, head, dv * 4), h);
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

  // A tree row sees [0, place) and the nodes of its mask, one after another.
  Value mask =
      kb.load(kb.i64Type(), kb.at(kb.buffer(5), kb.rem(row, kb.param(2)), 8));
  Value count = kb.whileLoop(
      Values{mask, zero},
      [&](ValueRange state) { return kb.cmp(Cmp::NE, state[0], 0); },
      [&](ValueRange state) {
        return Values{kb.bitAnd(state[0], kb.sub(state[0], 1)),
                      kb.add(state[1], 1)};
      })[1];
  Value end = kb.select(kb.cmp(Cmp::LT, place, 0), zero, kb.add(place, count));
  auto bitsOf = [&](Value start) { return clearBitsAbove(kb.sub(end, start)); };
  emitRow(row, tileIndex, {zero, end, bitsOf, place, mask});
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
  for (auto [offset, width] :
       {std::pair("k_offset", "dk"), std::pair("v_offset", "dv")}) {
    int64_t end = config.integer(offset) + kvHeads * config.integer(width);
    if (config.integer(offset) < 0 || end > entry)
      return emitError() << "expected " << offset << " + kv_heads * " << width
                         << " to be at most entry_width " << entry << ", got "
                         << end;
  }
  return success();
}

// A tree has no window, so the window stands last.
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
    {"q_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"window", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"attention", attentionKeys, emitAttention, attentionTasks,
     Attention::scratch, verifyAttention},
    {"attention_tree", llvm::ArrayRef<ConfigKey>(attentionKeys).drop_back(),
     emitAttentionTree, attentionTasks, Attention::treeScratch,
     verifyAttention}};

llvm::ArrayRef<KernelKind> mtp::codegen::attentionKernels() { return kinds; }
