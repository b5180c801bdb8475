//===- UnitEntry.cpp - A kernel's object as bytes -------------------------===//

#include "compiler/Codegen/Units/UnitEntry.h"

#include "llvm/Support/Endian.h"

using namespace mtp::codegen;

/// Limit on the number of parts, above the number that any backend has.
static constexpr uint64_t kMostParts = 16;

static void append(std::vector<char> &entry, uint64_t number) {
  char bytes[8];
  llvm::support::endian::write64le(bytes, number);
  entry.insert(entry.end(), bytes, bytes + sizeof(bytes));
}

std::vector<char> mtp::codegen::writeUnitEntry(const KernelObject &object) {
  std::vector<char> entry;
  append(entry, object.parts.size());
  for (const std::vector<char> &part : object.parts)
    append(entry, part.size());
  for (const std::vector<char> &part : object.parts)
    entry.insert(entry.end(), part.begin(), part.end());
  return entry;
}

/// Removes a number from the front of `rest`. Returns nothing if `rest` is too
/// short.
static std::optional<uint64_t> takeNumber(std::span<const char> &rest) {
  if (rest.size() < 8)
    return std::nullopt;
  uint64_t number = llvm::support::endian::read64le(rest.data());
  rest = rest.subspan(8);
  return number;
}

std::optional<KernelObject>
mtp::codegen::readUnitEntry(std::span<const char> entry) {
  std::optional<uint64_t> count = takeNumber(entry);
  if (!count || *count > kMostParts)
    return std::nullopt;
  std::vector<uint64_t> sizes;
  for (uint64_t i = 0; i < *count; ++i) {
    std::optional<uint64_t> size = takeNumber(entry);
    if (!size)
      return std::nullopt;
    sizes.push_back(*size);
  }
  KernelObject object;
  for (uint64_t size : sizes) {
    if (size > entry.size())
      return std::nullopt;
    object.parts.emplace_back(entry.begin(), entry.begin() + size);
    entry = entry.subspan(size);
  }
  if (!entry.empty())
    return std::nullopt;
  return object;
}
