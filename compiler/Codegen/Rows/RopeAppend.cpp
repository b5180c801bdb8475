//===- RopeAppend.cpp - From a projection into the cache ------------------===//
//
// What lies between the projections of an attention and itself: keys are
// rotated and written to their entry, values beside them, and queries are
// rotated, all while the row is in a thread's L1 cache and its angles are, too.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Cache.h"
#include "compiler/Codegen/Rows/Rope.h"

using namespace mtp::codegen;
using namespace mlir;

static int64_t keyWidth(const KernelConfig &config) {
  return config.integer("k_heads") * ropeHeadStride(config);
}

static CacheLayout cacheLayout(const KernelConfig &config) {
  return CacheLayout(
      config, config.integer("entry_width",
                             keyWidth(config) + config.integer("v_width")));
}

/// Keys are f32 rows, rotated; values are copied. Both are rounded to the
/// cache's elements as they are written.
static void emitEntry(KernelBuilder &kb, const KernelConfig &config,
                      const CacheLayout &layout, Value keys, Value values,
                      Value angles, Value share) {
  int64_t stride = ropeHeadStride(config);
  Value to = kb.at(share, config.integer("k_offset") / layout.heads *
                              byteWidth(config.dtype()));
  emitRotatedHeads(kb, ropeSpec(config, stride), config.integer("k_heads"),
                   stride, keys,
                   layout.heads > 1 ? layout.headStride() : stride, to, angles,
                   config.dtype());
  emitCopyToShares(kb, layout, values, share, config.integer("v_offset"),
                   config.integer("v_width"), config.dtype());
}

/// buffers: [q], k, v, table, rotary positions, slots, positions, page table,
/// base of the layer's pages, [y]. params: M, maxPages. Queries are there where
/// there are heads of them.
static void emitRopeAppend(KernelBuilder &kb, const KernelConfig &config) {
  int64_t queryHeads = config.integer("q_heads");
  int64_t first = queryHeads > 0 ? 1 : 0;
  auto rowOf = [&](int64_t buffer, Value row, StringRef key, int64_t width) {
    return kb.at(kb.buffer(buffer), row, config.integer(key, width) * 4);
  };
  RopeSpec spec = ropeSpec(config, ropeHeadStride(config));
  int64_t keys = keyWidth(config), values = config.integer("v_width");
  int64_t queries = queryHeads * ropeHeadStride(config);
  CacheBuffers cache{kb.buffer(first + 4), kb.buffer(first + 5),
                     kb.buffer(first + 6), kb.buffer(first + 7),
                     kb.param(1),          config.integer("slots")};
  CacheLayout layout = cacheLayout(config);
  kb.forTasks([&](Value row) {
    Value angles =
        emitAngles(kb, spec, kb.buffer(first + 2), kb.buffer(first + 3), row);
    emitForEntry(
        kb, cache, layout, byteWidth(config.dtype()), row, [&](Value share) {
          emitEntry(kb, config, layout, rowOf(first, row, "k_stride", keys),
                    rowOf(first + 1, row, "v_stride", values), angles, share);
        });
    if (queryHeads > 0)
      emitRotatedHeads(kb, spec, queryHeads, ropeHeadStride(config),
                       rowOf(0, row, "q_stride", queries),
                       ropeHeadStride(config),
                       rowOf(first + 8, row, "y_stride", queries), angles);
  });
}

/// A head each.
static TaskItems ropeAppendItems(const KernelConfig &config) {
  return {config.integer("q_heads") + config.integer("k_heads") +
              cacheLayout(config).heads,
          /*areJoined=*/false};
}

static LogicalResult verifyRopeAppend(const KernelConfig &config,
                                      EmitError emitError) {
  CacheLayout layout = cacheLayout(config);
  if (failed(verifyRopeSpec(ropeSpec(config, ropeHeadStride(config)),
                            "head_stride", emitError)) ||
      failed(verifyCacheHeads(layout, config.integer("k_heads"), "k_heads",
                              emitError)) ||
      failed(verifyInEntry(layout, config.integer("k_offset"), keyWidth(config),
                           "k_offset", "k_heads * head_stride", emitError)))
    return failure();
  return verifyInEntry(layout, config.integer("v_offset"),
                       config.integer("v_width"), "v_offset", "v_width",
                       emitError);
}

/// Those of queries first.
static constexpr ConfigKey ropeAppendKeys[] = {
    {"q_heads", ConfigKey::Int, true},
    {"q_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"k_heads", ConfigKey::Int, true},
    {"dim", ConfigKey::Int, true},
    {"head_stride", ConfigKey::Int, false},
    {"offset", ConfigKey::Int, false},
    {"layout", ConfigKey::Text, false, "half|interleaved"},
    {"v_width", ConfigKey::Int, true},
    {"k_stride", ConfigKey::Int, false},
    {"v_stride", ConfigKey::Int, false},
    {"k_offset", ConfigKey::Int, true},
    {"v_offset", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, false},
    {"cache_heads", ConfigKey::Int, false},
    {"slots", ConfigKey::Int, false},
    {"positions", ConfigKey::Int, false},
    {"page", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"}};

static const RowKernel kinds[] = {
    {{"rope_qkv_append", ropeAppendKeys, verifyRopeAppend},
     emitRopeAppend,
     /*scratch=*/nullptr,
     ropeAppendItems},
    {{"rope_kv_append", ArrayRef(ropeAppendKeys).drop_front(3),
      verifyRopeAppend},
     emitRopeAppend,
     /*scratch=*/nullptr,
     ropeAppendItems}};

llvm::ArrayRef<RowKernel> mtp::codegen::ropeAppendKernels() { return kinds; }
