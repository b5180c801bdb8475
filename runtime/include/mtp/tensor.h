//===- tensor.h - Tensors in host memory ------------------------*- C++ -*-===//
//
// Arguments and results of functions.
//
// Units: sizes are in elements or bytes, as each comment says.
//
// Ownership: plain values, whose copies are deep. Arguments are read only
// during the call.
//
// Threads: each thread may use its own values.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_TENSOR_H
#define MTP_RUNTIME_INCLUDE_MTP_TENSOR_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp {

/// Element types. The values are part of the artifact format and never change.
enum class ElementType : uint8_t {
  F32 = 0,
  BF16 = 1,
  F16 = 2,
  F64 = 3,
  I8 = 4,
  U8 = 5,
  I16 = 6,
  I32 = 7,
  I64 = 8,
  /// One byte an element, 0 or 1.
  Bool = 9,
};

/// Type and shape of a tensor, row-major and dense: the last dimension is
/// contiguous, and there is no padding.
struct TensorType {
  ElementType element = ElementType::F32;
  /// Outermost first. Empty: a scalar. A dimension may be 0.
  std::vector<uint64_t> shape;

  bool operator==(const TensorType &) const = default;
};

/// Returns the number of bytes of one element.
uint64_t elementBytes(ElementType type);

/// Returns the product of the dimensions; 1 for a scalar. The caller ensures
/// that it fits into 64 bits.
uint64_t elementCount(const TensorType &type);

/// Returns the type in MLIR's notation: "2x4xi32"; a scalar is "i32".
std::string toString(const TensorType &type);

/// A tensor that owns its bytes.
struct Tensor {
  TensorType type;
  /// elementCount(type) * elementBytes(type.element) bytes, in host order.
  std::vector<uint8_t> bytes;
};

/// One argument or result of a function.
struct PortType {
  /// The argument's name in the model, or "arg0", "result0".
  std::string name;
  TensorType type;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_TENSOR_H
