//===- ExecCacheKernels.cpp - Kinds that rotate and append ---------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

static void describeRope(ContractWriter &w) {
  int64_t dim = w.need("dim"), head = w.get("head_stride", dim);
  int64_t heads = w.need("heads"), all = heads * head;
  int64_t width = (heads - 1) * head + w.get("copy_width", head);
  w.rows(w.p0, w.get("x_stride", all), width); // x
  w.angles(dim);
  w.rows(w.p0, w.get("y_stride", all), width).result(); // y
}

static void describeAppend(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p0, w.get("x_stride", width), width); // x
  w.cache(w.get("entry_width", width)).update();
}

/// Keys and values of an entry, the keys turned.
static void describeEntry(ContractWriter &w, int64_t dim, int64_t head) {
  int64_t keys = w.need("k_heads") * head, values = w.need("v_width");
  w.rows(w.p0, w.get("k_stride", keys), keys);     // k
  w.rows(w.p0, w.get("v_stride", values), values); // v
  w.angles(dim);
  w.cache(w.get("entry_width", keys + values)).update();
}

static void describeRopeAppend(ContractWriter &w) {
  int64_t dim = w.need("dim");
  describeEntry(w, dim, w.get("head_stride", dim));
}

static void describeRopeQueries(ContractWriter &w) {
  int64_t dim = w.need("dim"), head = w.get("head_stride", dim);
  int64_t queries = w.need("q_heads") * head;
  w.rows(w.p0, w.get("q_stride", queries), queries); // q
  describeEntry(w, dim, head);
  w.rows(w.p0, w.get("y_stride", queries), queries).result(); // y
}

/// Positions that entries go from and to, as many for each slot.
static void describeMove(ContractWriter &w) {
  w.words(w.p0);        // slots
  w.words(w.p0 * w.p2); // from
  w.words(w.p0 * w.p2); // to
  w.pageTable();
  w.pages(w.need("entry_width")).update();
  w.limit(2, 1, kMostParam);
}

static constexpr KernelKind kKinds[] = {
    {"rope", 1, Division::Rows, describeRope},
    {"kv_append", 2, Division::Rows, describeAppend},
    {"rope_kv_append", 2, Division::Rows, describeRopeAppend},
    {"rope_qkv_append", 2, Division::Rows, describeRopeQueries},
    {"kv_move", 3, Division::Slots, describeMove},
};

llvm::ArrayRef<KernelKind> mlir::exec::cacheKernels() { return kKinds; }
