//===- DTypes.cpp - Element types and the bytes of tensors ----------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

namespace {
struct TypeInfo {
  const char *name;
  uint8_t bytes;
};
/// Indexed by schema::DType.
constexpr TypeInfo kTypes[] = {{"f32", 4}, {"bf16", 2}, {"f16", 2}, {"f64", 8},
                               {"i8", 1},  {"ui8", 1},  {"i16", 2}, {"i32", 4},
                               {"i64", 8}, {"i1", 1}};
constexpr size_t kTypeCount = sizeof(kTypes) / sizeof(kTypes[0]);
static_assert(kTypeCount == size_t(schema::DType::MAX) + 1);
} // namespace

uint64_t mtp::dtypeBytes(schema::DType type) {
  return kTypes[size_t(type)].bytes;
}

const char *mtp::dtypeName(schema::DType type) {
  return size_t(type) < kTypeCount ? kTypes[size_t(type)].name : "unknown";
}

Result<schema::DType> mtp::parseDType(std::string_view name) {
  for (size_t i = 0; i < kTypeCount; ++i)
    if (name == kTypes[i].name)
      return schema::DType(i);
  return notFound(strCat("unknown element type '", name, "'"));
}

template <typename Shape>
static std::string joinShape(schema::DType type, const Shape &shape) {
  std::string text;
  for (uint64_t dim : shape)
    text += strCat(dim, "x");
  return text + dtypeName(type);
}

std::string mtp::tensorTypeName(schema::DType type,
                                const flatbuffers::Vector<uint64_t> *shape) {
  return shape ? joinShape(type, *shape) : dtypeName(type);
}

std::string mtp::tensorTypeName(schema::DType type,
                                const std::vector<uint64_t> &shape) {
  return joinShape(type, shape);
}

template <typename Shape>
static Result<uint64_t> bytesOf(schema::DType type, const Shape &shape) {
  if (size_t(type) >= kTypeCount)
    return dataLoss(strCat("expected an element type below ", kTypeCount,
                           ", got ", unsigned(type)));
  if (shape.size() > kMaxRank)
    return dataLoss(strCat("expected at most ", kMaxRank, " dimensions, got ",
                           shape.size()));
  uint64_t bytes = kTypes[size_t(type)].bytes;
  for (uint64_t dim : shape)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return dataLoss(strCat("the bytes of ", joinShape(type, shape),
                             " do not fit into 64 bits"));
  return bytes;
}

Result<uint64_t> mtp::tensorBytes(schema::DType type,
                                  const flatbuffers::Vector<uint64_t> *shape) {
  if (!shape)
    return bytesOf(type, std::vector<uint64_t>());
  if (!isAligned(shape))
    return dataLoss("the shape is not aligned to 8 bytes");
  return bytesOf(type, *shape);
}

Result<uint64_t> mtp::tensorBytes(schema::DType type,
                                  const std::vector<uint64_t> &shape) {
  return bytesOf(type, shape);
}
