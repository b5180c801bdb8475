//===- RuleAttrs.cpp - Attributes of a custom rule ------------------------===//

#include "dialects/MTP/IR/RuleAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::mtp;

LogicalResult mlir::mtp::verifyRuleAttr(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName().strref();
  auto ranked = dyn_cast<TopKOp>(op);
  bool isShares = name == kSharesAttr;
  if (isShares && !(ranked && ranked.getNoise()))
    return op->emitError("'mtp.shares' expected on an mtp.top_k with noise");
  bool isHandedOn = isa<ModuleOp>(op) && name != kBestDraftsAttr;
  if (!isShares && !isa<AcceptOp>(op) && !isHandedOn)
    return op->emitError("'") << name << "' expected on an mtp.accept";
  if (name != kRuleAttr) {
    if (isa<UnitAttr>(attr.getValue()))
      return success();
    return op->emitError("'")
           << name << "' expected no value, got " << attr.getValue();
  }
  auto text = dyn_cast<StringAttr>(attr.getValue());
  bool isLine = text && !text.empty() && text.size() <= kMostRuleBytes &&
                llvm::all_of(text.getValue(), llvm::isPrint);
  if (isLine && text.getValue().starts_with("exact"))
    return op->emitError("'mtp.rule' expected the name of a custom rule, got '")
           << text.getValue()
           << "', as which the artifact names mtp.accept's "
              "own rule";
  if (isLine)
    return success();
  return op->emitError("'mtp.rule' expected a string of 1 to ")
         << kMostRuleBytes << " printable characters, got " << attr.getValue();
}

LogicalResult mlir::mtp::verifyAcceptRules(Operation *op, NamedAttribute attr) {
  auto rules = dyn_cast<ArrayAttr>(attr.getValue());
  if (isa<func::FuncOp>(op) && rules &&
      llvm::all_of(rules, llvm::IsaPred<DictionaryAttr>))
    return success();
  return op->emitError("'mtp.accept_rules' expected an array of dictionaries "
                       "on a function");
}
