//===- RecurrenceEmitter.cpp - Layers with a recurrent state --------------===//
//
// Gated DeltaNet (arXiv:2412.06464) in Qwen3-Next and Qwen3.5.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include <cmath>

namespace mtp::importer {

namespace {

/// Epsilon of the L2 norms of queries and keys. The reference code uses it
/// whatever the config's rms_norm_eps is.
constexpr double kLengthEps = 1e-6;

/// The inputs of the recurrence for each row.
struct Projections {
  mlir::Value qkv; ///< All queries, then keys, then values.
  mlir::Value z, b, a;
};

/// Projects in Qwen3-Next's layout: rows of q, k, v and z are grouped by key
/// head, and so are rows of b and a.
Projections projectByKeyHead(FunctionEmitter &emitter, mlir::Value x) {
  const RecurrenceConfig &config = *emitter.config().recurrence;
  int64_t shared = config.heads / config.keyHeads;
  int64_t values = shared * config.values;
  int64_t each = 2 * (config.keys + values);
  auto take = [&](const char *key, int64_t each, int64_t begin, int64_t count,
                  const char *name) {
    return emitter.linearPart(x, key, config.keyHeads * each,
                              {begin, begin + count, each}, name);
  };
  auto wide = [&](int64_t begin, int64_t count, const char *name) {
    return take("linear_attn.in_proj_qkvz", each, begin, count, name);
  };
  mlir::Value q = wide(0, config.keys, "q_proj");
  mlir::Value k = wide(config.keys, config.keys, "k_proj");
  mlir::Value v = wide(2 * config.keys, values, "v_proj");
  mlir::Value z = wide(2 * config.keys + values, values, "in_proj_z");
  auto narrow = [&](int64_t begin, const char *name) {
    return take("linear_attn.in_proj_ba", 2 * shared, begin, shared, name);
  };
  mlir::Value b = narrow(0, "in_proj_b"), a = narrow(shared, "in_proj_a");
  mlir::Value qkv = mlir::mtp::ConcatOp::create(
      emitter.builder(), emitter.name("qkv"),
      emitter.activation(config.columns()), mlir::ValueRange{q, k, v});
  return {qkv, z, b, a};
}

/// Projects in Qwen3.5's layout, with separate matrices.
Projections projectApart(FunctionEmitter &emitter, mlir::Value x) {
  const RecurrenceConfig &config = *emitter.config().recurrence;
  Projections made;
  made.qkv = emitter.linear(x, "linear_attn.in_proj_qkv", config.columns());
  made.z = emitter.linear(x, "linear_attn.in_proj_z", config.valueColumns());
  made.b = emitter.linear(x, "linear_attn.in_proj_b", config.heads);
  made.a = emitter.linear(x, "linear_attn.in_proj_a", config.heads);
  return made;
}

/// Emits the convolution and the recurrence.
mlir::Value emitDeltaRule(FunctionEmitter &emitter, const Projections &from,
                          mlir::Value rows) {
  const RecurrenceConfig &config = *emitter.config().recurrence;
  mlir::OpBuilder &builder = emitter.builder();
  mlir::Value filters = emitter.weight("linear_attn.conv1d.weight",
                                       {config.columns(), config.window});
  mlir::Value mixed = mlir::mtp::CausalConvOp::create(
      builder, emitter.name("conv1d"), from.qkv.getType(), from.qkv, filters,
      rows, /*memory=*/nullptr, /*layer=*/nullptr);
  int64_t keys = config.keyColumns();
  auto direction = [&](int64_t begin, const char *name) {
    mlir::Value x = emitter.slice(mixed, begin, begin + keys, name);
    return mlir::mtp::L2NormOp::create(builder, emitter.name(name), x.getType(),
                                       x, config.keyHeads,
                                       llvm::APFloat(kLengthEps));
  };
  mlir::Value q = direction(0, "q"), k = direction(keys, "k");
  mlir::Value v = emitter.slice(mixed, 2 * keys, config.columns(), "v");
  mlir::Value beta = mlir::mtp::SigmoidOp::create(builder, emitter.name("beta"),
                                                  from.b.getType(), from.b);
  mlir::Value rate = emitter.weight("linear_attn.A_log", {config.heads});
  mlir::Value bias = emitter.weight("linear_attn.dt_bias", {config.heads});
  mlir::Value decay = mlir::mtp::DecayOp::create(builder, emitter.name("decay"),
                                                 from.a.getType(), from.a, rate,
                                                 bias, config.hasLinearRates);
  return mlir::mtp::DeltaRuleOp::create(
      builder, emitter.name("recalled"), v.getType(), q, k, v, decay, beta,
      rows, /*memory=*/nullptr, /*layer=*/nullptr,
      llvm::APFloat(1.0 / std::sqrt(double(config.keys))));
}

} // namespace

void emitRecurrence(ModelContext &context) {
  const ModelConfig &config = context.config;
  const RecurrenceConfig &recurrence = *config.recurrence;
  FunctionEmitter emitter(
      context, "recurrence",
      {{"x", context.hidden()}, {"rows", context.rows()}}, {context.hidden()},
      context.prefixesOf([](LayerKind kind) { return kind.isRecurrent; }));
  mlir::Value x = emitter.argument(0), rows = emitter.argument(1);
  mlir::Value normed = emitter.norm(x, "input_layernorm", config.normEps);
  Projections projected = recurrence.isByKeyHead
                              ? projectByKeyHead(emitter, normed)
                              : projectApart(emitter, normed);
  mlir::Value recalled = emitDeltaRule(emitter, projected, rows);
  // Unlike other norms, this norm does not add 1 to its weight.
  recalled = emitter.norm(recalled, "linear_attn.norm", config.normEps,
                          recurrence.heads, /*offset=*/0);
  mlir::Value gated =
      mlir::mtp::SwigluOp::create(context.builder, emitter.name("gated"),
                                  recalled.getType(), projected.z, recalled);
  mlir::Value out =
      emitter.linear(gated, "linear_attn.out_proj", config.hidden);
  emitter.finish(emitter.add(x, out, "y"));
}

} // namespace mtp::importer
