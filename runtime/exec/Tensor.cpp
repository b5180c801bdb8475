//===- Tensor.cpp - Tensors in host memory --------------------------------===//

#include "mtp/tensor.h"
#include "runtime/artifact/DTypes.h"

using namespace mtp;

static_assert(int(ElementType::Bool) == int(schema::DType::Bool) &&
              int(ElementType::I32) == int(schema::DType::I32) &&
              schema::DType::MAX == schema::DType::Bool);

uint64_t mtp::elementBytes(ElementType type) {
  return dtypeBytes(schema::DType(type));
}

uint64_t mtp::elementCount(const TensorType &type) {
  uint64_t count = 1;
  for (uint64_t dim : type.shape)
    count *= dim;
  return count;
}

std::string mtp::toString(const TensorType &type) {
  return tensorTypeName(schema::DType(type.element), type.shape);
}
