//===- Touched.cpp - What a node of a graph reads and writes --------------===//

#include "Touched.h"

#include <cstdio>

using namespace mtp::gpusim;

void TouchedSet::add(const Allocation &allocation, size_t offset,
                     size_t bytes) {
  if (!last || lastBase != allocation.base) {
    last = &sets.try_emplace(allocation.base, allocation.bytes).first->second;
    lastBase = allocation.base;
  }
  last->set(offset, bytes);
}

std::string TouchedSet::overlap(const TouchedSet &other) const {
  for (const auto &[base, bits] : sets) {
    auto found = other.sets.find(base);
    if (found == other.sets.end())
      continue;
    size_t byte = bits.firstCommon(found->second);
    if (byte != ByteBits::npos) {
      char text[96];
      std::snprintf(text, sizeof text, "byte %zu of the allocation at %#zx",
                    byte, size_t(base));
      return text;
    }
  }
  return "";
}
