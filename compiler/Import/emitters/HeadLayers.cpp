//===- HeadLayers.cpp - Heads that are layers -----------------------------===//
//
// A head is one layer with its own cache, and then the target's norm and head.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/FolderEmitter.h"

namespace mtp::importer {

void emitHeadFunctions(ModelContext &context, ModelContext &own) {
  emitAttention(own, /*window=*/0);
  emitMlp(own);
  emitLayer(own, own.config.layers.front());
  FunctionEmitter output(own, "output", {{"x", own.hidden()}}, {own.logits()},
                         {own.root});
  mlir::Value normed = output.norm(
      output.argument(0), "/" + context.config.keys().trunk + "norm",
      context.config.normEps, /*groups=*/1, context.config.normOffset);
  output.finish(output.head(normed));
}

mlir::Value emitHeadLayer(ModelContext &context, mlir::Value hidden,
                          mlir::Value rows, int64_t head) {
  const DrafterFolder &folder = *context.draft.folder;
  std::string prefix = kDrafterRoot.str() + folder.layerPrefixes[size_t(head)];
  std::string layer =
      kDrafterFunctions.str() + layerFunction(folder.layers.layers.front());
  mlir::Value x = emitApply(context, layer, {hidden, rows}, context.hidden(),
                            "x", prefix, kDrafterCache, head)
                      ->getResult(0);
  return emitOwn(context, "output", x, context.logits(), "logits")
      ->getResult(0);
}

} // namespace mtp::importer
