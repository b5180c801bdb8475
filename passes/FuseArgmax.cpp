//===- FuseArgmax.cpp - Pick a token where its logits are made ------------===//
//
// A greedy pick needs the best logit, which the head has in registers; written
// and read again, the logits of a large vocabulary are a good part of what a
// row costs. The head writes the best logit of each panel instead:
//
//   linear -> argmax               becomes  linear_argmax -> argmax_parts
//   linear -> mtp.sample           becomes  linear_argmax -> mtp.sample_parts
//   linear -> mtp.sample_mapped    becomes  linear_argmax
//                                           -> mtp.sample_parts_mapped
//
// Where a row is so long that threads had better share it, mtp.sample_scan and
// mtp.sample_join take the place of mtp.sample_parts.
//
// Rows that sample need all logits, and the target's may leave the program: the
// head writes the logits as well, of the slots whose sampling parameters ask
// for them. That is asked at run time, row by row, so that one program serves
// them side by side.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Passes.h"
#include "passes/PlainHead.h"
#include "runtime/schema/SamplingWords.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSEARGMAXPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// A head in the making: a `linear_argmax` in place of a `linear`.
struct Head {
  explicit Head(InvokeOp linear);

  int64_t rows() { return linear.getParams().front(); }
  RankedTensorType partsType(Type element) {
    return RankedTensorType::get({rows(), parts}, element);
  }

  InvokeOp linear;
  int64_t outputs, parts;
};

struct FuseArgmaxPass
    : public mlir::mtp::impl::FuseArgmaxPassBase<FuseArgmaxPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void fuseArgmax(InvokeOp argmax);
  void fuseSample(InvokeOp sample, SymbolTable &symbols);
  InvokeOp callSample(InvokeOp sample, Head &head, ArrayRef<Value> args);
};

} // namespace

Head::Head(InvokeOp linear)
    : linear(linear), outputs(configInt(linear.getConfig(), "n")),
      parts(panelCount(outputs)) {}

/// Calls `linear_argmax`; its arguments are those of the projection and `more`.
static InvokeOp callHead(OpBuilder &builder, Head head, ValueRange more,
                         TypeRange results) {
  SmallVector<Value> args(head.linear.getArgs());
  args.append(more.begin(), more.end());
  SmallVector<int64_t> offsets(head.linear.getOffsets());
  offsets.append(more.size(), 0);
  NamedAttrList config(head.linear.getConfig());
  for (llvm::StringRef key :
       {"activation", "residual", "residual_stride", "y_stride"}) {
    config.erase(key);
  }
  if (!more.empty()) {
    config.set("logits", builder.getBoolAttr(true));
  }
  return InvokeOp::create(builder, head.linear.getLoc(), results,
                          "linear_argmax", args, head.linear.getParams(),
                          offsets, config.getDictionary(builder.getContext()));
}

void FuseArgmaxPass::fuseArgmax(InvokeOp argmax) {
  InvokeOp linear = mlir::mtp::findPlainHead(argmax);
  if (!linear || !linear.getResults().front().hasOneUse()) {
    return;
  }
  Head head(linear);
  // The product stays in its place: states that it reads may change after it.
  OpBuilder builder(linear);
  InvokeOp call = callHead(builder, head, {},
                           {head.partsType(builder.getF32Type()),
                            head.partsType(builder.getI32Type())});
  auto parts =
      builder.getNamedAttr("parts", builder.getI64IntegerAttr(head.parts));
  builder.setInsertionPoint(argmax);
  auto pick = InvokeOp::create(
      builder, argmax.getLoc(), argmax.getResultTypes(), "argmax_parts",
      call.getResults(), argmax.getParams(), ArrayRef<int64_t>{0, 0},
      builder.getDictionaryAttr(parts));
  argmax->replaceAllUsesWith(pick);
  argmax.erase();
  linear.erase();
  ++numGreedy;
}

/// Whether `linear` may be computed at `place`, later than it is: the others
/// who read it come later still, and what it reads does not change.
static bool canSink(InvokeOp linear, InvokeOp place, SymbolTable &symbols) {
  for (Operation *user : linear->getUsers()) {
    if (user != place &&
        (!isa<OutputOp>(user) || user->isBeforeInBlock(place))) {
      return false;
    }
  }
  return llvm::all_of(linear.getArgs(), [&](Value arg) {
    auto ref = arg.getDefiningOp<RefOp>();
    return !ref || symbols.lookup<exec::WeightOp>(ref.getResource());
  });
}

/// Picks from the head's results, which `args` begins with: in one call, or in
/// two where several threads are to share a row.
InvokeOp FuseArgmaxPass::callSample(InvokeOp sample, Head &head,
                                    ArrayRef<Value> args) {
  OpBuilder builder(sample);
  const llvm::StringRef suffix =
      sample.getKind() == "mtp.sample_mapped" ? "_mapped" : "";
  auto call = [&](llvm::StringRef kind, ArrayRef<Value> args, Type result) {
    SmallVector<int64_t> offsets(args.size(), 0);
    return InvokeOp::create(
        builder, sample.getLoc(), result, (kind + suffix).str(), args,
        ArrayRef<int64_t>{head.rows(), head.outputs, head.parts}, offsets,
        builder.getDictionaryAttr({}));
  };
  int64_t stretches = ::mtp::sampleStretches(head.outputs);
  Type picks = sample.getResults().front().getType();
  if (stretches == 1) {
    return call("mtp.sample_parts", args, picks);
  }
  int64_t words = stretches * ::mtp::kSampleStretchWords;
  auto buckets =
      RankedTensorType::get({head.rows(), words}, builder.getI32Type());
  SmallVector<Value> joined(args);
  joined.push_back(call("mtp.sample_scan", args, buckets).getResults().front());
  return call("mtp.sample_join", joined, picks);
}

void FuseArgmaxPass::fuseSample(InvokeOp sample, SymbolTable &symbols) {
  InvokeOp linear = mlir::mtp::findPlainHead(sample);
  // Slots may be known only after the projection, so it moves to the pick.
  if (!linear || !canSink(linear, sample, symbols)) {
    return;
  }
  Head head(linear);
  Value logits = linear.getResults().front();
  // Behind the logits: (tokens,) slots, positions, sampling.
  ValueRange context = ValueRange(sample.getArgs()).drop_front();
  OpBuilder builder(sample);
  InvokeOp call =
      callHead(builder, head, {context[context.size() - 3], context.back()},
               {head.partsType(builder.getF32Type()),
                head.partsType(builder.getI32Type()), logits.getType()});
  SmallVector<Value> args(call.getResults());
  args.append(context.begin(), context.end());
  InvokeOp pick = callSample(sample, head, args);
  logits.replaceAllUsesWith(call.getResults().back());
  sample->replaceAllUsesWith(pick);
  sample.erase();
  linear.erase();
  ++numSampled;
}

void FuseArgmaxPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  SmallVector<InvokeOp> picks;
  getOperation().walk([&](InvokeOp call) {
    if (mlir::mtp::isPick(call)) {
      picks.push_back(call);
    }
  });
  for (InvokeOp pick : picks) {
    if (pick.getKind() == "argmax") {
      fuseArgmax(pick);
    } else {
      fuseSample(pick, symbols);
    }
  }
}
