//===- KernelConfig.h - The attributes of one kernel ------------*- C++ -*-===//
//
// A kernel is specialised by a dictionary of attributes. Each kind declares
// the keys it knows; reading a dictionary against them reports unknown,
// missing and mistyped keys by name, so that emitters can read without checks.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_KERNELCONFIG_H
#define COMPILER_CODEGEN_KERNELCONFIG_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mtp::codegen {

/// Element type of a table, a weight matrix or a cache.
enum class DType { F32, BF16 };

inline int64_t byteWidth(DType dtype) { return dtype == DType::F32 ? 4 : 2; }

/// How a weight matrix is stored: as elements of `dtype`, or, where `bits` is
/// not 0, as integers of 8 or 4 bits with a scale per output and `group`
/// inputs.
struct WeightFormat {
  DType dtype = DType::F32;
  int64_t bits = 0;
  int64_t group = 0;
};

struct ConfigKey {
  enum Type { Int, Bool, Float, Text };
  llvm::StringLiteral name;
  Type type;
  bool required;
  /// For Text: the allowed values, separated by '|'.
  llvm::StringLiteral choices = "";
};

/// Reports an error about a kernel; the message is appended by the caller.
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

class KernelConfig {
public:
  /// Checks `attributes` against `keys`.
  static mlir::FailureOr<KernelConfig> get(mlir::DictionaryAttr attributes,
                                           llvm::ArrayRef<ConfigKey> keys,
                                           EmitError emitError);

  int64_t integer(llvm::StringRef key, int64_t absent = 0) const;
  bool flag(llvm::StringRef key) const;
  float real(llvm::StringRef key, float absent = 0.0f) const;
  llvm::StringRef text(llvm::StringRef key, llvm::StringRef absent = "") const;
  DType dtype() const {
    return text("dtype") == "bf16" ? DType::BF16 : DType::F32;
  }
  WeightFormat weightFormat() const;

private:
  explicit KernelConfig(mlir::DictionaryAttr attributes)
      : attributes(attributes) {}

  mlir::DictionaryAttr attributes;
};

/// The values that `dtype` may have where weights may be quantised.
inline constexpr llvm::StringLiteral weightDTypes = "f32|bf16|int8|int4";

/// Reports unless `group` is there exactly where `dtype` needs it, and valid.
mlir::LogicalResult verifyWeightFormat(const KernelConfig &config,
                                       EmitError emitError);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_KERNELCONFIG_H
