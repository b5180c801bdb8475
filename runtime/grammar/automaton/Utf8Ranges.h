//===- Utf8Ranges.h - Characters as sequences of byte ranges ----*- C++ -*-===//
//
// The UTF-8 of a range of characters is a few sequences of byte ranges: U+0400
// to U+07FF is [D0-DF][80-BF]. K. Thompson's grep splits ranges so, as R. Cox
// describes ("Regular Expression Matching in the Wild", 2010).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_AUTOMATON_UTF8RANGES_H
#define MTP_RUNTIME_GRAMMAR_AUTOMATON_UTF8RANGES_H

#include "runtime/grammar/automaton/CodePoints.h"

#include <array>

namespace mtp::grammar {

struct ByteRange {
  uint8_t first = 0;
  uint8_t last = 0;
};

/// One to four byte ranges. A character matches if each of its bytes is in the
/// range of its position.
struct ByteSequence {
  std::array<ByteRange, 4> ranges;
  uint32_t size = 0;
};

/// Returns disjoint sequences that together match the UTF-8 of all characters
/// of the set.
std::vector<ByteSequence> utf8Sequences(const CodePoints &characters);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_AUTOMATON_UTF8RANGES_H
