//===- LayerEmitter.cpp - Feed-forward parts, layers and the target -------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include <algorithm>

namespace mtp::importer {

void emitMixer(ModelContext &context, const MixerConfig &mixer) {
  FunctionEmitter emitter(context, mixerFunction(context.config, mixer),
                          {{"x", context.hidden()}, {"rows", context.rows()}},
                          {context.hidden()}, context.prefixesOf(mixer));
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  mlir::Value normed = emitter.norm(x, mixer.norms);
  mlir::Value out = mixer.recurrence
                        ? emitRecalled(emitter, normed, rows, mixer)
                        : emitAttended(emitter, normed, rows, mixer);
  out = emitter.normResult(out, mixer.norms);
  emitter.finish(emitter.add(x, out, "y"));
}

/// Emits a dense feed-forward part.
static void emitMlp(ModelContext &context, const FeedForwardConfig &feed) {
  FunctionEmitter emitter(context, feedFunction(context.config, feed),
                          {{"x", context.hidden()}}, {context.hidden()},
                          context.prefixesOf(feed));
  mlir::Value x = emitter.argument(0);
  mlir::Value normed = emitter.norm(x, feed.norms);
  mlir::Value out = emitter.gated(normed, "mlp.", feed.width, feed.activation);
  out = emitter.normResult(out, feed.norms);
  emitter.finish(emitter.add(x, out, "y"));
}

/// Emits the router: each row's experts and their weights.
static mlir::mtp::MoeRouteOp emitRoute(ModelContext &context,
                                       FunctionEmitter &emitter,
                                       const MoeConfig &moe,
                                       mlir::Value normed) {
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
                                       const MoeConfig &moe) {
  int64_t hidden = emitter.config().hidden, width = moe.width;
  if (moe.isStacked) {
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
static mlir::Value emitShared(FunctionEmitter &emitter, const MoeConfig &moe,
                              mlir::Value normed) {
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

/// Emits a mixture of experts.
static void emitExperts(ModelContext &context, const FeedForwardConfig &feed) {
  const MoeConfig &moe = *feed.moe;
  FunctionEmitter emitter(context, feedFunction(context.config, feed),
                          {{"x", context.hidden()}, {"rows", context.rows()}},
                          {context.hidden()}, context.prefixesOf(feed));
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  mlir::Value normed = emitter.norm(x, feed.norms);
  auto route = emitRoute(context, emitter, moe, normed);
  ExpertWeights weights = unifyTypes(emitter, emitExpertWeights(emitter, moe));
  mlir::Value shared = emitShared(emitter, moe, normed);
  if (feed.activation != Activation::Silu)
    context.fail(unimplemented("expected experts whose gates are SiLUs"));
  bool isPlain = feed.norms.after.empty();
  mlir::Value out = mlir::mtp::MoeExpertsOp::create(
      context.builder, emitter.name("y"), context.hidden(), normed,
      route.getExperts(), route.getWeights(), rows, weights.gate, weights.up,
      weights.down, shared, isPlain ? x : mlir::Value());
  if (!isPlain)
    out = emitter.add(x, emitter.normResult(out, feed.norms), "y");
  emitter.finish(out);
}

void emitFeedForward(ModelContext &context, const FeedForwardConfig &feed) {
  if (feed.moe)
    emitExperts(context, feed);
  else
    emitMlp(context, feed);
}

void emitLayer(ModelContext &context, const LayerConfig &layer) {
  const ModelConfig &config = context.config;
  FunctionEmitter emitter(context, layerFunction(config, layer),
                          {{"x", context.hidden()}, {"rows", context.rows()}},
                          {context.hidden()}, {});
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  x = emitApply(context, mixerFunction(config, layer.mixer), {x, rows},
                context.hidden(), "x")
          ->getResult(0);
  llvm::SmallVector<mlir::Value> inputs = {x};
  if (layer.isMoe())
    inputs.push_back(rows);
  x = emitApply(context, feedFunction(config, layer.feed), inputs,
                context.hidden(), "y")
          ->getResult(0);
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
                                    context.config.norm);
  emitter.finish({emitter.head(hidden),
                  hasTaps ? emitTaps(context, emitter, streams) : hidden});
}

void emitModelFunctions(ModelContext &context) {
  const ModelConfig &config = context.config;
  std::vector<LayerConfig> all = config.layers;
  if (context.draft.modules > 0)
    all.push_back(config.drafterLayer);
  std::vector<LayerConfig> layers = distinctLayers(all);
  std::vector<MixerConfig> mixers;
  std::vector<FeedForwardConfig> feeds;
  for (const LayerConfig &layer : layers) {
    if (std::ranges::find(mixers, layer.mixer) == mixers.end())
      mixers.push_back(layer.mixer);
    if (std::ranges::find(feeds, layer.feed) == feeds.end())
      feeds.push_back(layer.feed);
  }
  std::ranges::stable_sort(mixers, {}, [](const MixerConfig &mixer) {
    return std::pair(!mixer.recurrence,
                     mixer.attention && mixer.attention->window > 0);
  });
  std::ranges::stable_sort(feeds, {}, [](const FeedForwardConfig &feed) {
    return std::pair(feed.moe.has_value(), feed.moe && feed.moe->isStacked);
  });
  for (const MixerConfig &mixer : mixers)
    emitMixer(context, mixer);
  for (const FeedForwardConfig &feed : feeds)
    emitFeedForward(context, feed);
  for (const LayerConfig &layer : layers)
    emitLayer(context, layer);
  emitTarget(context);
}

} // namespace mtp::importer
