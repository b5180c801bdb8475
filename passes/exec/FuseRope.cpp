//===- FuseRope.cpp - Rotate where the heads go ---------------------------===//
//
// Between its projections and itself an attention has calls that do next to
// nothing: heads are rotated into a buffer only to be copied from there. The
// copying call rotates instead:
//
//   rope(k) -> kv_append, kv_append(v)    becomes  rope_append(k, v)
//   kv_append(concat(c, rope(k)))         becomes  rope_append(k, c)
//   rope(q) -> head_linear keep           becomes  head_linear keep rotated
//
// and where the attention behind the appends reads queries that are rotated by
// the same angles,
//
//   rope(q) -> attention                  becomes  rope_append(k, v, q)
//
// The arithmetic stays what it was, to the bit: either form rounds when it
// writes to the cache and at no other place.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSEROPEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

#define DEBUG_TYPE "exec-fuse-rope"

namespace {
struct FuseRopePass : public mlir::mtp::impl::FuseRopePassBase<FuseRopePass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Where calls stand
//===----------------------------------------------------------------------===//

/// Whether `call` reads or writes what `buffer` refers to.
static bool uses(KernelOpInterface call, Value buffer) {
  return llvm::any_of(call.getKernelOperands(), [&](KernelOperand operand) {
    return isSameBuffer(operand.value, buffer);
  });
}

/// The next call that reads or writes what `buffer` refers to.
static KernelOpInterface nextUse(Operation *call, Value buffer) {
  for (Operation *op = call->getNextNode(); op; op = op->getNextNode())
    if (auto other = dyn_cast<KernelOpInterface>(op))
      if (uses(other, buffer))
        return other;
  return KernelOpInterface();
}

/// Whether a call between `call` and `last` updates what `call` refers to, so
/// that `call` may not be done as late as `last`.
static bool isUpdatedBefore(KernelOpInterface call, Operation *last) {
  for (Operation *op = call->getNextNode(); op && op != last;
       op = op->getNextNode()) {
    auto other = dyn_cast<KernelOpInterface>(op);
    if (!other)
      continue;
    for (auto [i, operand] : llvm::enumerate(other.getKernelOperands()))
      if (other.updatesOperand(i) && uses(call, operand.value))
        return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Into the products of heads
//===----------------------------------------------------------------------===//

/// Whether `product` multiplies columns that `rope` leaves alone and keeps all
/// that it turns, of the same heads.
static bool keepsRotated(HeadLinearOp product, RopeOp rope) {
  RotationAttr rotation = rope.getRotation();
  int64_t first = rotation.getOffset(), end = first + rotation.getDim();
  return !product.getRotation() && product.getHeads() == rope.getHeads() &&
         (int64_t(product.getColBegin()) >= end ||
          int64_t(product.getColEnd()) <= first) &&
         int64_t(product.getKeepBegin()) <= first &&
         end <= int64_t(product.getKeepEnd());
}

/// Lets `product` rotate what it keeps, if it alone reads a rotation of it.
static bool fuseIntoProduct(HeadLinearOp product) {
  auto rope = product.getX().getDefiningOp<RopeOp>();
  if (!rope || !rope->hasOneUse() || isUpdatedBefore(rope, product) ||
      !keepsRotated(product, rope))
    return false;
  product.getXMutable().set(rope.getX());
  product.getTableMutable().assign(rope.getTable());
  product.getAnglesMutable().assign(rope.getAngles());
  product.setRotationAttr(rope.getRotationAttr());
  rope.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Into the appends
//===----------------------------------------------------------------------===//

namespace {
/// What goes to an entry's columns from `at` on.
struct EntryColumns {
  Value x;
  int64_t at;

  int64_t end() const { return at + columnsOf(x); }
  bool overlaps(const EntryColumns &other) const {
    return at < other.end() && other.at < end();
  }
};

/// Calls that become one, which takes the place of the last append.
struct Fusion {
  /// The appends, what puts an entry together, and the rotation of keys.
  SmallVector<KernelOpInterface, 4> calls;
  KvAppendOp last;
  RopeOp keys;
  EntryColumns keyColumns, valueColumns;
  RopeOp queries;
};
} // namespace

/// What an append writes: its activation, or the two of which that was put
/// together for it alone. Heads divide the whole, not each of the two.
static SmallVector<EntryColumns, 2> writtenBy(KvAppendOp append) {
  Value x = append.getX();
  int64_t at = append.getAt();
  auto concat = x.getDefiningOp<ConcatOp>();
  if (concat && x.hasOneUse() && append.getCacheHeads() == 1)
    return {{concat.getA(), at},
            {concat.getB(), at + columnsOf(concat.getA())}};
  return {{x, at}};
}

/// The calls that write one entry from `append` on, of two activations.
static std::optional<Fusion> findAppends(KvAppendOp append) {
  Fusion fusion{{append}, append, RopeOp(), {}, {}, RopeOp()};
  SmallVector<EntryColumns, 2> written = writtenBy(append);
  if (written.size() == 2) {
    fusion.calls.push_back(append.getX().getDefiningOp<ConcatOp>());
  } else {
    fusion.last = dyn_cast_or_null<KvAppendOp>(
        nextUse(append, append.getPages()).getOperation());
    if (!fusion.last || !writesSameEntries(append, fusion.last))
      return std::nullopt;
    fusion.calls.push_back(fusion.last);
    llvm::append_range(written, writtenBy(fusion.last));
  }
  if (written.size() != 2 || written[0].overlaps(written[1]))
    return std::nullopt;
  fusion.keyColumns = written[0];
  fusion.valueColumns = written[1];
  return fusion;
}

/// The calls that write one entry from `append` on, if they write rotated keys
/// and one other value.
static std::optional<Fusion> findFusion(KvAppendOp append) {
  std::optional<Fusion> fusion = findAppends(append);
  if (!fusion)
    return std::nullopt;
  auto rotationOf = [&](Value x) {
    auto rope = x.getDefiningOp<RopeOp>();
    int64_t heads = append.getCacheHeads();
    bool divides = rope && (heads == 1 || heads == int64_t(rope.getHeads()));
    return divides && x.hasOneUse() ? rope : RopeOp();
  };
  fusion->keys = rotationOf(fusion->keyColumns.x);
  if (!fusion->keys) {
    std::swap(fusion->keyColumns, fusion->valueColumns);
    fusion->keys = rotationOf(fusion->keyColumns.x);
  }
  if (!fusion->keys)
    return std::nullopt;
  fusion->calls.push_back(fusion->keys);
  if (llvm::any_of(fusion->calls, [&](KernelOpInterface call) {
        return isUpdatedBefore(call, fusion->last);
      }))
    return std::nullopt;
  return fusion;
}

/// Whether heads look the same and are turned by the same angles.
static bool turnAlike(RopeOp a, RopeOp b) {
  return a.getRotation() == b.getRotation() &&
         isSameBuffer(a.getTable(), b.getTable()) &&
         isSameBuffer(a.getAngles(), b.getAngles()) &&
         columnsOf(a.getX()) / a.getHeads() ==
             columnsOf(b.getX()) / b.getHeads();
}

/// The rotation of the queries that are multiplied with the keys of `fusion`,
/// if it turns them by the same angles and may be done where the entry is
/// written.
static RopeOp findQueries(const Fusion &fusion) {
  KvAppendOp last = fusion.last;
  auto attention = dyn_cast_or_null<AttentionOp>(
      nextUse(last, last.getPages()).getOperation());
  if (!attention)
    return RopeOp();
  Value queries = attention.getQ();
  auto rope = queries.getDefiningOp<RopeOp>();
  if (!rope || !rope->isBeforeInBlock(last) || isUpdatedBefore(rope, last) ||
      !turnAlike(rope, fusion.keys) ||
      !llvm::all_of(queries.getUsers(),
                    [&](Operation *op) { return last->isBeforeInBlock(op); }))
    return RopeOp();
  return rope;
}

static RopeAppendOp emitFused(const Fusion &fusion) {
  KvAppendOp append = fusion.last;
  RopeOp keys = fusion.keys, queries = fusion.queries;
  OpBuilder builder(append);
  return RopeAppendOp::create(
      builder, append.getLoc(),
      queries ? Type(queries.getY().getType()) : Type(),
      queries ? Value(queries.getX()) : Value(), keys.getX(),
      fusion.valueColumns.x, keys.getTable(), keys.getAngles(),
      append.getSlots(), append.getPositions(), append.getPageTable(),
      append.getPages(), append.getCacheHeads(), keys.getHeads(),
      keys.getRotation(), fusion.keyColumns.at, fusion.valueColumns.at);
}

/// The call that `append` became a part of, if any.
static RopeAppendOp fuseIntoAppend(KvAppendOp append) {
  std::optional<Fusion> fusion = findFusion(append);
  if (!fusion) {
    LDBG() << "stays, as it does not write one rotated and one other value: "
           << append;
    return RopeAppendOp();
  }
  fusion->queries = findQueries(*fusion);
  LDBG() << "rotates " << (fusion->queries ? "keys and queries" : "keys")
         << ": " << append;
  RopeAppendOp fused = emitFused(*fusion);
  if (RopeOp queries = fusion->queries) {
    queries.getY().replaceAllUsesWith(fused.getRotated());
    queries.erase();
  }
  // Readers first.
  llvm::sort(fusion->calls, [](KernelOpInterface a, KernelOpInterface b) {
    return b->isBeforeInBlock(a);
  });
  for (KernelOpInterface call : fusion->calls)
    call->erase();
  return fused;
}

void FuseRopePass::runOnOperation() {
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    Block &body = program.getBody().front();
    // A fusion erases this call, calls before it and appends behind it, and the
    // fused call takes the place of the last append: the walk goes on from
    // there.
    for (Operation *op = body.empty() ? nullptr : &body.front(); op;) {
      Operation *done = op;
      if (auto product = dyn_cast<HeadLinearOp>(op)) {
        numProducts += fuseIntoProduct(product);
      } else if (auto append = dyn_cast<KvAppendOp>(op)) {
        if (RopeAppendOp fused = fuseIntoAppend(append)) {
          ++numAppends;
          done = fused;
        }
      }
      op = done->getNextNode();
    }
    for (RefOp ref : llvm::make_early_inc_range(body.getOps<RefOp>()))
      if (ref->use_empty())
        ref.erase();
  }
}
