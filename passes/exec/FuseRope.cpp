//===- FuseRope.cpp - Fuse rotations into other calls ---------------------===//
//
// Between projections and attention there are calls with almost no work: heads
// are rotated into a buffer only to be copied from it. The copying call rotates
// instead:
//
//   rope(k) -> kv_append, kv_append(v)    becomes  rope_append(k, v)
//   kv_append(concat(c, rope(k)))         becomes  rope_append(k, c)
//   rope(q) -> head_linear keep           becomes  head_linear keep rotated
//
// and if the attention after the appends reads queries that are rotated by the
// same angles,
//
//   rope(q) -> attention                  becomes  rope_append(k, v, q)
//
// Results do not change by a bit: both forms round only when they write to the
// cache.
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
// Positions of calls
//===----------------------------------------------------------------------===//

/// Returns whether `call` reads or writes the memory of `buffer`.
static bool uses(KernelOpInterface call, Value buffer) {
  return llvm::any_of(call.getKernelOperands(), [&](KernelOperand operand) {
    return isSameBuffer(operand.value, buffer);
  });
}

/// Returns the next call that reads or writes the memory of `buffer`.
static KernelOpInterface nextUse(Operation *call, Value buffer) {
  for (Operation *op = call->getNextNode(); op; op = op->getNextNode())
    if (auto other = dyn_cast<KernelOpInterface>(op))
      if (uses(other, buffer))
        return other;
  return KernelOpInterface();
}

/// Returns whether a call between `call` and `last` updates memory that `call`
/// uses, so that `call` cannot move down to `last`.
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

/// Returns whether `product` multiplies only columns that `rope` does not
/// rotate, and keeps all rotated columns, with the same heads.
static bool keepsRotated(HeadLinearOp product, RopeOp rope) {
  RotationAttr rotation = rope.getRotation();
  int64_t first = rotation.getOffset(), end = first + rotation.getDim();
  return !product.getRotation() && product.getHeads() == rope.getHeads() &&
         (int64_t(product.getColBegin()) >= end ||
          int64_t(product.getColEnd()) <= first) &&
         int64_t(product.getKeepBegin()) <= first &&
         end <= int64_t(product.getKeepEnd());
}

/// Makes `product` rotate the columns that it keeps, if it is the only reader
/// of their rotation.
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
/// The value for an entry's columns from `at` on.
struct EntryColumns {
  Value x;
  int64_t at;

  int64_t end() const { return at + columnsOf(x); }
  bool overlaps(const EntryColumns &other) const {
    return at < other.end() && other.at < end();
  }
};

/// Calls that become one, which replaces the last append.
struct Fusion {
  /// The appends, the concatenation of an entry, and the rotation of keys.
  SmallVector<KernelOpInterface, 4> calls;
  KvAppendOp last;
  RopeOp keys;
  EntryColumns keyColumns, valueColumns;
  RopeOp queries;
};
} // namespace

/// Returns the values that an append writes: its activation, or the two
/// concatenated values if only the append reads the concatenation. Heads divide
/// the whole entry, not each of the two.
static SmallVector<EntryColumns, 2> writtenBy(KvAppendOp append) {
  Value x = append.getX();
  int64_t at = append.getAt();
  auto concat = x.getDefiningOp<ConcatOp>();
  if (concat && x.hasOneUse() && append.getCacheHeads() == 1)
    return {{concat.getA(), at},
            {concat.getB(), at + columnsOf(concat.getA())}};
  return {{x, at}};
}

/// Returns the calls, starting at `append`, that write one entry from two
/// activations.
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

/// Returns the calls, starting at `append`, that write one entry, if they write
/// rotated keys and one other value.
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

/// Returns whether both rotate heads of the same shape by the same angles.
static bool turnAlike(RopeOp a, RopeOp b) {
  return a.getRotation() == b.getRotation() &&
         isSameBuffer(a.getTable(), b.getTable()) &&
         isSameBuffer(a.getAngles(), b.getAngles()) &&
         columnsOf(a.getX()) / a.getHeads() ==
             columnsOf(b.getX()) / b.getHeads();
}

/// Returns the rotation of the queries that attend to the keys of `fusion`, if
/// it uses the same angles and can move to the write of the entry.
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

/// Returns the call into which `append` was fused, if any.
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
    // A fusion erases this call, calls before it and later appends. The fused
    // call replaces the last append, and the walk continues from there.
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
