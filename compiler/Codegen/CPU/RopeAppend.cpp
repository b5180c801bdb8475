//===- RopeAppend.cpp - From a projection into the cache ------------------===//
//
// What lies between the projections of an attention and itself: keys are
// rotated and written to their entry, values beside them, and queries are
// rotated, all while the row is in a thread's L1 cache and its angles are, too.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/Cache.h"
#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/CPU/Rope.h"

using namespace mtp::codegen;
using namespace mlir;

static int64_t keyWidth(const KernelConfig &config) {
  return config.integer("k_heads") * ropeHeadStride(config);
}

/// Keys are f32 rows, rotated; values are copied. Both are rounded to the
/// cache's elements as they are written.
static void emitEntry(KernelBuilder &kb, const KernelConfig &config, Value keys,
                      Value values, Value angles, Value entry) {
  int64_t bytes = byteWidth(config.dtype());
  emitRotatedHeads(kb, ropeSpec(config, ropeHeadStride(config)),
                   config.integer("k_heads"), ropeHeadStride(config), keys,
                   kb.at(entry, config.integer("k_offset") * bytes), angles,
                   config.dtype());
  kb.copyFloats(values, kb.at(entry, config.integer("v_offset") * bytes),
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
                     kb.buffer(first + 6), kb.buffer(first + 7), kb.param(1)};
  int64_t entryBytes =
      config.integer("entry_width", keys + values) * byteWidth(config.dtype());
  kb.forTasks([&](Value row) {
    Value angles =
        emitAngles(kb, spec, kb.buffer(first + 2), kb.buffer(first + 3), row);
    emitForEntry(
        kb, cache, config.integer("page"), entryBytes, row, [&](Value entry) {
          emitEntry(kb, config, rowOf(first, row, "k_stride", keys),
                    rowOf(first + 1, row, "v_stride", values), angles, entry);
        });
    if (queryHeads > 0)
      emitRotatedHeads(kb, spec, queryHeads, ropeHeadStride(config),
                       rowOf(0, row, "q_stride", queries),
                       rowOf(first + 8, row, "y_stride", queries), angles);
  });
}

static LogicalResult verifyRopeAppend(const KernelConfig &config,
                                      EmitError emitError) {
  int64_t keys = keyWidth(config), values = config.integer("v_width");
  int64_t entry = config.integer("entry_width", keys + values);
  if (failed(verifyRopeSpec(ropeSpec(config, ropeHeadStride(config)),
                            "head_stride", emitError)) ||
      failed(verifyInEntry(config.integer("k_offset"), keys, entry,
                           "k_offset + k_heads * head_stride", emitError)))
    return failure();
  return verifyInEntry(config.integer("v_offset"), values, entry,
                       "v_offset + v_width", emitError);
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
    {"page", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"}};

static const KernelKind kinds[] = {
    {"rope_qkv_append", ropeAppendKeys, emitRopeAppend, taskPerRow, nullptr,
     verifyRopeAppend},
    {"rope_kv_append", ArrayRef(ropeAppendKeys).drop_front(3), emitRopeAppend,
     taskPerRow, nullptr, verifyRopeAppend}};

llvm::ArrayRef<KernelKind> mtp::codegen::ropeAppendKernels() { return kinds; }
