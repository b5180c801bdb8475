//===- LayerEmitter.cpp - Feed-forward parts, layers and the target -------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include <algorithm>

namespace mtp::importer {

void emitMlp(ModelContext &context) {
  FunctionEmitter emitter(
      context, "mlp", {{"x", context.hidden()}}, {context.hidden()},
      context.prefixesOf([](LayerKind kind) { return !kind.isMoe; }));
  mlir::Value x = emitter.argument(0);
  mlir::Value normed =
      emitter.norm(x, "post_attention_layernorm", context.config.normEps);
  mlir::Value out = emitter.gated(normed, "mlp.", context.config.intermediate);
  emitter.finish(emitter.add(x, out, "y"));
}

/// Emits the router: each row's experts and their weights.
static mlir::mtp::MoeRouteOp
emitRoute(ModelContext &context, FunctionEmitter &emitter, mlir::Value normed) {
  const MoeConfig &moe = *context.config.moe;
  mlir::OpBuilder &builder = context.builder;
  // The choice of experts may depend on the last bits. The reference code of
  // DeepSeek and GLM computes this product in f32 for any type of weights.
  mlir::Value logits = emitter.router(normed, moe.keys.router, moe.experts);
  mlir::Value bias;
  if (moe.hasBias)
    bias = emitter.weight(moe.keys.bias, {moe.experts});
  mlir::Type experts = mlir::RankedTensorType::get(
      {mlir::ShapedType::kDynamic, moe.topK}, builder.getI32Type());
  return mlir::mtp::MoeRouteOp::create(
      builder, emitter.name("route"), experts, emitter.activation(moe.topK),
      logits, bias,
      moe.isSigmoid ? mlir::mtp::Scoring::Sigmoid : mlir::mtp::Scoring::Softmax,
      moe.topK, moe.groups, moe.keptGroups, moe.isNormalized,
      llvm::APFloat(moe.scale));
}

namespace {
/// Stacks of all experts' matrices.
struct ExpertWeights {
  mlir::Value gate, up, down;
};
} // namespace

/// Converts all experts' matrices to the widest type among them, because one op
/// takes them all.
static ExpertWeights unifyTypes(FunctionEmitter &emitter,
                                ExpertWeights weights) {
  auto elementOf = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  };
  mlir::Type first = elementOf(weights.gate);
  if (first == elementOf(weights.up) && first == elementOf(weights.down))
    return weights;
  for (mlir::Value value : {weights.gate, weights.up, weights.down})
    value.setType(llvm::cast<mlir::RankedTensorType>(value.getType())
                      .clone(emitter.builder().getF32Type()));
  return weights;
}

static ExpertWeights emitExpertWeights(FunctionEmitter &emitter,
                                       bool isStacked) {
  const MoeConfig &moe = *emitter.config().moe;
  int64_t hidden = emitter.config().hidden, width = moe.width;
  if (isStacked) {
    auto half = [&](int64_t begin, const char *name) {
      return emitter.part(moe.keys.stackedGateUp,
                          {moe.experts, 2 * width, hidden},
                          RowRange{begin, begin + width}, name);
    };
    mlir::Value gate = half(0, "gate_proj_w"), up = half(width, "up_proj_w");
    return {gate, up,
            emitter.part(moe.keys.stackedDown, {moe.experts, hidden, width}, {},
                         "down_proj_w")};
  }
  auto stack = [&](std::string_view name, int64_t outputs, int64_t inputs) {
    std::string key = std::string(moe.keys.expert) + std::string(name);
    return emitter.weight(key + ".weight", {outputs, inputs}, moe.experts);
  };
  mlir::Value gate = stack(moe.keys.gate, width, hidden);
  mlir::Value up = stack(moe.keys.up, width, hidden);
  return {gate, up, stack(moe.keys.down, hidden, width)};
}

/// Emits the shared experts' result. Null if there are none.
static mlir::Value emitShared(FunctionEmitter &emitter, mlir::Value normed) {
  const MoeConfig &moe = *emitter.config().moe;
  if (moe.sharedWidth == 0)
    return mlir::Value();
  mlir::Value shared = emitter.gated(normed, moe.keys.shared, moe.sharedWidth);
  if (!moe.hasSharedGate)
    return shared;
  // The gate has one row, so it can be fused with the router's product.
  mlir::Value gate = emitter.router(normed, moe.keys.sharedGate, 1);
  return mlir::mtp::SigmoidGateOp::create(emitter.builder(),
                                          emitter.name("shared"),
                                          shared.getType(), shared, gate);
}

void emitExperts(ModelContext &context, bool isStacked) {
  FunctionEmitter emitter(context, isStacked ? "experts_stacked" : "experts",
                          {{"x", context.hidden()}, {"rows", context.rows()}},
                          {context.hidden()},
                          context.prefixesOf([&](LayerKind kind) {
                            return kind.isMoe && kind.isStacked == isStacked;
                          }));
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  mlir::Value normed =
      emitter.norm(x, "post_attention_layernorm", context.config.normEps);
  auto route = emitRoute(context, emitter, normed);
  ExpertWeights weights =
      unifyTypes(emitter, emitExpertWeights(emitter, isStacked));
  mlir::Value shared = emitShared(emitter, normed);
  mlir::Value out = mlir::mtp::MoeExpertsOp::create(
      context.builder, emitter.name("y"), context.hidden(), normed,
      route.getExperts(), route.getWeights(), rows, weights.gate, weights.up,
      weights.down, shared, x);
  emitter.finish(out);
}

std::string layerFunction(LayerKind kind) {
  std::string name = kind.isMoe ? "moe_layer" : "dense_layer";
  if (kind.isRecurrent)
    name += "_recurrent";
  if (kind.isStacked)
    name += "_stacked";
  return kind.window > 0 ? name + "_window" : name;
}

/// Returns the function that mixes a layer's rows: attention or recurrence.
static llvm::StringRef mixerFunction(LayerKind kind) {
  if (kind.isRecurrent)
    return "recurrence";
  return kind.window > 0 ? "attention_window" : "attention";
}

void emitLayer(ModelContext &context, LayerKind kind) {
  FunctionEmitter emitter(context, layerFunction(kind),
                          {{"x", context.hidden()}, {"rows", context.rows()}},
                          {context.hidden()}, {});
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  x = emitApply(context, mixerFunction(kind), {x, rows}, context.hidden(), "x")
          ->getResult(0);
  x = kind.isMoe
          ? emitApply(context, kind.isStacked ? "experts_stacked" : "experts",
                      {x, rows}, context.hidden(), "y")
                ->getResult(0)
          : emitApply(context, "mlp", {x}, context.hidden(), "y")->getResult(0);
  emitter.finish(x);
}

/// Concatenates the residual streams that a drafter taps, in its order. The
/// last of `streams` is the input of the final norm.
static mlir::Value emitTaps(ModelContext &context, FunctionEmitter &emitter,
                            llvm::ArrayRef<mlir::Value> streams) {
  llvm::SmallVector<mlir::Value> taps;
  for (int64_t tap : context.draft.folder->eagle.taps)
    taps.push_back(streams[size_t(tap)]);
  if (taps.size() == 1)
    return taps.front();
  return mlir::mtp::ConcatOp::create(context.builder, emitter.name("taps"),
                                     context.handedOn(), taps);
}

void emitTarget(ModelContext &context) {
  bool hasTaps =
      context.draft.folder && !context.draft.folder->eagle.taps.empty();
  FunctionEmitter emitter(
      context, kTarget,
      {{"tokens", context.tokens()}, {"rows", context.rows()}},
      {context.logits(), context.handedOn()}, {context.root});
  mlir::Value x = emitter.embed(emitter.argument(0));
  mlir::Value rows = emitter.argument(1);
  llvm::SmallVector<mlir::Value> streams = {x};
  for (size_t i = 0; i < context.config.layers.size(); ++i) {
    x = applyLayer(context, i, x, rows);
    streams.push_back(x);
  }
  // A drafter without taps reads the state after the final norm.
  mlir::Value hidden = emitter.norm(x, context.config.keys().trunk + "norm",
                                    context.config.normEps);
  emitter.finish({emitter.head(hidden),
                  hasTaps ? emitTaps(context, emitter, streams) : hidden});
}

void emitModelFunctions(ModelContext &context) {
  const ModelConfig &config = context.config;
  std::vector<LayerKind> kinds;
  auto note = [&](LayerKind kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      kinds.push_back(kind);
  };
  std::for_each(config.layers.begin(), config.layers.end(), note);
  if (context.draft.modules > 0)
    note(config.drafterLayer);
  auto any = [&](auto matches) {
    return std::any_of(kinds.begin(), kinds.end(), matches);
  };
  if (any([](LayerKind kind) { return kind.isRecurrent; }))
    emitRecurrence(context);
  if (any([](LayerKind kind) { return !kind.isRecurrent && kind.window == 0; }))
    emitAttention(context, 0);
  // A config has at most one window width.
  auto windowed = std::find_if(kinds.begin(), kinds.end(),
                               [](LayerKind kind) { return kind.window > 0; });
  if (windowed != kinds.end())
    emitAttention(context, windowed->window);
  if (any([](LayerKind kind) { return !kind.isMoe; }))
    emitMlp(context);
  for (bool isStacked : {false, true})
    if (any([&](LayerKind kind) {
          return kind.isMoe && kind.isStacked == isStacked;
        }))
      emitExperts(context, isStacked);
  for (LayerKind kind : kinds)
    emitLayer(context, kind);
  emitTarget(context);
}

} // namespace mtp::importer
