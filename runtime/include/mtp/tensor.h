//===- tensor.h - Tensors in host memory ------------------------*- C++ -*-===//

#ifndef MTP_TENSOR_H
#define MTP_TENSOR_H

#include <cstdint>
#include <string>
#include <vector>

namespace mtp {

/// Element types. The values are those of the artifact format and never change.
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

/// Type and shape of a tensor, row-major and dense. No dimensions: a scalar.
struct TensorType {
  ElementType element = ElementType::F32;
  std::vector<uint64_t> shape;

  bool operator==(const TensorType &) const = default;
};

/// Bytes of one element.
uint64_t elementBytes(ElementType type);

/// The product of the dimensions.
uint64_t elementCount(const TensorType &type);

/// "2x4xi32", as MLIR writes it; a scalar is "i32".
std::string toString(const TensorType &type);

/// A tensor that owns its bytes.
struct Tensor {
  TensorType type;
  /// elementCount(type) * elementBytes(type.element) bytes, in host order.
  std::vector<uint8_t> bytes;
};

/// One argument or result of a function.
struct PortType {
  std::string name;
  TensorType type;
};

} // namespace mtp

#endif // MTP_TENSOR_H
