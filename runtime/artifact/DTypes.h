//===- DTypes.h - Element types and the bytes of tensors --------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_DTYPES_H
#define MTP_RUNTIME_ARTIFACT_DTYPES_H

#include "runtime/core/Result.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <string>
#include <vector>

namespace mtp {

/// Maximum number of dimensions of a tensor.
inline constexpr uint32_t kMaxRank = 8;

/// Returns the bytes of one element. `type` must be a declared value.
uint64_t dtypeBytes(schema::DType type);

/// Returns MLIR's name of a type: "f32", "bf16", "i32", ...; bool is "i1".
const char *dtypeName(schema::DType type);

/// Returns the type of that name, or NotFound.
Result<schema::DType> parseDType(std::string_view name);

/// Returns a tensor type as text, "2x4xi32". A null shape is a scalar.
std::string tensorTypeName(schema::DType type,
                           const flatbuffers::Vector<uint64_t> *shape);
std::string tensorTypeName(schema::DType type,
                           const std::vector<uint64_t> &shape);

/// Whether the elements of a vector are aligned for the processor; they are 8
/// bytes or structs of 8-byte fields. The FlatBuffers verifier checks alignment
/// only for fields and 4-byte elements.
template <typename T>
bool isAligned(const flatbuffers::Vector<T> *vector) {
  return !vector || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

/// Returns the bytes of a dense tensor. Fails for an undeclared type, an
/// unaligned shape, a rank above kMaxRank and a product that overflows. A null
/// shape is a scalar.
Result<uint64_t> tensorBytes(schema::DType type,
                             const flatbuffers::Vector<uint64_t> *shape);
Result<uint64_t> tensorBytes(schema::DType type,
                             const std::vector<uint64_t> &shape);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_DTYPES_H
