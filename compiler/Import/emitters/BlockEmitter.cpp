//===- BlockEmitter.cpp - The functions of block drafters -----------------===//

#include "compiler/Import/emitters/FolderEmitter.h"

namespace mtp::importer {

namespace {

/// Emits a layer's keys and values for committed tokens, from their states
/// alone. There is no query and no norm before the projections.
void emitEntries(ModelContext &own, FunctionEmitter &emitter, mlir::Value state,
                 mlir::Value rows, size_t layer) {
  const MixerConfig &mixer = own.config.layers[layer].mixer;
  const GqaConfig &gqa = *mixer.attention->gqa;
  int64_t width = gqa.kvHeads * gqa.headDim;
  std::string attention = own.prefixOf(layer) + "self_attn.";
  mlir::Value k =
      emitter.linear(state, attention + "k_proj", width, gqa.hasQkvBias);
  mlir::Value v =
      emitter.linear(state, attention + "v_proj", width, gqa.hasQkvBias);
  if (gqa.hasQkNorm)
    k = emitter.norm(k, attention + "k_norm", mixer.norms.form, gqa.kvHeads);
  k = emitter.rope(k, rows, mixer.attention->rope, gqa.kvHeads, gqa.headDim, 0);
  auto append = [&](mlir::Value x, int64_t at) {
    mlir::mtp::CacheAppendOp::create(own.builder, own.builder.getUnknownLoc(),
                                     x, rows, own.cache, layer, at);
  };
  append(k, 0);
  append(v, width);
}

/// Emits @draft_context: taps of rows to cache entries of all layers.
void emitContext(ModelContext &own, ModelContext &context,
                 const EagleConfig &eagle) {
  FunctionEmitter emitter(own, "context",
                          {{"taps", context.handedOn()}, {"rows", own.rows()}},
                          {}, {own.root});
  mlir::Value state = emitter.linear(emitter.argument(0), eagle.fuse,
                                     own.config.hidden, eagle.hasFuseBias);
  state = emitter.norm(state, "hidden_norm", own.config.norm);
  for (size_t i = 0; i < own.config.layers.size(); ++i)
    emitEntries(own, emitter, state, emitter.argument(1), i);
  emitter.finish({});
}

/// Emits @draft_states: a block's rows to their states after the final norm.
void emitStates(ModelContext &own) {
  FunctionEmitter emitter(own, "states",
                          {{"tokens", own.tokens()}, {"rows", own.rows()}},
                          {own.hidden()}, {own.root});
  mlir::Value x = emitter.embed(emitter.argument(0));
  for (size_t i = 0; i < own.config.layers.size(); ++i)
    x = emitApply(own, layerFunction(own.config, own.config.layers[i]),
                  {x, emitter.argument(1)}, own.hidden(), "x", own.prefixOf(i),
                  own.cache, int64_t(i))
            ->getResult(0);
  emitter.finish(emitter.norm(x, "norm", own.config.norm));
}

/// Emits @draft_logits: states to logits.
void emitLogits(ModelContext &own, int64_t columns) {
  FunctionEmitter emitter(own, "logits", {{"states", own.hidden()}},
                          {own.activation(columns)}, {own.root});
  emitter.finish(emitter.head(emitter.argument(0), columns));
}

/// Emits @draft_markov: preceding tokens and logits to logits plus the tokens'
/// contribution, and to the tokens' rows of the Markov head's table.
void emitMarkov(ModelContext &own, int64_t columns, int64_t rank) {
  mlir::Type logits = own.activation(columns);
  FunctionEmitter emitter(own, "markov",
                          {{"before", own.tokens()}, {"logits", logits}},
                          {logits, own.activation(rank)}, {own.root});
  mlir::Value table =
      emitter.weight("markov_head.markov_w1.weight", {own.config.vocab, rank});
  mlir::Value e = mlir::mtp::EmbedOp::create(own.builder, own.name("e"),
                                             own.activation(rank),
                                             emitter.argument(0), table,
                                             /*scale=*/nullptr);
  mlir::Value more = emitter.linear(e, "markov_head.markov_w2", columns);
  emitter.finish({emitter.add(emitter.argument(1), more, "sum"), e});
}

/// Emits @draft_confidence: a state, and the preceding token if used, to the
/// logit of acceptance.
void emitConfidence(ModelContext &own, const BlockConfig &block) {
  llvm::SmallVector<Argument> arguments = {{"state", own.hidden()}};
  if (block.confidenceSeesMarkov)
    arguments.push_back({"before", own.activation(block.markovRank)});
  FunctionEmitter emitter(own, "confidence", arguments, {own.activation(1)},
                          {own.root});
  mlir::Value x = emitter.argument(0);
  if (block.confidenceSeesMarkov)
    x = mlir::mtp::ConcatOp::create(
        own.builder, emitter.name("joined"),
        emitter.activation(own.config.hidden + block.markovRank),
        mlir::ValueRange{x, emitter.argument(1)});
  emitter.finish(
      emitter.linear(x, "confidence_head.proj", 1, block.hasConfidenceBias));
}

} // namespace

void emitBlock(ModelContext &context, ModelContext &own) {
  const DrafterFolder &folder = *context.draft.folder;
  int64_t columns = folder.eagle.draftVocab;
  const LayerConfig &layer = own.config.layers.front();
  emitMixer(own, layer.mixer);
  emitFeedForward(own, layer.feed);
  emitLayer(own, layer);
  emitVocabulary(own, folder.eagle);
  emitContext(own, context, folder.eagle);
  emitStates(own);
  emitLogits(own, columns);
  if (folder.block.markovRank > 0)
    emitMarkov(own, columns, folder.block.markovRank);
  if (context.draft.confidence)
    emitConfidence(own, folder.block);
}

} // namespace mtp::importer
