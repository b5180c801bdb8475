//===- DrafterEmitter.cpp - MTP modules -----------------------------------===//

#include "compiler/Import/rounds/StepRound.h"

#include <algorithm>

namespace mtp::importer {

namespace {

/// A style's names of the parts of a module.
struct ModuleKeys {
  const char *embeddingNorm, *hiddenNorm, *projection, *finalNorm;
};

constexpr ModuleKeys kDeepSeekKeys = {"enorm", "hnorm", "eh_proj",
                                      "shared_head.norm"};
constexpr ModuleKeys kHy3Keys = {"enorm", "hnorm", "eh_proj",
                                 "final_layernorm"};
constexpr ModuleKeys kQwenKeys = {"pre_fc_norm_embedding", "pre_fc_norm_hidden",
                                  "fc", "norm"};
constexpr ModuleKeys kMiMoKeys = {"token_layernorm", "hidden_layernorm",
                                  "input_proj", "final_layernorm"};

/// Returns true if the first embedding is zeroed. Neither vLLM nor transformers
/// zeroes it in Qwen's modules.
bool masksFirst(const DrafterConfig &drafter) {
  return drafter.style != DrafterStyle::Qwen;
}

mlir::mtp::WiringAttr wiringOf(ModelContext &context) {
  using mlir::mtp::CarryPoint, mlir::mtp::FusionOrder;
  const DrafterConfig &drafter = context.config.drafter;
  bool isMiMo = drafter.style == DrafterStyle::MiMo;
  return mlir::mtp::WiringAttr::get(
      context.builder.getContext(),
      isMiMo ? FusionOrder::HiddenEmbedding : FusionOrder::EmbeddingHidden,
      masksFirst(drafter),
      drafter.carriesNormed ? CarryPoint::PostNorm : CarryPoint::PreNorm);
}

const ModuleKeys &keysOf(DrafterStyle style) {
  if (style == DrafterStyle::MiMo)
    return kMiMoKeys;
  if (style == DrafterStyle::Qwen)
    return kQwenKeys;
  return style == DrafterStyle::Hy3 ? kHy3Keys : kDeepSeekKeys;
}

/// Combines the next token's embedding and the hidden state.
mlir::Value emitFusion(ModelContext &context, FunctionEmitter &emitter,
                       const ModuleKeys &keys, const OwnTables &own) {
  const ModelConfig &config = context.config;
  mlir::Value e = emitter.embed(emitter.argument(0), own.embedding);
  if (masksFirst(config.drafter))
    e = mlir::mtp::MaskFirstOp::create(context.builder, emitter.name("masked"),
                                       e.getType(), e, emitter.argument(2));
  e = emitter.norm(e, keys.embeddingNorm, config.normEps);
  mlir::Value h =
      emitter.norm(emitter.argument(1), keys.hiddenNorm, config.normEps);
  bool isHiddenFirst = config.drafter.style == DrafterStyle::MiMo;
  llvm::SmallVector<mlir::Value, 2> order = {e, h};
  if (isHiddenFirst)
    std::swap(order[0], order[1]);
  mlir::Value joined =
      mlir::mtp::ConcatOp::create(context.builder, emitter.name("joined"),
                                  emitter.activation(2 * config.hidden), order);
  return emitter.linear(joined, keys.projection, config.hidden);
}

/// Emits the function that all modules with the matrices `own` share.
void emitModule(ModelContext &context, const OwnTables &own) {
  const ModelConfig &config = context.config;
  const ModuleKeys &keys = keysOf(config.drafter.style);
  std::vector<std::string> prefixes;
  std::string name;
  for (int64_t d = 0; d < context.draft.modules; ++d)
    if (config.drafter.own[size_t(d)] == own) {
      prefixes.push_back(modulePrefix(config, d));
      name = moduleFunction(context, d);
    }
  FunctionEmitter emitter(context, name,
                          {{"tokens", context.tokens()},
                           {"hidden", context.hidden()},
                           {"rows", context.rows()}},
                          {context.logits(), context.hidden()},
                          std::move(prefixes));
  emitter.function()->setAttr(mlir::mtp::kWiringAttr, wiringOf(context));
  mlir::Value x = emitFusion(context, emitter, keys, own);
  // The layer's keys begin with the module's prefix, or with a longer one.
  std::string layer = moduleLayerPrefix(config, 0);
  x = emitApply(context, layerFunction(config.drafterLayer),
                {x, emitter.argument(2)}, context.hidden(), "x",
                layer.substr(modulePrefix(config, 0).size()))
          ->getResult(0);
  mlir::Value normed = emitter.norm(x, keys.finalNorm, config.normEps);
  mlir::Value carried = config.drafter.carriesNormed ? normed : x;
  emitter.finish({emitter.head(normed, /*columns=*/0, own.head), carried});
}

/// Returns the distinct sets of matrices, in the order of the modules.
std::vector<OwnTables> distinctTables(const ModelContext &context) {
  std::vector<OwnTables> distinct;
  for (const OwnTables &own : context.config.drafter.own)
    if (std::ranges::find(distinct, own) == distinct.end())
      distinct.push_back(own);
  return distinct;
}

} // namespace

std::string moduleFunction(const ModelContext &context, int64_t module) {
  std::vector<OwnTables> distinct = distinctTables(context);
  const OwnTables &own = context.config.drafter.own[size_t(module)];
  auto place = std::ranges::find(distinct, own) - distinct.begin();
  std::string name = kModule.str();
  return place == 0 ? name : name + "_" + std::to_string(place + 1);
}

void emitModules(ModelContext &context) {
  for (const OwnTables &own : distinctTables(context))
    emitModule(context, own);
}

mlir::FloatAttr leastProbability(ModelContext &context) {
  if (!context.draft.confidence)
    return {};
  return context.builder.getF64FloatAttr(*context.draft.confidence);
}

Drafts emitModuleDrafts(ModelContext &context) {
  if (context.draft.tree.kind != DraftTreeKind::Chain)
    return emitTree(context);
  mlir::OpBuilder &builder = context.builder;
  constexpr int64_t open = mlir::ShapedType::kDynamic;
  mlir::Type logits;
  if (context.draft.accept.kind == AcceptKind::Rejection)
    logits = mlir::RankedTensorType::get({open, open, context.config.vocab},
                                         builder.getF32Type());
  auto draft = mlir::mtp::DraftChainOp::create(
      builder, context.name("drafts"), context.grid(), logits,
      /*vocabulary=*/nullptr, leastProbability(context),
      unsigned(context.draft.modules));
  for (int64_t d = 0; d < context.draft.modules; ++d)
    emitStepRegion(context, draft.getSteps()[unsigned(d)], d);
  return {draft.getDrafts(), mlir::Value(), nullptr, draft.getDraftLogits()};
}

} // namespace mtp::importer
