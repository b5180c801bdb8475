//===- FolderEmitter.cpp - Drafters in folders of their own ---------------===//
//
// The functions are called @draft_..., the keys begin with "drafter.", and the
// code that writes a model's layers also writes the drafter's.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/FolderEmitter.h"

#include <algorithm>

namespace mtp::importer {

namespace {

SharedKeys keysOf(const ModelContext &context) {
  const DrafterFolder &folder = *context.draft.folder;
  SharedKeys keys = context.keys;
  if (!folder.embedding.empty())
    keys.embedding = kDrafterRoot.str() + folder.embedding;
  if (!folder.head.empty())
    keys.head = kDrafterRoot.str() + folder.head;
  return keys;
}

/// Emits the first layer's attention in EAGLE-1, which has no input norm.
void emitBareAttention(ModelContext &own) {
  FunctionEmitter emitter(own, "first_attention",
                          {{"x", own.hidden()}, {"rows", own.rows()}},
                          {own.hidden()}, {own.root + own.prefixOf(0)});
  mlir::Value x = emitter.argument(0);
  mlir::Value out = emitAttended(emitter, x, emitter.argument(1),
                                 own.config.layers.front().window);
  emitter.finish(emitter.add(x, out, "y"));
}

/// Emits the first layer's attention in EAGLE-3. It reads the embedding beside
/// the state, and its residual is the state alone.
void emitWideAttention(ModelContext &own, const EagleConfig &eagle) {
  FunctionEmitter emitter(
      own, "first_attention",
      {{"e", own.hidden()}, {"g", own.hidden()}, {"rows", own.rows()}},
      {own.hidden()}, {own.root + own.prefixOf(0)});
  double eps = own.config.normEps;
  mlir::Value g = emitter.argument(1);
  mlir::Value e = emitter.norm(emitter.argument(0), "input_layernorm", eps);
  mlir::Value h = emitter.norm(g, "hidden_norm", eps);
  mlir::Value joined = mlir::mtp::ConcatOp::create(
      own.builder, emitter.name("joined"),
      emitter.activation(2 * own.config.hidden), mlir::ValueRange{e, h});
  mlir::Value out = emitAttended(emitter, joined, emitter.argument(2),
                                 own.config.layers.front().window);
  emitter.finish(emitter.add(eagle.normBeforeResidual ? h : g, out, "y"));
}

/// Emits the layers after the first, which are a plain model's layers.
void emitDeeperLayers(ModelContext &own) {
  ModelConfig config = own.config;
  config.layers.erase(config.layers.begin());
  ModelContext deeper{config,      DraftPlan(), own.keys,
                      own.weights, own.builder, okStatus()};
  deeper.functions = own.functions;
  deeper.root = own.root;
  deeper.layerPrefixes.assign(own.layerPrefixes.begin() + 1,
                              own.layerPrefixes.end());
  std::vector<LayerKind> kinds;
  for (LayerKind kind : config.layers)
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      kinds.push_back(kind);
  for (LayerKind kind : kinds) {
    emitAttention(deeper, kind.window);
    emitLayer(deeper, kind);
  }
  own.fail(deeper.failure);
}

mlir::Value applyDeeperLayers(ModelContext &own, mlir::Value x,
                              mlir::Value rows) {
  x = emitApply(own, "mlp", x, own.hidden(), "x", own.prefixOf(0))
          ->getResult(0);
  for (size_t i = 1; i < own.config.layers.size(); ++i)
    x = emitApply(own, layerFunction(own.config.layers[i]), {x, rows},
                  own.hidden(), "x", own.prefixOf(i), own.cache, int64_t(i))
            ->getResult(0);
  return x;
}

/// Emits @draft_step: a token and the preceding state to logits and the next
/// state.
void emitEagleStep(ModelContext &own, const EagleConfig &eagle) {
  FunctionEmitter emitter(own, "step",
                          {{"tokens", own.tokens()},
                           {"hidden", own.hidden()},
                           {"rows", own.rows()}},
                          {own.logits(), own.hidden()}, {own.root});
  mlir::Value e = emitter.embed(emitter.argument(0));
  mlir::Value rows = emitter.argument(2);
  mlir::Value joined =
      mlir::mtp::ConcatOp::create(own.builder, emitter.name("joined"),
                                  emitter.activation(2 * own.config.hidden),
                                  mlir::ValueRange{e, emitter.argument(1)});
  mlir::Value x =
      emitter.linear(joined, eagle.fuse, own.config.hidden, eagle.hasFuseBias);
  x = emitApply(own, "first_attention", {x, rows}, own.hidden(), "x",
                own.prefixOf(0), own.cache, 0)
          ->getResult(0);
  x = applyDeeperLayers(own, x, rows);
  emitter.finish({emitter.head(x), x});
}

void emitEagle3Step(ModelContext &own, const EagleConfig &eagle) {
  mlir::Type logits = own.activation(eagle.draftVocab);
  FunctionEmitter emitter(own, "step",
                          {{"tokens", own.tokens()},
                           {"hidden", own.hidden()},
                           {"rows", own.rows()}},
                          {logits, own.hidden()}, {own.root});
  mlir::Value e = emitter.embed(emitter.argument(0));
  mlir::Value rows = emitter.argument(2);
  mlir::Value x =
      emitApply(own, "first_attention", {e, emitter.argument(1), rows},
                own.hidden(), "x", own.prefixOf(0), own.cache, 0)
          ->getResult(0);
  x = applyDeeperLayers(own, x, rows);
  mlir::Value normed = emitter.norm(x, "norm", own.config.normEps);
  emitter.finish(
      {emitter.head(normed, eagle.draftVocab), eagle.normOutput ? normed : x});
}

/// Normalises each tap with its own norm.
mlir::Value normTaps(ModelContext &own, FunctionEmitter &emitter,
                     mlir::Value taps, size_t count, int64_t width) {
  llvm::SmallVector<mlir::Value> parts;
  for (size_t i = 0; i < count; ++i) {
    int64_t begin = int64_t(i) * width;
    mlir::Value tap = emitter.slice(taps, begin, begin + width, "tap");
    parts.push_back(
        emitter.norm(tap, "fc_norm." + std::to_string(i), own.config.normEps));
  }
  if (parts.size() == 1)
    return parts.front();
  return mlir::mtp::ConcatOp::create(own.builder, emitter.name("normed"),
                                     taps.getType(), parts);
}

/// Emits @draft_fuse: taps to the drafter's state.
void emitFuse(ModelContext &own, ModelContext &context,
              const EagleConfig &eagle) {
  FunctionEmitter emitter(own, "fuse", {{"taps", context.handedOn()}},
                          {own.hidden()}, {own.root});
  mlir::Value taps = emitter.argument(0);
  if (eagle.normBeforeFuse)
    taps = emitter.norm(taps, "input_norm", own.config.normEps);
  if (eagle.hasFuseNorms)
    taps =
        normTaps(own, emitter, taps, eagle.taps.size(), context.config.hidden);
  emitter.finish(
      emitter.linear(taps, eagle.fuse, own.config.hidden, eagle.hasFuseBias));
}

void emitEagle(ModelContext &context, ModelContext &own) {
  const DrafterFolder &folder = *context.draft.folder;
  emitMlp(own);
  emitDeeperLayers(own);
  if (folder.method == FolderMethod::Eagle) {
    emitBareAttention(own);
    emitEagleStep(own, folder.eagle);
    return;
  }
  emitVocabulary(own, folder.eagle);
  emitWideAttention(own, folder.eagle);
  emitFuse(own, context, folder.eagle);
  emitEagle3Step(own, folder.eagle);
}

/// Emits @draft_blocks and @draft_output. A head has two functions because its
/// keys may be in two places.
void emitMedusa(ModelContext &own, const MedusaConfig &medusa) {
  auto prefixes = [&](const std::string &pattern) {
    std::vector<std::string> all;
    for (int64_t i = 0; i < medusa.heads; ++i)
      all.push_back(own.root + numbered(pattern, "{i}", i));
    return all;
  };
  FunctionEmitter blocks(own, "blocks", {{"x", own.hidden()}}, {own.hidden()},
                         prefixes(medusa.blocksPrefix));
  mlir::Value x = blocks.argument(0);
  for (int64_t l = 0; l < medusa.blocks; ++l) {
    mlir::Value inner = blocks.linear(x, numbered(medusa.block, "{l}", l),
                                      own.config.hidden, medusa.hasBias);
    inner = mlir::mtp::SiluOp::create(own.builder, own.name("silu"),
                                      inner.getType(), inner);
    x = blocks.add(x, inner, "x");
  }
  blocks.finish(x);
  FunctionEmitter output(own, "output", {{"x", own.hidden()}}, {own.logits()},
                         prefixes(medusa.outputPrefix));
  mlir::Value matrix =
      output.weight("weight", {own.config.vocab, own.config.hidden});
  mlir::Value logits = mlir::mtp::LinearOp::create(
      own.builder, own.name("logits"), own.logits(), output.argument(0), matrix,
      mlir::Value(),
      mlir::mtp::ProjectionRoleAttr::get(own.builder.getContext(),
                                         mlir::mtp::ProjectionRole::Head));
  output.finish(logits);
}

} // namespace

void emitVocabulary(ModelContext &context, const EagleConfig &eagle) {
  if (eagle.tokens.empty())
    return;
  mlir::OpBuilder &builder = context.builder;
  auto type = mlir::RankedTensorType::get({int64_t(eagle.tokens.size())},
                                          builder.getI32Type());
  mlir::mtp::VocabularyOp::create(
      builder, builder.getUnknownLoc(), kDrafterVocabulary,
      mlir::DenseIntElementsAttr::get(type, llvm::ArrayRef(eagle.tokens)));
}

ModelContext folderContext(ModelContext &context) {
  const DrafterFolder &folder = *context.draft.folder;
  ModelContext own{folder.layers,   DraftPlan(),     keysOf(context),
                   context.weights, context.builder, okStatus()};
  own.functions = kDrafterFunctions.str();
  own.root = kDrafterRoot.str() + folder.root;
  own.layerPrefixes = folder.layerPrefixes;
  own.cache = kDrafterCache;
  return own;
}

void emitFolderFunctions(ModelContext &context) {
  const DrafterFolder &folder = *context.draft.folder;
  ModelContext own = folderContext(context);
  switch (folder.method) {
  case FolderMethod::Eagle:
  case FolderMethod::Eagle3:
    emitEagle(context, own);
    break;
  case FolderMethod::Medusa:
    emitMedusa(own, folder.medusa);
    break;
  case FolderMethod::Model:
  case FolderMethod::Pard:
    emitModelFunctions(own);
    break;
  case FolderMethod::DFlash:
  case FolderMethod::DSpark:
    emitBlock(context, own);
    break;
  case FolderMethod::Heads:
    emitHeadFunctions(context, own);
    break;
  case FolderMethod::PEagle:
    emitEagle(context, own);
    emitMaskFunction(context, own);
    break;
  }
  context.fail(own.failure);
}

mlir::Type verifiedHidden(ModelContext &context) {
  const DrafterFolder *folder = context.draft.folder;
  bool isFused = folder && folder->method == FolderMethod::Eagle3 &&
                 context.draft.tree.kind == DraftTreeKind::Static;
  return isFused ? context.activation(folder->layers.hidden)
                 : context.handedOn();
}

mlir::Value emitHandedOn(ModelContext &context, mlir::Value hidden) {
  mlir::Type type = verifiedHidden(context);
  if (hidden.getType() == type)
    return hidden;
  return emitFused(context, hidden);
}

} // namespace mtp::importer
