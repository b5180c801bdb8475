//===- Touched.cpp - Bytes that a graph node touches ----------------------===//

#include "Touched.h"

#include <algorithm>
#include <cstdio>

using namespace mtp::gpusim;

TouchedSet::Bytes &TouchedSet::bytesOf(uintptr_t base, size_t count) {
  auto found = sets.find(base);
  if (found == sets.end())
    found = sets.emplace(base, Bytes{count, ByteBits(count)}).first;
  return found->second;
}

void TouchedSet::merge(const TouchedSet &other) {
  for (const auto &[base, bytes] : other.sets)
    bytesOf(base, bytes.count).bits.unite(bytes.bits);
}

bool TouchedSet::has(uintptr_t address, size_t bytes) const {
  auto next = sets.upper_bound(address);
  if (next == sets.begin())
    return false;
  const auto &[base, found] = *std::prev(next);
  size_t offset = address - base;
  if (offset >= found.count)
    return false;
  return found.bits.any(offset, std::min(bytes, found.count - offset));
}

std::string TouchedSet::overlap(const TouchedSet &other) const {
  for (const auto &[base, bytes] : sets) {
    auto found = other.sets.find(base);
    if (found == other.sets.end())
      continue;
    size_t byte = bytes.bits.firstCommon(found->second.bits);
    if (byte != ByteBits::npos) {
      char text[96];
      std::snprintf(text, sizeof text, "byte %zu of the allocation at %#zx",
                    byte, size_t(base));
      return text;
    }
  }
  return "";
}
