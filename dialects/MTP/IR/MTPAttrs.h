//===- MTPAttrs.h - Attributes of the mtp dialect -------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_MTPATTRS_H
#define MTP_DIALECTS_MTP_IR_MTPATTRS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"

#include "dialects/MTP/IR/MTPEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/MTP/IR/MTPAttrs.h.inc"

namespace mlir::mtp {

/// Attributes that the dialect reads from modules and functions, and the
/// attribute with the name that callers use for an argument or result.
inline constexpr llvm::StringLiteral kEnvelopeAttr = "mtp.envelope";
inline constexpr llvm::StringLiteral kGenerationAttr = "mtp.generation";
inline constexpr llvm::StringLiteral kTokenizerAttr = "mtp.tokenizer";
inline constexpr llvm::StringLiteral kWiringAttr = "mtp.wiring";
inline constexpr llvm::StringLiteral kNameAttr = "mtp.name";
/// Attribute of a module: its drafting method as a line of text for users. The
/// artifact contains the line.
inline constexpr llvm::StringLiteral kMethodAttr = "mtp.method";
/// Attribute of a module whose accept rule is not known to be exact, so that
/// output may depend on k.
inline constexpr llvm::StringLiteral kCustomRuleAttr = "mtp.custom_rule";

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_MTPATTRS_H
