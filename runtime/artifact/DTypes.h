//===- DTypes.h - Element types and the bytes of tensors --------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_DTYPES_H
#define MTP_RUNTIME_ARTIFACT_DTYPES_H

#include "runtime/core/Result.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <string>
#include <vector>

namespace mtp {

/// No tensor has more dimensions than this.
inline constexpr uint32_t kMaxRank = 8;

/// Bytes of one element. `type` must be a declared value.
uint64_t dtypeBytes(schema::DType type);

/// "f32", "bf16", "i32", ... as MLIR writes them; bool is "i1".
const char *dtypeName(schema::DType type);

/// The type of that name, or NotFound.
Result<schema::DType> parseDType(std::string_view name);

/// "2x4xi32". A null shape is a scalar.
std::string tensorTypeName(schema::DType type,
                           const flatbuffers::Vector<uint64_t> *shape);
std::string tensorTypeName(schema::DType type,
                           const std::vector<uint64_t> &shape);

/// Whether the elements of a vector, of 8 bytes or a struct of such, lie where
/// the processor may read them. The FlatBuffers verifier checks that of fields
/// and of 4-byte elements only.
template <typename T>
bool isAligned(const flatbuffers::Vector<T> *vector) {
  return !vector || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

/// Bytes of a dense tensor. Fails on an undeclared type, a shape that is not
/// aligned, a rank above kMaxRank and a product that overflows. A null shape is
/// a scalar.
Result<uint64_t> tensorBytes(schema::DType type,
                             const flatbuffers::Vector<uint64_t> *shape);
Result<uint64_t> tensorBytes(schema::DType type,
                             const std::vector<uint64_t> &shape);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_DTYPES_H
