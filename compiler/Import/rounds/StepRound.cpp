//===- StepRound.cpp - Drafters that draft step by step -------------------===//

#include "compiler/Import/rounds/StepRound.h"

#include "compiler/Import/emitters/FolderEmitter.h"

#include <algorithm>

namespace mtp::importer {

namespace {

bool isOfMethod(const ModelContext &context, FolderMethod method) {
  return context.draft.folder && context.draft.folder->method == method;
}

mlir::Operation *emitModuleStep(ModelContext &context, mlir::ValueRange inputs,
                                int64_t module) {
  return emitApply(context, moduleFunction(context, module), inputs,
                   {context.logits(), context.hidden()}, "step",
                   modulePrefix(context.config, module), kDrafterCache, module);
}

} // namespace

int64_t countSteps(const ModelContext &context) {
  return std::max<int64_t>(context.draft.modules, 1);
}

bool fusesTaps(const ModelContext &context) {
  return isOfMethod(context, FolderMethod::Eagle3);
}

mlir::FlatSymbolRefAttr vocabularyOf(ModelContext &context) {
  const DrafterFolder *folder = context.draft.folder;
  if (!folder || folder->eagle.tokens.empty())
    return {};
  return mlir::FlatSymbolRefAttr::get(context.builder.getContext(),
                                      kDrafterVocabulary);
}

mlir::Type draftLogits(ModelContext &context) {
  const DrafterFolder *folder = context.draft.folder;
  int64_t columns = folder ? folder->eagle.draftVocab : 0;
  return columns > 0 ? context.activation(columns) : context.logits();
}

mlir::Type draftHidden(ModelContext &context) {
  const DrafterFolder *folder = context.draft.folder;
  return folder ? context.activation(folder->layers.hidden) : context.hidden();
}

mlir::Operation *emitStep(ModelContext &context, mlir::ValueRange inputs,
                          int64_t step) {
  if (!context.draft.folder)
    return emitModuleStep(context, inputs, step);
  return emitOwn(context, "step", inputs,
                 {draftLogits(context), draftHidden(context)}, "step");
}

void emitStepRegion(ModelContext &context, mlir::Region &region, int64_t step) {
  mlir::OpBuilder::InsertionGuard guard(context.builder);
  bool isModel = isOfMethod(context, FolderMethod::Model);
  llvm::SmallVector<Argument> arguments = {{"tokens", context.tokens()}};
  if (!isModel)
    arguments.push_back({"hidden", draftHidden(context)});
  arguments.push_back({"rows", context.rows()});
  mlir::Block *block = enterRegion(context, region, arguments);
  if (!isModel) {
    emitYield(context,
              emitStep(context, block->getArguments(), step)->getResults());
    return;
  }
  mlir::Operation *whole =
      emitOwn(context, kTarget, block->getArguments(),
              {context.logits(), draftHidden(context)}, "step");
  emitYield(context, whole->getResult(0));
}

mlir::DenseI64ArrayAttr treeOf(ModelContext &context) {
  if (context.draft.tree.kind != DraftTreeKind::Static)
    return {};
  return context.builder.getDenseI64ArrayAttr(context.draft.tree.parents);
}

mlir::Type nodesType(ModelContext &context) {
  if (context.draft.before)
    return context.grid();
  return mlir::RankedTensorType::get(
      {mlir::ShapedType::kDynamic, context.draft.tree.nodes - 1},
      context.builder.getI32Type());
}

void importTree(ModelContext &context) {
  if (context.draft.tree.kind != DraftTreeKind::Dynamic)
    return;
  std::string file =
      "<beam" + std::to_string(context.draft.tree.width) + ".mlir>";
  llvm::SmallVector<llvm::StringRef> functions = {"begin", "expand", "rerank"};
  if (isCoupled(context))
    functions.push_back("verifying");
  if (context.draft.tree.sharp)
    functions.push_back("sharpen");
  emitImport(context, file, functions);
  emitBeamFunctions(context);
}

Drafts emitTree(ModelContext &context) {
  mlir::DenseI64ArrayAttr tree = treeOf(context);
  if (!tree)
    return emitBeam(context);
  int64_t steps = countSteps(context);
  auto draft = mlir::mtp::DraftTreeOp::create(
      context.builder, context.name("drafts"), nodesType(context),
      /*draft_logits=*/mlir::Type(), tree, vocabularyOf(context),
      unsigned(steps));
  for (int64_t step = 0; step < steps; ++step)
    emitStepRegion(context, draft.getSteps()[unsigned(step)], step);
  return {draft.getDrafts(), mlir::Value(), tree};
}

} // namespace mtp::importer
