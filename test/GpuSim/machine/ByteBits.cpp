//===- ByteBits.cpp - A bit for each byte of a range ----------------------===//

#include "ByteBits.h"

#include <algorithm>
#include <bit>

using namespace mtp::gpusim;

void ByteBits::setSlowly(size_t first, size_t count) {
  while (count) {
    auto &page = pages[first / kPage];
    if (!page)
      page = std::make_unique<Page>();
    size_t bit = first % 64, take = std::min(count, 64 - bit);
    (*page)[first % kPage / 64] |= maskOf(bit, take);
    first += take, count -= take;
  }
}

void ByteBits::clear(size_t first, size_t count) {
  while (count) {
    size_t bit = first % 64, take = std::min(count, 64 - bit);
    if (auto &page = pages[first / kPage])
      (*page)[first % kPage / 64] &= ~maskOf(bit, take);
    first += take, count -= take;
  }
}

size_t ByteBits::findClear(size_t first, size_t count) const {
  while (count) {
    const auto &page = pages[first / kPage];
    if (!page)
      return first;
    size_t bit = first % 64, take = std::min(count, 64 - bit);
    uint64_t missing = ~(*page)[first % kPage / 64] & maskOf(bit, take);
    if (missing)
      return first - bit + std::countr_zero(missing);
    first += take, count -= take;
  }
  return npos;
}

bool ByteBits::any(size_t first, size_t count) const {
  while (count) {
    size_t bit = first % 64, take = std::min(count, 64 - bit);
    const auto &page = pages[first / kPage];
    if (page && (*page)[first % kPage / 64] & maskOf(bit, take))
      return true;
    first += take, count -= take;
  }
  return false;
}

size_t ByteBits::firstCommon(const ByteBits &other) const {
  size_t count = std::min(pages.size(), other.pages.size());
  for (size_t p = 0; p < count; ++p) {
    if (!pages[p] || !other.pages[p])
      continue;
    for (size_t w = 0; w < kPage / 64; ++w)
      if (uint64_t common = (*pages[p])[w] & (*other.pages[p])[w])
        return p * kPage + w * 64 + std::countr_zero(common);
  }
  return npos;
}

void ByteBits::unite(const ByteBits &other) {
  for (size_t p = 0; p < pages.size(); ++p) {
    if (!other.pages[p])
      continue;
    if (!pages[p])
      pages[p] = std::make_unique<Page>();
    for (size_t w = 0; w < kPage / 64; ++w)
      (*pages[p])[w] |= (*other.pages[p])[w];
  }
}

void ByteBits::copy(size_t first, const ByteBits &other, size_t otherFirst,
                    size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (other.get(otherFirst + i))
      set(first + i, 1);
    else
      clear(first + i, 1);
}
