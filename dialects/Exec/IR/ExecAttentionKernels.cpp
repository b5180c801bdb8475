//===- ExecAttentionKernels.cpp - Kinds of attention ---------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

/// Heads of queries, a layer, and what a task needs of a tree.
static int64_t describeQueries(ContractWriter &w) {
  int64_t heads = w.need("q_heads"), queries = heads * w.need("dk");
  w.rows(w.p0, w.get("q_stride", queries), queries); // q
  w.cache(w.need("entry_width"));
  return heads * w.need("dv");
}

static void describeResults(ContractWriter &w, int64_t width) {
  w.rows(w.p0, w.get("y_stride", width), width).result(); // y
}

static void describeAttention(ContractWriter &w) {
  int64_t width = describeQueries(w);
  describeResults(w, width);
}

/// The positions of a tree's rows are those of their slots' windows.
static void describeTree(ContractWriter &w) {
  int64_t width = describeQueries(w);
  int64_t block = w.get("block", 0);
  w.bytes((block ? Extent(block) : w.p2) * 8).alignment = 8; // masks
  w.limit(2, 1, 64);
  describeResults(w, width);
}

static BufferContract &describeLeft(ContractWriter &w) {
  return w.words(w.p0 * w.need("parts") * w.need("part_stride")); // left
}

static void describeParts(ContractWriter &w) {
  describeQueries(w);
  describeLeft(w).result();
}

static void describeJoin(ContractWriter &w) {
  int64_t width = w.need("q_heads") * w.need("dv");
  w.words(w.p0); // positions
  describeLeft(w);
  describeResults(w, width);
}

/// Tiles of query heads of one row of an attention. A tile has the most heads,
/// up to four, that divide a group, so that a task reads each key once for all
/// of them, but half of four that would be a row's only task.
static int64_t attentionTiles(DictionaryAttr config) {
  int64_t heads = configInt(config, "q_heads");
  int64_t keyHeads = std::max<int64_t>(configInt(config, "kv_heads"), 1);
  int64_t group = std::max<int64_t>(heads / keyHeads, 1);
  int64_t tile = std::min<int64_t>(group, 4);
  while (group % tile != 0)
    --tile;
  if (heads == 4 && tile == 4)
    tile = 2;
  return heads / tile;
}

/// Rows times tiles.
static TaskShape rowTasks(DictionaryAttr config) {
  return {1, attentionTiles(config)};
}

/// Groups of eight rows times tiles, times the splits of positions.
static TaskShape groupTasks(DictionaryAttr config) {
  return {8, attentionTiles(config) *
                 std::max<int64_t>(configInt(config, "splits"), 1)};
}

static constexpr KernelKind kKinds[] = {
    {"attention", 2, Division::Other, describeAttention, groupTasks},
    {"attention_tree", 3, Division::Other, describeTree, rowTasks},
    {"attention_parts", 2, Division::Other, describeParts, groupTasks},
    {"attention_join", 1, Division::Other, describeJoin, rowTasks},
};

llvm::ArrayRef<KernelKind> mlir::exec::attentionKernels() { return kKinds; }
