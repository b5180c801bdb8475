//===- ExecExpertKernels.cpp - Kinds of experts --------------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

static void describeRoute(ContractWriter &w) {
  int64_t experts = w.need("experts"), topK = w.need("top_k");
  w.rows(w.p0, w.get("x_stride", experts), experts); // logits
  if (w.flag("bias"))
    w.words(experts);            // bias
  w.words(w.p0 * topK).result(); // experts
  w.words(w.p0 * topK).result(); // weights
}

static void describePlan(ContractWriter &w) {
  int64_t experts = w.need("experts"), topK = w.need("top_k");
  w.words(w.p0);                 // positions
  w.words(w.p0 * topK);          // experts
  w.words(experts + 1).result(); // where an expert's rows begin
  w.words(w.p0 * topK).result(); // order
}

/// The matrices of all experts, and which of them has which rows.
static void describeExperts(ContractWriter &w, int64_t topK, int64_t k,
                            int64_t n, bool gated) {
  int64_t experts = w.need("experts");
  w.weight(k, n, experts, gated);
  w.words(experts + 1); // starts
  w.words(w.p0 * topK); // order
}

static void describeGateUp(ContractWriter &w) {
  int64_t topK = w.need("top_k"), k = w.need("k"), n = w.need("inter");
  w.multiplied(w.p0, w.get("x_stride", k), k); // x
  describeExperts(w, topK, k, 2 * n, /*gated=*/true);
  w.words(w.p0 * topK * n).result(); // y
}

static void describeDown(ContractWriter &w) {
  int64_t topK = w.need("top_k"), k = w.need("k"), n = w.need("n");
  w.multiplied(w.p0 * topK, k, k); // x
  describeExperts(w, topK, k, n, /*gated=*/false);
  w.words(w.p0 * topK * n).result(); // y
}

// A task has the same panel of all experts: which of them have rows is not
// known beforehand, so that no worker may own experts.
static TaskShape gateUpTasks(DictionaryAttr config) {
  return {0, configPanels(config, configInt(config, "inter"))};
}

static TaskShape downTasks(DictionaryAttr config) {
  return {0, configPanels(config, configInt(config, "n"))};
}

static void describeCombine(ContractWriter &w) {
  int64_t width = w.need("width"), topK = w.need("top_k");
  w.words(w.p0);                // positions
  w.words(w.p0 * topK);         // weights
  w.words(w.p0 * topK * width); // what experts made
  for (llvm::StringRef added : {"residual", "shared"})
    if (w.flag(added))
      w.words(w.p0 * width);
  w.words(w.p0 * width).result(); // y
}

static TaskShape oneTask(DictionaryAttr) { return {0, 1}; }

static constexpr KernelKind kKinds[] = {
    {"moe_route", 1, Division::Rows, describeRoute},
    {"moe_plan", 1, Division::Other, describePlan, oneTask},
    {"moe_gate_up", 1, Division::Other, describeGateUp, gateUpTasks},
    {"moe_down", 1, Division::Other, describeDown, downTasks},
    {"moe_combine", 1, Division::Rows, describeCombine},
};

llvm::ArrayRef<KernelKind> mlir::exec::expertKernels() { return kKinds; }
