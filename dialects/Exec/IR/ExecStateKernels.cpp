//===- ExecStateKernels.cpp - Kinds of slots' rows -----------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

// Params are the slots b, and as many rows for each; of write_state_at the rows
// of the operand, of concat_rows those of the second operand.

/// All slots' rows.
static BufferContract &describeState(ContractWriter &w, int64_t width) {
  int64_t rows = w.need("rows");
  w.limit(1, 1, rows);
  return w.words(Extent(w.needIndexed("slots")) * rows * width); // state
}

static void describeRead(ContractWriter &w) {
  int64_t width = w.need("width");
  w.words(w.p0); // slots
  describeState(w, width);
  w.words(w.p0 * w.p1 * width).result(); // rows
}

static void describeWrite(ContractWriter &w) {
  int64_t width = w.need("width");
  w.words(w.p0 * w.p1 * width); // x
  w.words(w.p0);                // slots
  describeState(w, width).update();
}

static void describeWriteAt(ContractWriter &w) {
  int64_t width = w.need("width");
  w.words(w.p2 * width); // x
  w.words(w.p0 * w.p1);  // index
  w.words(w.p0);         // slots
  describeState(w, width).update();
  w.limit(2, 1, kMostParam);
}

static void describeConcat(ContractWriter &w) {
  int64_t width = w.need("width");
  w.limit(1, 1, kMostParam);
  w.limit(2, 1, kMostParam);
  w.words(w.p0 * w.p1 * width);                   // heads
  w.words(w.p0 * w.p2 * width);                   // tails
  w.words(w.p0 * (w.p1 + w.p2) * width).result(); // y
}

static constexpr KernelKind kKinds[] = {
    {"read_state", 2, Division::Slots, describeRead},
    {"write_state", 2, Division::Slots, describeWrite},
    {"write_state_at", 3, Division::Slots, describeWriteAt},
    {"concat_rows", 3, Division::Slots, describeConcat},
};

llvm::ArrayRef<KernelKind> mlir::exec::stateKernels() { return kKinds; }
