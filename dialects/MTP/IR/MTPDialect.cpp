//===- MTPDialect.cpp - The mtp dialect -----------------------------------===//
//
// Registration, and the checks of the discardable attributes that the dialect
// puts on modules and functions.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPDialect.h"

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/OldOps.h"
#include "dialects/MTP/IR/RuleAttrs.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Limits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

#include "dialects/MTP/IR/MTPDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/MTP/IR/MTPTypes.cpp.inc"

void MTPDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/MTP/IR/MTPTypes.cpp.inc"
      >();
  registerAttributes();
  registerMTPDialectOperations(this);
}

std::optional<Dialect::ParseOpHook>
MTPDialect::getParseOperationHook(StringRef name) const {
  return parserOfOldOp(name);
}

/// Checks that the number `key`, if present, lies in [0, high], or in (0, high]
/// if it must be positive.
static LogicalResult verifyNumber(Operation *op, DictionaryAttr dict,
                                  StringRef key, int64_t high,
                                  bool isPositive = false) {
  Attribute value = dict.get(key);
  if (!value)
    return success();
  auto number = dyn_cast<FloatAttr>(value);
  // The comparison is false for nan.
  if (number && number.getValueAsDouble() >= 0 &&
      number.getValueAsDouble() <= high &&
      !(isPositive && number.getValueAsDouble() == 0)) {
    return success();
  }
  return op->emitError("'mtp.generation' key '")
         << key << "' expected a number in " << (isPositive ? "(0, " : "[0, ")
         << high << "], got " << value;
}

/// Checks the default sampling parameters. A run of the model may override
/// them.
static LogicalResult verifySampling(Operation *op, DictionaryAttr dict) {
  if (failed(verifyNumber(op, dict, "temperature", 100)) ||
      failed(verifyNumber(op, dict, "top_p", 1, /*isPositive=*/true)) ||
      failed(verifyNumber(op, dict, "min_p", 1)) ||
      failed(verifyNumber(op, dict, "repetition_penalty", 1000,
                          /*isPositive=*/true))) {
    return failure();
  }
  Attribute topK = dict.get("top_k");
  auto count = dyn_cast_or_null<IntegerAttr>(topK);
  if (topK && (!count || !count.getType().isSignlessInteger() ||
               count.getInt() < 0 || count.getInt() > INT32_MAX)) {
    return op->emitError("'mtp.generation' key 'top_k' expected a count below "
                         "2^31, got ")
           << topK;
  }
  return success();
}

/// Checks that bos and the eos tokens of `mtp.generation` are ids, not
/// negative.
static LogicalResult verifyGeneration(Operation *op, Attribute value) {
  auto dict = dyn_cast<DictionaryAttr>(value);
  if (!dict) {
    return op->emitError("'mtp.generation' expected a dictionary, got ")
           << value;
  }
  if (Attribute bos = dict.get("bos")) {
    auto id = dyn_cast<IntegerAttr>(bos);
    if (!id || !id.getType().isSignlessInteger(32) || id.getInt() < 0) {
      return op->emitError("'mtp.generation' key 'bos' expected a token id as "
                           "i32, got ")
             << bos;
    }
  }
  if (Attribute eos = dict.get("eos")) {
    auto ids = dyn_cast<DenseI32ArrayAttr>(eos);
    if (!ids ||
        llvm::any_of(ids.asArrayRef(), [](int32_t i) { return i < 0; })) {
      return op->emitError("'mtp.generation' key 'eos' expected token ids as "
                           "array<i32>, got ")
             << eos;
    }
  }
  return verifySampling(op, dict);
}

/// Checks that the attribute `name` stands on a module and has the kind
/// `AttrT`.
template <typename AttrT>
static LogicalResult verifyModuleAttr(Operation *op, NamedAttribute attr,
                                      StringRef kind) {
  if (!isa<ModuleOp>(op)) {
    return op->emitError("'")
           << attr.getName().strref() << "' expected on a module";
  }
  if (!isa<AttrT>(attr.getValue())) {
    return op->emitError("'") << attr.getName().strref() << "' expected "
                              << kind << ", got " << attr.getValue();
  }
  return success();
}

/// Checks `mtp.tokenizer`: a folder beside the module or below it.
static LogicalResult verifyTokenizer(Operation *op, NamedAttribute attr) {
  if (failed(verifyModuleAttr<StringAttr>(op, attr, "a string")))
    return failure();
  StringRef path = cast<StringAttr>(attr.getValue()).getValue();
  if (!isContainedPath(path)) { // module_c5
    return op->emitError("'mtp.tokenizer' expected a relative path that does "
                         "not climb, got '")
           << path << "'";
  }
  return success();
}

/// Checks `mtp.method`: one printable line.
static LogicalResult verifyMethod(Operation *op, NamedAttribute attr) {
  if (failed(verifyModuleAttr<StringAttr>(op, attr, "a string")))
    return failure();
  StringRef text = cast<StringAttr>(attr.getValue()).getValue();
  bool isLine = !text.empty() && text.size() <= ::mtp::kMostMethodBytes &&
                llvm::all_of(text, llvm::isPrint);
  if (!isLine) { // module_c6
    return op->emitError("'mtp.method' expected 1 to ")
           << ::mtp::kMostMethodBytes << " printable characters, got "
           << text.size() << " bytes";
  }
  return success();
}

LogicalResult MTPDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  StringRef name = attr.getName().strref();
  if (name == kEnvelopeAttr)
    return verifyModuleAttr<EnvelopeAttr>(op, attr, "#mtp.envelope");
  if (name == kTokenizerAttr)
    return verifyTokenizer(op, attr);
  if (name == kMethodAttr)
    return verifyMethod(op, attr);
  if (name == kGenerationAttr) {
    if (failed(verifyModuleAttr<DictionaryAttr>(op, attr, "a dictionary")))
      return failure();
    return verifyGeneration(op, attr.getValue());
  }
  if (name == kWiringAttr) {
    if (!isa<func::FuncOp>(op) || !isa<WiringAttr>(attr.getValue()))
      return op->emitError("'mtp.wiring' expected #mtp.wiring on a function");
    return success();
  }
  if (name == kRuleAttr || name == kLossyAttr || name == kBestDraftsAttr ||
      name == kSharesAttr)
    return verifyRuleAttr(op, attr);
  if (name == kAcceptRulesAttr)
    return verifyAcceptRules(op, attr);
  // The dialect accepts attributes with other names; other tools may add them.
  return success();
}
