//===- AttentionKinds.cpp - Configurations of attention -------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Cache.h"

using namespace mtp::codegen;
using namespace mlir;

/// A part begins and ends with a block, whatever the target's vectors are.
static LogicalResult verifyParts(const KernelConfig &config,
                                 EmitError emitError) {
  int64_t qHeads = config.integer("q_heads");
  int64_t kvHeads = config.integer("kv_heads");
  if (qHeads % kvHeads != 0)
    return emitError() << "expected q_heads to be a multiple of kv_heads "
                       << kvHeads << ", got " << qHeads;
  int64_t part = config.integer("part");
  bool leavesParts = config.integer("parts") != 0;
  if (part % 64 != 0 || part < (leavesParts ? 64 : 0))
    return emitError() << "expected part to be a multiple of 64, got " << part;
  return success();
}

static LogicalResult verifyAttention(const KernelConfig &config,
                                     EmitError emitError) {
  int64_t kvHeads = config.integer("kv_heads");
  if (failed(verifyParts(config, emitError)))
    return failure();
  CacheLayout cache(config, config.integer("entry_width"));
  if (failed(verifyCacheHeads(cache, kvHeads, "kv_heads", emitError)))
    return failure();
  for (auto [offset, width] :
       {std::pair("k_offset", "dk"), std::pair("v_offset", "dv")})
    if (failed(verifyInEntry(cache, config.integer(offset),
                             kvHeads * config.integer(width), offset,
                             std::string("kv_heads * ") + width, emitError)))
      return failure();
  return success();
}

// Of the first two kinds below one leaves parts, which have no stride of
// results, and one joins its parts itself: each has a range of these keys.
static constexpr ConfigKey allKeys[] = {
    {"y_stride", ConfigKey::Int, false},
    {"part", ConfigKey::Int, false},
    {"q_heads", ConfigKey::Int, true},
    {"kv_heads", ConfigKey::Int, true},
    {"dk", ConfigKey::Int, true},
    {"dv", ConfigKey::Int, true},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, true},
    {"cache_heads", ConfigKey::Int, false},
    {"k_offset", ConfigKey::Int, false},
    {"v_offset", ConfigKey::Int, false},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"scale", ConfigKey::Float, true},
    {"q_stride", ConfigKey::Int, false},
    {"slots", ConfigKey::Int, false},
    {"window", ConfigKey::Int, false},
    {"part", ConfigKey::Int, true},
    {"parts", ConfigKey::Int, true},
    {"part_stride", ConfigKey::Int, true},
    {"splits", ConfigKey::Int, true}};

static constexpr ConfigKey joinKeys[] = {
    {"q_heads", ConfigKey::Int, true},
    {"kv_heads", ConfigKey::Int, true},
    {"dv", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"part", ConfigKey::Int, true},
    {"parts", ConfigKey::Int, true},
    {"part_stride", ConfigKey::Int, true},
    {"y_stride", ConfigKey::Int, false},
    {"window", ConfigKey::Int, false}};

static constexpr ConfigKey treeKeys[] = {
    {"y_stride", ConfigKey::Int, false},
    {"q_heads", ConfigKey::Int, true},
    {"kv_heads", ConfigKey::Int, true},
    {"dk", ConfigKey::Int, true},
    {"dv", ConfigKey::Int, true},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, true},
    {"cache_heads", ConfigKey::Int, false},
    {"k_offset", ConfigKey::Int, false},
    {"v_offset", ConfigKey::Int, false},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"scale", ConfigKey::Float, true},
    {"q_stride", ConfigKey::Int, false},
    {"part", ConfigKey::Int, false},
    {"slots", ConfigKey::Int, false},
    {"block", ConfigKey::Int, false}};

static const llvm::ArrayRef<ConfigKey> partsKeys =
    llvm::ArrayRef(allKeys).drop_front(2);
static const llvm::ArrayRef<ConfigKey> plainKeys =
    llvm::ArrayRef(allKeys).drop_back(4);

static const KernelKind kinds[] = {
    {"attention", plainKeys, verifyAttention},
    {"attention_tree", treeKeys, verifyAttention},
    {"attention_parts", partsKeys, verifyAttention},
    {"attention_join", joinKeys, verifyParts}};

llvm::ArrayRef<KernelKind> mtp::codegen::attentionKinds() { return kinds; }
