//===- FuseRope.cpp - Rotate where the heads go ---------------------------===//
//
// Between its projections and itself an attention has calls that do next to
// nothing: heads are rotated into a buffer only to be copied from there. The
// copying call rotates instead:
//
//   rope(k) -> kv_append, kv_append(v)    becomes  rope_kv_append(k, v)
//   kv_append(concat(c, rope(k)))         becomes  rope_kv_append(k, c)
//   rope(q) -> head_linear keep           becomes  head_linear keep rotate
//
// and where the attention behind the appends reads queries that are rotated by
// the same angles,
//
//   rope(q) -> attention                  becomes  rope_qkv_append(q, k, v)
//
// The arithmetic stays what it was, to the bit: either form rounds when it
// writes to the cache and at no other place.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Passes.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSEROPEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {
struct FuseRopePass : public mlir::mtp::impl::FuseRopePassBase<FuseRopePass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// What calls say
//===----------------------------------------------------------------------===//

/// An integer of a configuration, `absent` where it is not given.
static int64_t sizeOf(InvokeOp call, llvm::StringRef key, int64_t absent) {
  return call.getConfig().contains(key) ? configInt(call.getConfig(), key)
                                        : absent;
}

/// The call of `kind` that makes `value`.
static InvokeOp producerOf(Value value, llvm::StringRef kind) {
  auto call = value.getDefiningOp<InvokeOp>();
  return call && call.getKind() == kind ? call : InvokeOp();
}

namespace {
/// Columns of an activation that go to the entry's columns from `at` on.
struct Part {
  Value x;
  int64_t offset, stride, width, at;

  bool overlaps(const Part &other) const {
    return at < other.at + other.width && other.at < at + width;
  }
};

/// A call that rotates heads.
struct Rope {
  enum Arg { X, Table, Angles };

  explicit Rope(InvokeOp call)
      : call(call), heads(configInt(call.getConfig(), "heads")),
        dim(configInt(call.getConfig(), "dim")),
        headStride(sizeOf(call, "head_stride", dim)),
        offset(sizeOf(call, "offset", 0)),
        xStride(sizeOf(call, "x_stride", width())),
        yStride(sizeOf(call, "y_stride", width())) {
    if (auto text = call.getConfig().getAs<StringAttr>("layout"))
      layout = text.getValue();
  }

  int64_t rows() { return call.getParams()[0]; }
  int64_t width() const { return heads * headStride; }
  /// Whether all columns of the heads are written, and nothing lies between
  /// one row's and the next.
  bool isWhole() {
    return sizeOf(call, "copy_width", headStride) == headStride &&
           yStride == width();
  }
  /// Whether heads look the same and are turned by the same angles.
  bool turnsAs(Rope other) {
    auto isSameArg = [&](Arg arg) {
      return isSameBuffer(call.getArgs()[arg], other.call.getArgs()[arg]) &&
             call.getOffsets()[arg] == other.call.getOffsets()[arg];
    };
    return isSameArg(Table) && isSameArg(Angles) && rows() == other.rows() &&
           dim == other.dim && headStride == other.headStride &&
           offset == other.offset && layout == other.layout;
  }

  InvokeOp call;
  int64_t heads, dim, headStride, offset, xStride, yStride;
  llvm::StringRef layout = "half";
};

/// The arguments of an append behind its activation.
enum AppendArg { Slots = 1, Positions, PageTable, Pages };
} // namespace

static int64_t entryWidth(InvokeOp append) {
  return sizeOf(append, "entry_width", configInt(append.getConfig(), "width"));
}

/// Heads among which entries are divided in their page.
static int64_t cacheHeads(InvokeOp append) {
  return sizeOf(append, "cache_heads", 1);
}

/// What an append writes: its activation, or the two of which that was put
/// together for it alone. Heads divide the whole, not each of the two.
static SmallVector<Part, 2> partsOf(InvokeOp append) {
  Value x = append.getArgs()[0];
  int64_t width = configInt(append.getConfig(), "width");
  int64_t at = sizeOf(append, "entry_offset", 0);
  int64_t stride = sizeOf(append, "x_stride", width);
  InvokeOp concat = producerOf(x, "concat");
  if (concat && x.hasOneUse() && append.getOffsets()[0] == 0 &&
      cacheHeads(append) == 1) {
    int64_t a = configInt(concat.getConfig(), "a_width");
    int64_t b = configInt(concat.getConfig(), "b_width");
    if (a + b == width && stride == sizeOf(concat, "y_stride", width))
      return {Part{concat.getArgs()[0], concat.getOffsets()[0],
                   sizeOf(concat, "a_stride", a), a, at},
              Part{concat.getArgs()[1], concat.getOffsets()[1],
                   sizeOf(concat, "b_stride", b), b, at + a}};
  }
  return {Part{x, append.getOffsets()[0], stride, width, at}};
}

/// The rotation that makes all of `part` and nothing else.
static std::optional<Rope> rotationOf(const Part &part) {
  InvokeOp call = producerOf(part.x, "rope");
  if (!call || !part.x.hasOneUse())
    return std::nullopt;
  Rope rope(call);
  if (!rope.isWhole() || part.offset != 0 || part.stride != rope.yStride ||
      part.width != rope.width())
    return std::nullopt;
  return rope;
}

/// Whether two appends write the same entries of one layer.
static bool writesSameEntries(InvokeOp a, InvokeOp b) {
  for (AppendArg arg : {Slots, Positions, PageTable, Pages})
    if (!isSameBuffer(a.getArgs()[arg], b.getArgs()[arg]) ||
        a.getOffsets()[arg] != b.getOffsets()[arg])
      return false;
  return a.getParams() == b.getParams() && entryWidth(a) == entryWidth(b) &&
         cacheHeads(a) == cacheHeads(b) &&
         a.getConfig().get("page") == b.getConfig().get("page") &&
         a.getConfig().get("dtype") == b.getConfig().get("dtype");
}

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
static bool keepsRotated(InvokeOp product, Rope &rope) {
  DictionaryAttr config = product.getConfig();
  int64_t k = configInt(config, "k"), heads = configInt(config, "heads");
  int64_t headStride = sizeOf(product, "x_head_stride", k);
  int64_t first = sizeOf(product, "x_offset", 0);
  int64_t kept = configInt(config, "keep_offset");
  int64_t keptEnd = kept + configInt(config, "keep_width");
  int64_t end = rope.offset + rope.dim;
  return !configInt(config, "rotate") && heads == rope.heads &&
         headStride == rope.headStride && product.getOffsets()[0] == 0 &&
         sizeOf(product, "x_stride", heads * headStride) == rope.yStride &&
         (first >= end || first + k <= rope.offset) && kept <= rope.offset &&
         end <= keptEnd;
}

/// Lets `product` rotate what it keeps, if it alone reads a rotation of it.
static bool fuseIntoProduct(InvokeOp product) {
  InvokeOp call = producerOf(product.getArgs()[0], "rope");
  if (!call || !call->hasOneUse() || isUpdatedBefore(call, product))
    return false;
  Rope rope(call);
  if (rope.rows() != product.getParams()[0] || !rope.isWhole() ||
      !keepsRotated(product, rope))
    return false;
  Builder b(product.getContext());
  NamedAttrList config(product.getConfig());
  int64_t kept = configInt(product.getConfig(), "keep_offset");
  config.set("x_stride", b.getI64IntegerAttr(rope.xStride));
  config.set("x_head_stride", b.getI64IntegerAttr(rope.headStride));
  config.set("rotate", b.getBoolAttr(true));
  config.set("dim", b.getI64IntegerAttr(rope.dim));
  config.set("offset", b.getI64IntegerAttr(rope.offset - kept));
  config.set("layout", b.getStringAttr(rope.layout));
  product.setConfigAttr(config.getDictionary(b.getContext()));
  ValueRange from = call.getArgs();
  Value weight = product.getArgs()[1];
  product.getArgsMutable().assign(
      {from[Rope::X], weight, from[Rope::Table], from[Rope::Angles]});
  ArrayRef<int64_t> offsets = call.getOffsets();
  product.setOffsets({offsets[Rope::X], product.getOffsets()[1],
                      offsets[Rope::Table], offsets[Rope::Angles]});
  call.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Into the appends
//===----------------------------------------------------------------------===//

namespace {
/// Calls that become one, which takes the place of the last append.
struct Fusion {
  /// The appends, what puts an entry together, and the rotations.
  SmallVector<InvokeOp, 4> calls;
  InvokeOp last;
  Rope keys;
  /// The entry's first column of keys.
  int64_t keysAt;
  Part values;
  std::optional<Rope> queries;
};
} // namespace

/// What writes an entry from `append` on, if that has a rotated part and one
/// other.
static std::optional<Fusion> findFusion(InvokeOp append) {
  SmallVector<InvokeOp, 4> calls{append};
  SmallVector<Part, 2> parts = partsOf(append);
  InvokeOp last = append;
  if (parts.size() == 2) {
    calls.push_back(producerOf(append.getArgs()[0], "concat"));
  } else {
    last = dyn_cast_or_null<InvokeOp>(
        nextUse(append, append.getArgs()[Pages]).getOperation());
    if (!last || last.getKind() != "kv_append" ||
        !writesSameEntries(append, last))
      return std::nullopt;
    calls.push_back(last);
    llvm::append_range(parts, partsOf(last));
  }
  if (parts.size() != 2 || parts[0].overlaps(parts[1]))
    return std::nullopt;
  for (int which : {0, 1}) {
    std::optional<Rope> keys = rotationOf(parts[which]);
    if (!keys || keys->rows() != append.getParams()[0])
      continue;
    if (cacheHeads(append) != 1 && cacheHeads(append) != keys->heads)
      continue;
    calls.push_back(keys->call);
    if (llvm::any_of(
            calls, [&](InvokeOp call) { return isUpdatedBefore(call, last); }))
      return std::nullopt;
    return Fusion{calls, last, *keys, parts[which].at, parts[1 - which], {}};
  }
  return std::nullopt;
}

/// The rotation of the queries that meet the keys of `fusion`, if it turns them
/// by the same angles and may be done where the entry is written.
static std::optional<Rope> findQueries(const Fusion &fusion) {
  InvokeOp last = fusion.last;
  auto attention = dyn_cast_or_null<InvokeOp>(
      nextUse(last, last.getArgs()[Pages]).getOperation());
  if (!attention || !attention.getKind().starts_with("attention"))
    return std::nullopt;
  Value queries = attention.getArgs()[0];
  InvokeOp call = producerOf(queries, "rope");
  if (!call || !call->isBeforeInBlock(last) || isUpdatedBefore(call, last) ||
      !llvm::all_of(queries.getUsers(),
                    [&](Operation *op) { return last->isBeforeInBlock(op); }))
    return std::nullopt;
  Rope rope(call);
  if (!rope.isWhole() || !rope.turnsAs(fusion.keys))
    return std::nullopt;
  return rope;
}

static DictionaryAttr fusedConfig(const Fusion &fusion) {
  InvokeOp append = fusion.last;
  Builder b(append.getContext());
  NamedAttrList entries;
  auto add = [&](llvm::StringRef key, int64_t value) {
    entries.append(key, b.getI64IntegerAttr(value));
  };
  if (fusion.queries) {
    add("q_heads", fusion.queries->heads);
    add("q_stride", fusion.queries->xStride);
    add("y_stride", fusion.queries->yStride);
  }
  add("k_heads", fusion.keys.heads);
  add("dim", fusion.keys.dim);
  add("head_stride", fusion.keys.headStride);
  add("offset", fusion.keys.offset);
  entries.append("layout", b.getStringAttr(fusion.keys.layout));
  add("v_width", fusion.values.width);
  add("k_stride", fusion.keys.xStride);
  add("v_stride", fusion.values.stride);
  add("k_offset", fusion.keysAt);
  add("v_offset", fusion.values.at);
  add("entry_width", entryWidth(append));
  for (llvm::StringRef key : {"page", "dtype", "cache_heads"})
    if (Attribute value = append.getConfig().get(key))
      entries.append(key, value);
  return entries.getDictionary(b.getContext());
}

static InvokeOp emitFused(const Fusion &fusion) {
  SmallVector<Value> args;
  SmallVector<int64_t> offsets;
  auto add = [&](Value value, int64_t offset) {
    args.push_back(value);
    offsets.push_back(offset);
  };
  auto addOf = [&](InvokeOp call, int64_t arg) {
    add(call.getArgs()[arg], call.getOffsets()[arg]);
  };
  SmallVector<Type, 1> results;
  if (fusion.queries) {
    addOf(fusion.queries->call, Rope::X);
    llvm::append_range(results, fusion.queries->call->getResultTypes());
  }
  addOf(fusion.keys.call, Rope::X);
  add(fusion.values.x, fusion.values.offset);
  addOf(fusion.keys.call, Rope::Table);
  addOf(fusion.keys.call, Rope::Angles);
  InvokeOp append = fusion.last;
  for (AppendArg arg : {Slots, Positions, PageTable, Pages})
    addOf(append, arg);
  OpBuilder builder(append);
  return InvokeOp::create(builder, append.getLoc(), results,
                          fusion.queries ? "rope_qkv_append" : "rope_kv_append",
                          args, append.getParams(), offsets,
                          fusedConfig(fusion));
}

/// The call that `append` became a part of, if any.
static InvokeOp fuseIntoAppend(InvokeOp append) {
  std::optional<Fusion> fusion = findFusion(append);
  if (!fusion)
    return InvokeOp();
  fusion->queries = findQueries(*fusion);
  InvokeOp fused = emitFused(*fusion);
  if (fusion->queries) {
    InvokeOp queries = fusion->queries->call;
    queries->replaceAllUsesWith(fused);
    queries.erase();
  }
  // Readers first.
  llvm::sort(fusion->calls,
             [](InvokeOp a, InvokeOp b) { return b->isBeforeInBlock(a); });
  for (InvokeOp call : fusion->calls)
    call.erase();
  return fused;
}

void FuseRopePass::runOnOperation() {
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    Block &body = program.getBody().front();
    // What goes stands before the call at hand, or is it or an append behind
    // it; then the walk goes on behind the last append.
    for (Operation *op = body.empty() ? nullptr : &body.front(); op;) {
      Operation *done = op;
      auto call = dyn_cast<InvokeOp>(op);
      if (call && call.getKind() == "head_linear") {
        numProducts += fuseIntoProduct(call);
      } else if (call && call.getKind() == "kv_append") {
        if (InvokeOp fused = fuseIntoAppend(call)) {
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
