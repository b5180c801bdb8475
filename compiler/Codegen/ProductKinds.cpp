//===- ProductKinds.cpp - Configurations of products ----------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Rope.h"

using namespace mtp::codegen;
using namespace mlir;

static LogicalResult verifyLinear(const KernelConfig &config,
                                  EmitError emitError) {
  if (failed(verifyWeightFormat(config, emitError)))
    return failure();
  if (config.text("activation") != "swiglu")
    return success();
  if (config.integer("n") % 2 != 0)
    return emitError() << "expected an even n for swiglu, got "
                       << config.integer("n");
  if (config.flag("bias") || config.flag("residual"))
    return emitError() << "expected neither bias nor residual with swiglu";
  return success();
}

static LogicalResult verifyUnpack(const KernelConfig &config,
                                  EmitError emitError) {
  if (failed(verifyWeightFormat(config, emitError)))
    return failure();
  if (!config.flag("fragments"))
    return emitError() << "expected a weight in fragments";
  if (config.flag("gated") && config.integer("n") % 2 != 0)
    return emitError() << "expected an even n of a gated weight, got "
                       << config.integer("n");
  return success();
}

static LogicalResult verifyHeadLinear(const KernelConfig &config,
                                      EmitError emitError) {
  if (failed(verifyWeightFormat(config, emitError)))
    return failure();
  if (!config.flag("rotate"))
    return success();
  if (config.integer("dim") == 0)
    return emitError() << "expected config key 'dim' where there is 'rotate'";
  return verifyRopeSpec(ropeSpec(config, config.integer("keep_width")),
                        "keep_width", emitError);
}

static constexpr ConfigKey linearKeys[] = {
    {"k", ConfigKey::Int, true},
    {"n", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"fragments", ConfigKey::Bool, false},
    {"group", ConfigKey::Int, false},
    {"norm", ConfigKey::Bool, false},
    {"eps", ConfigKey::Float, false},
    {"offset", ConfigKey::Int, false},
    {"bias", ConfigKey::Bool, false},
    {"residual", ConfigKey::Bool, false},
    {"activation", ConfigKey::Text, false, "none|swiglu"},
    {"x_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"residual_stride", ConfigKey::Int, false}};

static constexpr ConfigKey gemmKeys[] = {{"k", ConfigKey::Int, true},
                                         {"n", ConfigKey::Int, true},
                                         {"workspace", ConfigKey::Int, true}};

static constexpr ConfigKey unpackKeys[] = {
    {"k", ConfigKey::Int, true},
    {"n", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "bf16"},
    {"fragments", ConfigKey::Bool, true},
    {"gated", ConfigKey::Bool, false}};

static constexpr ConfigKey headLinearKeys[] = {
    {"heads", ConfigKey::Int, true},
    {"k", ConfigKey::Int, true},
    {"n", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"fragments", ConfigKey::Bool, false},
    {"x_stride", ConfigKey::Int, false},
    {"x_head_stride", ConfigKey::Int, false},
    {"x_offset", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"y_head_stride", ConfigKey::Int, false},
    {"y_offset", ConfigKey::Int, false},
    {"keep_width", ConfigKey::Int, false},
    {"keep_offset", ConfigKey::Int, false},
    {"rotate", ConfigKey::Bool, false},
    {"dim", ConfigKey::Int, false},
    {"offset", ConfigKey::Int, false},
    {"layout", ConfigKey::Text, false, "half|interleaved"},
    {"positions", ConfigKey::Int, false}};

static constexpr ConfigKey argmaxKeys[] = {
    {"k", ConfigKey::Int, true},
    {"n", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"fragments", ConfigKey::Bool, false},
    {"group", ConfigKey::Int, false},
    {"norm", ConfigKey::Bool, false},
    {"eps", ConfigKey::Float, false},
    {"offset", ConfigKey::Int, false},
    {"bias", ConfigKey::Bool, false},
    {"x_stride", ConfigKey::Int, false},
    {"logits", ConfigKey::Bool, false},
    {"slots", ConfigKey::Int, false}};

static constexpr ConfigKey gateUpKeys[] = {
    {"experts", ConfigKey::Int, true},
    {"k", ConfigKey::Int, true},
    {"inter", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"fragments", ConfigKey::Bool, false},
    {"group", ConfigKey::Int, false},
    {"top_k", ConfigKey::Int, true},
    {"x_stride", ConfigKey::Int, false}};

static constexpr ConfigKey downKeys[] = {
    {"experts", ConfigKey::Int, true},
    {"k", ConfigKey::Int, true},
    {"n", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"fragments", ConfigKey::Bool, false},
    {"group", ConfigKey::Int, false},
    {"top_k", ConfigKey::Int, true}};

static const KernelKind kinds[] = {
    {"gemm", gemmKeys},
    {"unpack", unpackKeys, verifyUnpack},
    {"linear", linearKeys, verifyLinear},
    {"head_linear", headLinearKeys, verifyHeadLinear},
    {"linear_argmax", argmaxKeys, verifyWeightFormat},
    {"moe_gate_up", gateUpKeys, verifyWeightFormat},
    {"moe_down", downKeys, verifyWeightFormat}};

llvm::ArrayRef<KernelKind> mtp::codegen::productKinds() { return kinds; }
