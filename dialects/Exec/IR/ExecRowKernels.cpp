//===- ExecRowKernels.cpp - Kinds that go row by row ---------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

static void describeEmbed(ContractWriter &w) {
  int64_t width = w.need("width");
  w.table(width, w.need("vocab"));
  w.words(w.p0);                  // tokens
  w.words(w.p0 * width).result(); // y
}

/// Rows, a number for each, and rows that are made of both.
static void describeNumbered(ContractWriter &w) {
  int64_t width = w.need("width");
  w.words(w.p0 * width);          // x
  w.words(w.p0);                  // positions or tokens
  w.words(w.p0 * width).result(); // y
}

static void describeNorm(ContractWriter &w) {
  int64_t width = w.need("width"), all = width * w.get("groups", 1);
  w.rows(w.p0, w.get("x_stride", all), all);          // x
  w.words(width);                                     // weight
  w.rows(w.p0, w.get("y_stride", all), all).result(); // y
}

static void describeRound(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p0, w.get("x_stride", width), width); // x
  if (w.flag("norm"))
    w.words(width);                     // the norm's weight
  w.bytes(w.p0 * (2 * width)).result(); // y
}

static void describeAddBias(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p0, w.get("x_stride", width), width);          // x
  w.words(width);                                         // bias
  w.rows(w.p0, w.get("y_stride", width), width).result(); // y
}

static void describePair(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p0, w.get("a_stride", width), width);          // a
  w.rows(w.p0, w.get("b_stride", width), width);          // b
  w.rows(w.p0, w.get("y_stride", width), width).result(); // y
}

static void describeConcat(ContractWriter &w) {
  int64_t a = w.need("a_width"), b = w.need("b_width");
  w.rows(w.p0, w.get("a_stride", a), a);                  // a
  w.rows(w.p0, w.get("b_stride", b), b);                  // b
  w.rows(w.p0, w.get("y_stride", a + b), a + b).result(); // y
}

static void describeCopy(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p0, w.get("x_stride", width), width, w.get("x_offset", 0)); // x
  w.rows(w.p0, w.get("y_stride", width), width, w.get("y_offset", 0))
      .result(); // y
}

static void describeTakeRows(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p1, w.get("x_stride", width), width); // x
  w.words(w.p0);                                 // index
  w.words(w.p0 * width).result();                // y
  w.limit(1, 1, kMostParam);
}

static void describeArgmax(ContractWriter &w) {
  int64_t width = w.need("width");
  w.rows(w.p0, w.get("x_stride", width), width); // x
  w.words(w.p0).result();                        // picks
}

static void describeArgmaxParts(ContractWriter &w) {
  Extent parts = w.p0 * w.need("parts");
  w.words(parts);         // best values
  w.words(parts);         // their columns
  w.words(w.p0).result(); // picks
}

static constexpr KernelKind kKinds[] = {
    {"embed", 1, Division::Rows, describeEmbed},
    {"mask_first", 1, Division::Rows, describeNumbered},
    {"exclude", 1, Division::Rows, describeNumbered},
    {"rms_norm", 1, Division::Rows, describeNorm},
    {"round_rows", 1, Division::Rows, describeRound},
    {"add_bias", 1, Division::Rows, describeAddBias},
    {"add", 1, Division::Rows, describePair},
    {"swiglu", 1, Division::Rows, describePair},
    {"concat", 1, Division::Rows, describeConcat},
    {"copy_cols", 1, Division::Rows, describeCopy},
    {"take_rows", 2, Division::GatheredRows, describeTakeRows},
    {"argmax", 1, Division::Rows, describeArgmax},
    {"argmax_parts", 1, Division::Rows, describeArgmaxParts},
};

llvm::ArrayRef<KernelKind> mlir::exec::rowKernels() { return kKinds; }
