//===- ExecProductKernels.cpp - Kinds of products ------------------------===//

#include "dialects/Exec/IR/KernelFamily.h"
#include "runtime/schema/SamplingWords.h"

using namespace mlir;
using namespace mlir::exec;

/// The inputs of a projection by n outputs.
static void describeInputs(ContractWriter &w, int64_t k, int64_t n,
                           bool gated) {
  w.multiplied(w.p0, w.get("x_stride", k), k); // x
  if (w.flag("norm"))
    w.multiplied(1, k, k); // the norm's weight
  w.weight(k, n, /*stack=*/1, gated);
  if (w.flag("bias"))
    w.words(n); // bias
}

static bool isGated(DictionaryAttr config) {
  auto activation = config.getAs<StringAttr>("activation");
  return activation && activation.getValue() == "swiglu";
}

static void describeLinear(ContractWriter &w) {
  int64_t k = w.need("k"), n = w.need("n");
  bool gated = w.text("activation") == "swiglu";
  int64_t outputs = gated ? n / 2 : n;
  describeInputs(w, k, n, gated);
  if (w.flag("residual"))
    w.rows(w.p0, w.get("residual_stride", outputs), outputs); // residual
  w.rows(w.p0, w.get("y_stride", outputs), outputs).result(); // y
}

static TaskShape linearTasks(DictionaryAttr config) {
  int64_t n = configInt(config, "n");
  return {0, configPanels(config, isGated(config) ? n / 2 : n)};
}

static void describeLinearArgmax(ContractWriter &w) {
  int64_t k = w.need("k"), n = w.need("n"), parts = w.panels(n);
  describeInputs(w, k, n, /*gated=*/false);
  // A head that keeps its logits for some slots reads which.
  bool hasLogits = w.flag("logits");
  if (hasLogits) {
    w.words(w.p0);                                                   // slots
    w.words(Extent(w.needIndexed("slots")) * ::mtp::kSamplingWords); // sampling
  }
  w.words(w.p0 * parts).result(); // best values
  w.words(w.p0 * parts).result(); // their columns
  if (hasLogits)
    w.words(w.p0 * n).result(); // logits
}

static void describeHeadLinear(ContractWriter &w) {
  int64_t k = w.need("k"), n = w.need("n"), heads = w.need("heads");
  int64_t xHead = w.get("x_head_stride", k), yHead = w.get("y_head_stride", n);
  int64_t kept = w.get("keep_width", 0);
  int64_t width = std::max(w.get("x_offset", 0) + k,
                           kept ? w.get("keep_offset", 0) + kept : 0);
  w.multiplied(w.p0, w.get("x_stride", heads * xHead),
               (heads - 1) * xHead + width); // x
  w.weight(k, n, heads);
  if (w.flag("rotate"))
    w.angles(w.need("dim"));
  w.rows(w.p0, w.get("y_stride", heads * yHead), (heads - 1) * yHead + n + kept,
         w.get("y_offset", 0))
      .result(); // y
}

static TaskShape headLinearTasks(DictionaryAttr config) {
  return {0, configInt(config, "heads") *
                 configPanels(config, configInt(config, "n"))};
}

/// What a library of vectors of 16 bytes asks of its buffers.
static constexpr int64_t kLibraryAlignment = 16;

/// The same as `verifyGemmContract` of runtime/artifact, which trusts no file.
static void describeGemm(ContractWriter &w) {
  int64_t k = w.need("k"), n = w.need("n");
  w.bytes(w.p0 * (2 * k)).alignment = kLibraryAlignment;    // x
  w.bytes(Extent(2 * k) * n).alignment = kLibraryAlignment; // weight
  BufferContract &y = w.words(w.p0 * n);                    // y
  y.alignment = kLibraryAlignment;
  y.result();
  BufferContract &workspace = w.bytes(w.need("workspace"));
  workspace.alignment = kLibraryAlignment;
  workspace.result();
}

static TaskShape gemmTasks(DictionaryAttr) { return {0, 1}; }

static void describeUnpack(ContractWriter &w) {
  int64_t k = w.need("k"), n = w.need("n");
  w.weight(k, n, /*stack=*/1, w.flag("gated"));
  w.bytes(Extent(2 * k) * n).result(); // matrix
}

static TaskShape unpackTasks(DictionaryAttr config) {
  int64_t halves = configInt(config, "gated") ? 2 : 1;
  return {0, halves * configPanels(config, configInt(config, "n") / halves)};
}

static constexpr KernelKind kKinds[] = {
    {"gemm", 1, Division::Other, describeGemm, gemmTasks},
    {"unpack", 1, Division::Other, describeUnpack, unpackTasks},
    {"linear", 1, Division::Other, describeLinear, linearTasks},
    {"linear_argmax", 1, Division::Other, describeLinearArgmax, linearTasks},
    {"head_linear", 1, Division::Other, describeHeadLinear, headLinearTasks},
};

llvm::ArrayRef<KernelKind> mlir::exec::productKernels() { return kKinds; }
