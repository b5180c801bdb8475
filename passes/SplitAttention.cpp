//===- SplitAttention.cpp - Positions for idle workers --------------------===//
//
// A plain step has as many tasks of attention as tiles of heads, often fewer
// than there are workers, and the longer the context the longer the others
// wait. Where positions come in parts (`part`, see Envelope.h), the parts of a
// row can be added up by several workers, each of which leaves what it added
// up, and joined by another call ("Flash-Decoding", Dao et al., 2023):
//
//   attention   becomes   attention_parts -> attention_join
//
// Parts begin at fixed positions and are joined in their order in either form,
// so that the number of workers does not change a bit.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SPLITATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {
struct SplitAttentionPass
    : public mlir::mtp::impl::SplitAttentionPassBase<SplitAttentionPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void split(InvokeOp attention);
};
} // namespace

/// Floats of what is left of one part of a row: for each tile of heads the
/// maxima and the sums of weights, a vector each, and for each head the sums of
/// values, in whole vectors. No target has vectors of more than 16 floats.
static int64_t partStride(DictionaryAttr config) {
  constexpr int64_t kLanes = 16;
  int64_t tiles = kernelTasks("attention", config, {1});
  return tiles * 2 * kLanes +
         configInt(config, "q_heads") *
             llvm::alignTo(configInt(config, "dv"), kLanes);
}

/// `config` with only those of `keys` that it has.
static NamedAttrList pick(DictionaryAttr config,
                          llvm::ArrayRef<llvm::StringRef> keys) {
  NamedAttrList picked;
  for (llvm::StringRef key : keys) {
    if (Attribute value = config.get(key)) {
      picked.set(key, value);
    }
  }
  return picked;
}

void SplitAttentionPass::split(InvokeOp attention) {
  DictionaryAttr config = attention.getConfig();
  ArrayRef<int64_t> params = attention.getParams();
  int64_t part = configInt(config, "part");
  int64_t tasks = kernelTasks(attention.getKind(), config, params);
  if (part == 0 || tasks == 0) {
    return;
  }
  int64_t parts = llvm::divideCeil(params[1] * configInt(config, "page"), part);
  int64_t splits = std::min<int64_t>(parts, llvm::divideCeil(workers, tasks));
  if (splits < 2) {
    return;
  }
  OpBuilder builder(attention);
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  int64_t stride = partStride(config);
  NamedAttrList partsConfig(config);
  partsConfig.erase("y_stride");
  partsConfig.set("splits", number(splits));
  NamedAttrList joinConfig = pick(config, {"q_heads", "kv_heads", "dv", "dtype",
                                           "part", "window", "y_stride"});
  for (NamedAttrList *both : {&partsConfig, &joinConfig}) {
    both->set("parts", number(parts));
    both->set("part_stride", number(stride));
  }

  auto leftType =
      RankedTensorType::get({params[0], parts * stride}, builder.getF32Type());
  auto left =
      InvokeOp::create(builder, attention.getLoc(), leftType, "attention_parts",
                       attention.getArgs(), params, attention.getOffsets(),
                       partsConfig.getDictionary(&getContext()));
  Value positions = attention.getArgs()[2];
  auto join = InvokeOp::create(builder, attention.getLoc(),
                               attention.getResultTypes(), "attention_join",
                               ValueRange{positions, left.getResults().front()},
                               ArrayRef<int64_t>{params[0]},
                               ArrayRef<int64_t>{attention.getOffsets()[2], 0},
                               joinConfig.getDictionary(&getContext()));
  attention->replaceAllUsesWith(join);
  attention.erase();
  ++numSplit;
}

void SplitAttentionPass::runOnOperation() {
  SmallVector<InvokeOp> calls;
  getOperation().walk([&](InvokeOp call) {
    if (call.getKind() == "attention") {
      calls.push_back(call);
    }
  });
  for (InvokeOp call : calls) {
    split(call);
  }
}
