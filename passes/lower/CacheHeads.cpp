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

llvm::StringMap<int64_t> mlir::mtp::findCacheHeads(ModuleOp module) {
  llvm::StringMap<Uses> uses;
  module.walk(
      [&](CachedAttentionOp op) { uses[op.getCache()].readers.push_back(op); });
  module.walk([&](CacheAppendOp op) {
    int64_t begin = op.getAt();
    int64_t width = cast<RankedTensorType>(op.getX().getType()).getDimSize(1);
    uses[op.getCache()].writes.push_back({begin, begin + width});
  });
  llvm::StringMap<int64_t> heads;
  for (auto cache : module.getOps<CacheOp>()) {
    llvm::StringRef name = cache.getSymName();
    heads[name] = headsFor(uses[name], cache.getEntry());
  }
  return heads;
}
