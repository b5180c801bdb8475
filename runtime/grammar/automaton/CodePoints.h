//===- CodePoints.h - Sets of Unicode characters ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_AUTOMATON_CODEPOINTS_H
#define MTP_RUNTIME_GRAMMAR_AUTOMATON_CODEPOINTS_H

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace mtp::grammar {

/// Characters first to last, both included.
struct CodePointRange {
  uint32_t first = 0;
  uint32_t last = 0;

  bool operator==(const CodePointRange &) const = default;
};

/// A set of Unicode scalar values, i.e. code points without surrogates.
class CodePoints {
public:
  static constexpr uint32_t kLast = 0x10FFFF;

  CodePoints() = default;
  CodePoints(std::initializer_list<CodePointRange> ranges) {
    for (CodePointRange range : ranges)
      add(range.first, range.last);
  }
  /// Returns the set of all characters.
  static CodePoints all();

  /// Adds the scalar values of a range. Adds nothing if first > last.
  void add(uint32_t first, uint32_t last);
  void add(const CodePoints &other);

  bool contains(uint32_t codePoint) const;
  bool empty() const { return sorted.empty(); }
  /// Returns ascending ranges with gaps between them.
  std::span<const CodePointRange> ranges() const { return sorted; }

  /// Return all other characters, and the characters of both sets.
  CodePoints complement() const;
  CodePoints intersection(const CodePoints &other) const;

private:
  void insert(uint32_t first, uint32_t last);

  std::vector<CodePointRange> sorted;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_AUTOMATON_CODEPOINTS_H
