//===- KernelConfig.h - Writes a kernel's configuration ---------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELCONFIG_H
#define MTP_DIALECTS_EXEC_IR_KERNELCONFIG_H

#include "dialects/Exec/IR/WeightLayout.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <optional>

namespace mlir::exec {

/// Turns what a typed call says into the dictionary by which code generation,
/// contracts and the artifact know its kernel.
class KernelConfig {
public:
  explicit KernelConfig(MLIRContext *context) : builder(context) {}

  KernelConfig &number(llvm::StringRef key, int64_t value) {
    return attribute(key, builder.getI64IntegerAttr(value));
  }
  KernelConfig &real(llvm::StringRef key, llvm::APFloat value) {
    return attribute(key, FloatAttr::get(builder.getF32Type(), value));
  }
  KernelConfig &text(llvm::StringRef key, llvm::StringRef value) {
    return attribute(key, builder.getStringAttr(value));
  }
  KernelConfig &flag(llvm::StringRef key, bool value) {
    return attribute(key, builder.getBoolAttr(value));
  }
  /// Elements of a weight or of a cache; integers with the group that shares a
  /// scale.
  KernelConfig &elements(Type type, std::optional<int64_t> group = {}) {
    if (group)
      number("group", *group);
    return text("dtype", type.isInteger(8)   ? "int8"
                         : type.isInteger(4) ? "int4"
                         : type.isBF16()     ? "bf16"
                                             : "f32");
  }

  /// The outputs in a panel of `weight`, where they are not as many as the file
  /// format's, and whether panels are in the order of tensor cores.
  KernelConfig &panels(Value weight) {
    int64_t width = panelWidthOf(weight);
    if (isInFragments(weight))
      flag("fragments", true);
    return width == formatPanelWidth() ? *this : number("panel", width);
  }

  DictionaryAttr get() { return entries.getDictionary(builder.getContext()); }

private:
  KernelConfig &attribute(llvm::StringRef key, Attribute value) {
    entries.append(key, value);
    return *this;
  }

  Builder builder;
  NamedAttrList entries;
};

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELCONFIG_H
