//===- AttentionEmitter.cpp - Grouped and latent attention ----------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include <cmath>

namespace mtp::importer {

namespace {

/// Epsilon of MLA's inner norms. The reference code uses it whatever the
/// config's rms_norm_eps is.
constexpr double kLatentEps = 1e-6;

mlir::IntegerAttr windowAttr(mlir::OpBuilder &builder, int64_t window) {
  return window > 0 ? builder.getI64IntegerAttr(window) : mlir::IntegerAttr();
}

/// Emits queries, and gates or null. The projection holds each head's gates
/// after its queries.
std::pair<mlir::Value, mlir::Value>
emitQueries(FunctionEmitter &emitter, mlir::Value x,
            const AttentionConfig &attention) {
  const GqaConfig &gqa = *attention.gqa;
  int64_t heads = attention.heads, dim = gqa.headDim;
  constexpr const char *key = "self_attn.q_proj";
  if (!gqa.hasOutputGate)
    return {emitter.linear(x, key, heads * dim, gqa.hasQkvBias), mlir::Value()};
  auto half = [&](int64_t begin, const char *name) {
    return emitter.linearPart(x, key, 2 * heads * dim,
                              {begin, begin + dim, 2 * dim}, name);
  };
  mlir::Value q = half(0, "q_proj");
  return {q, half(dim, "output_gate")};
}

mlir::Value emitGqa(FunctionEmitter &emitter, mlir::Value x, mlir::Value rows,
                    const MixerConfig &mixer) {
  const AttentionConfig &attention = *mixer.attention;
  const GqaConfig &gqa = *attention.gqa;
  int64_t heads = attention.heads, kvHeads = gqa.kvHeads, dim = gqa.headDim;
  auto project = [&](const char *key, int64_t count) {
    return emitter.linear(x, key, count * dim, gqa.hasQkvBias);
  };
  auto [q, gate] = emitQueries(emitter, x, attention);
  mlir::Value k = project("self_attn.k_proj", kvHeads);
  mlir::Value v = project("self_attn.v_proj", kvHeads);
  if (gqa.hasQkNorm) {
    bool isWhole = gqa.isQkNormWhole;
    q = emitter.norm(q, "self_attn.q_norm", mixer.norms.form,
                     isWhole ? 1 : heads);
    k = emitter.norm(k, "self_attn.k_norm", mixer.norms.form,
                     isWhole ? 1 : kvHeads);
  }
  q = emitter.rope(q, rows, attention.rope, heads, dim, 0);
  k = emitter.rope(k, rows, attention.rope, kvHeads, dim, 0);
  double scaleWidth = gqa.scaleWidth > 0 ? gqa.scaleWidth : double(dim);
  mlir::Value attended = mlir::mtp::AttentionOp::create(
      emitter.builder(), emitter.name("attended"), q.getType(), q, k, v, rows,
      heads, kvHeads, /*value_prefix=*/nullptr,
      llvm::APFloat(1.0 / std::sqrt(scaleWidth)),
      windowAttr(emitter.builder(), attention.window), /*cache=*/nullptr,
      /*layer=*/nullptr);
  if (gate)
    attended = mlir::mtp::SigmoidGateOp::create(
        emitter.builder(), emitter.name("gated"), attended.getType(), attended,
        gate);
  return emitter.linear(attended, "self_attn.o_proj", emitter.config().hidden,
                        gqa.hasOutputBias);
}

mlir::Value emitMlaQuery(FunctionEmitter &emitter, mlir::Value x,
                         const AttentionConfig &attention,
                         const NormForm &form) {
  const MlaConfig &mla = *attention.mla;
  int64_t width = attention.heads * (mla.nope + mla.rope);
  if (mla.queryRank == 0)
    return emitter.linear(x, "self_attn.q_proj", width);
  mlir::Value low = emitter.linear(x, "self_attn.q_a_proj", mla.queryRank);
  low = emitter.norm(low, "self_attn.q_a_layernorm", form);
  return emitter.linear(low, "self_attn.q_b_proj", width);
}

mlir::Value emitMla(FunctionEmitter &emitter, mlir::Value x, mlir::Value rows,
                    const MixerConfig &mixer) {
  const AttentionConfig &attention = *mixer.attention;
  const MlaConfig &mla = *attention.mla;
  int64_t heads = attention.heads, headDim = mla.nope + mla.rope;
  NormForm form = {kLatentEps, mixer.norms.form.offset};
  mlir::Value q = emitMlaQuery(emitter, x, attention, form);
  q = emitter.rope(q, rows, attention.rope, heads, headDim, mla.nope);
  mlir::Value kv =
      emitter.linear(x, "self_attn.kv_a_proj_with_mqa", mla.latent + mla.rope);
  mlir::Value latent = emitter.slice(kv, 0, mla.latent, "latent");
  latent = emitter.norm(latent, "self_attn.kv_a_layernorm", form);
  mlir::Value key =
      emitter.slice(kv, mla.latent, mla.latent + mla.rope, "k_pe");
  key = emitter.rope(key, rows, attention.rope, 1, mla.rope, 0);
  mlir::Value expand =
      emitter.weight("self_attn.kv_b_proj.weight",
                     {heads * (mla.nope + mla.value), mla.latent});
  double scale = attention.rope.scaleFactor / std::sqrt(double(headDim));
  mlir::Value attended = mlir::mtp::MlaAttentionOp::create(
      emitter.builder(), emitter.name("attended"),
      emitter.activation(heads * mla.value), q, latent, key, expand, rows,
      heads, mla.nope, mla.rope, mla.value, llvm::APFloat(scale),
      windowAttr(emitter.builder(), attention.window), /*cache=*/nullptr,
      /*layer=*/nullptr);
  return emitter.linear(attended, "self_attn.o_proj", emitter.config().hidden);
}

} // namespace

mlir::Value emitAttended(FunctionEmitter &emitter, mlir::Value normed,
                         mlir::Value rows, const MixerConfig &mixer) {
  return mixer.attention->mla ? emitMla(emitter, normed, rows, mixer)
                              : emitGqa(emitter, normed, rows, mixer);
}

} // namespace mtp::importer
