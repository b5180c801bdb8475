//===- Utf8Ranges.cpp - Characters as sequences of byte ranges ------------===//

#include "runtime/grammar/automaton/Utf8Ranges.h"

#include "runtime/utf8/Utf8.h"

#include <string>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// The last characters of one, two and three bytes.
constexpr uint32_t kLastOfLength[] = {0x7F, 0x7FF, 0xFFFF};

/// Appends sequences for a range whose characters have one length. Splits the
/// range until all trailing bytes are either equal or run from 80 to BF.
void append(uint32_t first, uint32_t last, std::vector<ByteSequence> &out) {
  std::string low, high;
  appendUtf8(low, first);
  appendUtf8(high, last);
  for (size_t i = 1; i < low.size(); ++i) {
    uint32_t mask = (1u << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask))
      continue;
    if (first & mask) {
      append(first, first | mask, out);
      append((first | mask) + 1, last, out);
      return;
    }
    if ((last & mask) != mask) {
      append(first, (last & ~mask) - 1, out);
      append(last & ~mask, last, out);
      return;
    }
  }
  ByteSequence sequence;
  for (size_t i = 0; i < low.size(); ++i)
    sequence.ranges[sequence.size++] = {static_cast<uint8_t>(low[i]),
                                        static_cast<uint8_t>(high[i])};
  out.push_back(sequence);
}

} // namespace

std::vector<ByteSequence>
mtp::grammar::utf8Sequences(const CodePoints &characters) {
  std::vector<ByteSequence> sequences;
  for (CodePointRange range : characters.ranges()) {
    uint32_t first = range.first;
    for (uint32_t lastOfLength : kLastOfLength)
      if (first <= lastOfLength && range.last > lastOfLength) {
        append(first, lastOfLength, sequences);
        first = lastOfLength + 1;
      }
    append(first, range.last, sequences);
  }
  return sequences;
}
