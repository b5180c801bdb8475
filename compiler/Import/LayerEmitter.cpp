//===- LayerEmitter.cpp - Feed-forward parts, layers and the target -------===//

#include "compiler/Import/ModelEmitter.h"

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

/// The router: which experts a row goes to, and with what weights.
static mlir::mtp::MoeRouteOp
emitRoute(ModelContext &context, FunctionEmitter &emitter, mlir::Value normed) {
  const MoeConfig &moe = *context.config.moe;
  mlir::OpBuilder &builder = context.builder;
  // Which experts are best may hang on the last bits: the reference code of
  // DeepSeek and GLM computes this product in f32 whatever the weights are in.
  mlir::Value matrix =
      emitter.weight(moe.keys.router, {moe.experts, context.config.hidden});
  matrix.setType(mlir::RankedTensorType::get(
      {moe.experts, context.config.hidden}, builder.getF32Type()));
  mlir::Value logits = mlir::mtp::LinearOp::create(
      builder, emitter.name("gate"), emitter.activation(moe.experts), normed,
      matrix, mlir::Value(),
      mlir::mtp::ProjectionRoleAttr::get(builder.getContext(),
                                         mlir::mtp::ProjectionRole::Router));
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

void emitExperts(ModelContext &context) {
  const MoeConfig &moe = *context.config.moe;
  int64_t hidden = context.config.hidden;
  FunctionEmitter emitter(
      context, "experts", {{"x", context.hidden()}, {"rows", context.rows()}},
      {context.hidden()},
      context.prefixesOf([](LayerKind kind) { return kind.isMoe; }));
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  mlir::Value normed =
      emitter.norm(x, "post_attention_layernorm", context.config.normEps);
  auto route = emitRoute(context, emitter, normed);
  auto stack = [&](std::string_view name, int64_t outputs, int64_t inputs) {
    std::string key = std::string(moe.keys.expert) + std::string(name);
    return emitter.weight(key + ".weight", {outputs, inputs}, moe.experts);
  };
  mlir::Value gate = stack(moe.keys.gate, moe.width, hidden);
  mlir::Value up = stack(moe.keys.up, moe.width, hidden);
  mlir::Value down = stack(moe.keys.down, hidden, moe.width);
  mlir::Value shared;
  if (moe.sharedWidth > 0)
    shared = emitter.gated(normed, moe.keys.shared, moe.sharedWidth);
  mlir::Value out = mlir::mtp::MoeExpertsOp::create(
      context.builder, emitter.name("y"), context.hidden(), normed,
      route.getExperts(), route.getWeights(), rows, gate, up, down, shared, x);
  emitter.finish(out);
}

std::string layerFunction(LayerKind kind) {
  std::string name = kind.isMoe ? "moe_layer" : "dense_layer";
  return kind.window > 0 ? name + "_window" : name;
}

void emitLayer(ModelContext &context, LayerKind kind) {
  FunctionEmitter emitter(context, layerFunction(kind),
                          {{"x", context.hidden()}, {"rows", context.rows()}},
                          {context.hidden()}, {});
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  x = emitApply(context, kind.window > 0 ? "attention_window" : "attention",
                {x, rows}, context.hidden(), "x")
          ->getResult(0);
  x = kind.isMoe
          ? emitApply(context, "experts", {x, rows}, context.hidden(), "y")
                ->getResult(0)
          : emitApply(context, "mlp", {x}, context.hidden(), "y")->getResult(0);
  emitter.finish(x);
}

/// The residual streams that a drafter taps, side by side in its order; the
/// last of `streams` is in front of the final norm.
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
  const std::vector<LayerKind> &layers = context.config.layers;
  llvm::SmallVector<mlir::Value> streams = {x};
  for (size_t i = 0; i < layers.size(); ++i) {
    x = emitApply(context, layerFunction(layers[i]), {x, rows},
                  context.hidden(), "x", context.prefixOf(i), context.cache,
                  int64_t(i))
            ->getResult(0);
    streams.push_back(x);
  }
  // Drafters without taps take the state after the final norm.
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
  if (any([](LayerKind kind) { return kind.window == 0; }))
    emitAttention(context, 0);
  // A config has one window width at most.
  auto windowed = std::find_if(kinds.begin(), kinds.end(),
                               [](LayerKind kind) { return kind.window > 0; });
  if (windowed != kinds.end())
    emitAttention(context, windowed->window);
  if (any([](LayerKind kind) { return !kind.isMoe; }))
    emitMlp(context);
  if (any([](LayerKind kind) { return kind.isMoe; }))
    emitExperts(context);
  for (LayerKind kind : kinds)
    emitLayer(context, kind);
  emitTarget(context);
}

} // namespace mtp::importer
