//===- CodePoints.cpp - Sets of Unicode characters ------------------------===//

#include "runtime/grammar/automaton/CodePoints.h"

#include <algorithm>

using namespace mtp::grammar;

namespace {

constexpr uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

} // namespace

CodePoints CodePoints::all() { return {{0, kLast}}; }

void CodePoints::add(uint32_t first, uint32_t last) {
  last = std::min(last, kLast);
  if (first < kFirstSurrogate)
    insert(first, std::min(last, kFirstSurrogate - 1));
  if (last > kLastSurrogate)
    insert(std::max(first, kLastSurrogate + 1), last);
}

void CodePoints::add(const CodePoints &other) {
  for (CodePointRange range : other.sorted)
    insert(range.first, range.last);
}

void CodePoints::insert(uint32_t first, uint32_t last) {
  if (first > last)
    return;
  // All ranges that overlap or touch the new one become part of it.
  auto begin = std::find_if(sorted.begin(), sorted.end(), [&](auto &range) {
    return range.last + 1 >= first;
  });
  auto end = begin;
  for (; end != sorted.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  begin = sorted.erase(begin, end);
  sorted.insert(begin, {first, last});
}

bool CodePoints::contains(uint32_t codePoint) const {
  return std::any_of(sorted.begin(), sorted.end(), [&](auto &range) {
    return range.first <= codePoint && codePoint <= range.last;
  });
}

CodePoints CodePoints::complement() const {
  CodePoints rest;
  uint32_t next = 0;
  for (CodePointRange range : sorted) {
    if (range.first > next)
      rest.add(next, range.first - 1);
    next = range.last + 1;
  }
  rest.add(next, kLast);
  return rest;
}

CodePoints CodePoints::intersection(const CodePoints &other) const {
  CodePoints both;
  for (CodePointRange a : sorted)
    for (CodePointRange b : other.sorted)
      both.add(std::max(a.first, b.first), std::min(a.last, b.last));
  return both;
}
