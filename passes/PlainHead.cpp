//===- PlainHead.cpp - The head behind a pick -----------------------------===//

#include "passes/PlainHead.h"
#include "dialects/Exec/IR/KernelKinds.h"

using namespace mlir;
using namespace mlir::exec;

bool mlir::mtp::isPick(InvokeOp call) {
  llvm::StringRef kind = call.getKind();
  return kind == "argmax" || kind == "mtp.sample" ||
         kind == "mtp.sample_mapped";
}

/// Whether rows of `n` columns follow each other without a gap.
static bool isDense(int64_t stride, int64_t n) {
  return stride == 0 || stride == n;
}

/// Whether `pick` reads rows of `n` logits, one behind the other.
static bool readsAll(InvokeOp pick, int64_t n) {
  if (pick.getKind() != "argmax")
    return pick.getParams()[1] == n;
  DictionaryAttr config = pick.getConfig();
  return configInt(config, "width") == n &&
         isDense(configInt(config, "x_stride"), n);
}

InvokeOp mlir::mtp::findPlainHead(InvokeOp pick) {
  auto linear = pick.getArgs().front().getDefiningOp<InvokeOp>();
  if (!linear || linear.getKind() != "linear" ||
      pick.getOffsets().front() != 0 ||
      pick.getParams().front() != linear.getParams().front())
    return {};
  DictionaryAttr config = linear.getConfig();
  auto activation = config.getAs<StringAttr>("activation");
  if ((activation && activation.getValue() != "none") ||
      configInt(config, "residual") != 0)
    return {};
  int64_t n = configInt(config, "n");
  return isDense(configInt(config, "y_stride"), n) && readsAll(pick, n)
             ? linear
             : InvokeOp();
}
