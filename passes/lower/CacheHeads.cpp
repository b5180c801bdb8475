//===- CacheHeads.cpp - Heads that divide a cache's entries ---------------===//

#include "passes/lower/CacheHeads.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {

/// Columns of an entry.
struct Columns {
  int64_t begin, end;

  bool operator==(const Columns &) const = default;
  bool overlaps(const Columns &other) const {
    return begin < other.end && other.begin < end;
  }
  bool canDivide(int64_t heads) const {
    return begin % heads == 0 && end % heads == 0;
  }
};

/// The reads and writes of one cache's entries.
struct Uses {
  SmallVector<CachedAttentionOp> readers;
  SmallVector<Columns> writes;
};

} // namespace

static Columns keysOf(CachedAttentionOp op) {
  int64_t begin = op.getKeysAt();
  return {begin, begin + int64_t(op.getKvHeads() * op.getKeys())};
}

static Columns valuesOf(CachedAttentionOp op) {
  int64_t begin = op.getValuesAt();
  return {begin, begin + int64_t(op.getKvHeads() * op.getValues())};
}

/// Returns the number of heads among which entries can be divided; 1 if they
/// must stay whole.
static int64_t headsFor(const Uses &uses, int64_t entry) {
  if (uses.readers.empty())
    return 1;
  CachedAttentionOp first = uses.readers.front();
  int64_t heads = first.getKvHeads();
  Columns keys = keysOf(first), values = valuesOf(first);
  bool canDivide = entry % heads == 0 && keys.canDivide(heads) &&
                   values.canDivide(heads) &&
                   (keys == values || !keys.overlaps(values));
  bool readAlike = llvm::all_of(uses.readers, [&](CachedAttentionOp op) {
    return int64_t(op.getKvHeads()) == heads && keysOf(op) == keys &&
           valuesOf(op) == values;
  });
  bool writtenAlike = llvm::all_of(uses.writes, [&](Columns columns) {
    return columns == keys || columns == values;
  });
  return canDivide && readAlike && writtenAlike ? heads : 1;
}

static llvm::StringMap<Uses> findUses(ModuleOp module) {
  llvm::StringMap<Uses> uses;
  module.walk(
      [&](CachedAttentionOp op) { uses[op.getCache()].readers.push_back(op); });
  module.walk([&](CacheAppendOp op) {
    int64_t begin = op.getAt();
    int64_t width = cast<RankedTensorType>(op.getX().getType()).getDimSize(1);
    uses[op.getCache()].writes.push_back({begin, begin + width});
  });
  return uses;
}

llvm::StringMap<int64_t> mlir::mtp::findCacheHeads(ModuleOp module) {
  llvm::StringMap<Uses> uses = findUses(module);
  llvm::StringMap<int64_t> heads;
  for (auto cache : module.getOps<CacheOp>()) {
    llvm::StringRef name = cache.getSymName();
    heads[name] = headsFor(uses[name], cache.getEntry());
  }
  return heads;
}

/// Returns whether `columns` are one of the two pieces of an entry, the first
/// of which has `first` columns.
static bool isPiece(Columns columns, int64_t first, int64_t entry) {
  return columns == Columns{0, first} || columns == Columns{first, entry};
}

/// Returns whether keys and values are the two pieces of an entry, or the
/// values are the first piece of a key that is the whole entry.
static bool readsPieces(CachedAttentionOp op, int64_t first, int64_t entry) {
  Columns keys = keysOf(op), values = valuesOf(op);
  if (keys == Columns{0, entry})
    return values == Columns{0, first};
  return isPiece(keys, first, entry) && isPiece(values, first, entry) &&
         !keys.overlaps(values);
}

LogicalResult
mlir::mtp::verifyCacheScales(ModuleOp module,
                             const llvm::StringMap<int64_t> &heads) {
  llvm::StringMap<Uses> uses = findUses(module);
  for (auto cache : module.getOps<CacheOp>()) {
    const Uses &of = uses[cache.getSymName()];
    if (!cache.getElementType().isSignlessInteger(8))
      continue;
    int64_t entry = cache.getEntry(), first = entry;
    for (Columns columns : of.writes)
      if (columns.begin == 0)
        first = std::min(first, columns.end);
    bool areWritten = llvm::all_of(of.writes, [&](Columns columns) {
      return isPiece(columns, first, entry);
    });
    bool areRead = llvm::all_of(of.readers, [&](CachedAttentionOp op) {
      return readsPieces(op, first, entry) &&
             int64_t(op.getKvHeads()) == heads.lookup(cache.getSymName());
    });
    if (!areWritten || !areRead)
      return cache.emitOpError("expected appends and attention of i8 to use "
                               "two pieces of an entry, each divided among "
                               "the key heads");
  }
  return success();
}
