//===- Limits.h - Bounds of grammars and matchers ---------------*- C++ -*-===//
//
// A source that exceeds a limit is refused when it is compiled. A matcher
// enforces the other limits while it runs.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_CORE_LIMITS_H
#define MTP_RUNTIME_GRAMMAR_CORE_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace mtp::grammar {

/// Limits of one grammar. The README lists what each error says.
struct Limits {
  /// Bytes of a source: a schema, a pattern, a grammar or all choices.
  size_t sourceBytes = size_t(1) << 20;
  /// Levels of groups in a pattern or grammar, of values in a schema, and of
  /// subschemas that apply to one value.
  uint32_t nesting = 64;
  /// States and edges of the automaton.
  uint32_t states = 1u << 18;
  uint32_t edges = 1u << 20;
  /// Cases that `anyOf` and `oneOf` of one value expand to.
  uint32_t cases = 256;
  /// White-space bytes between two tokens of JSON. With 0, JSON is compact.
  uint32_t whitespace = 32;

  /// Return addresses on the stack of a matcher. Text that needs more is not
  /// accepted.
  uint32_t depth = 512;
  /// Places of the automaton that one text can lead to. Text that leads to
  /// more is not accepted.
  uint32_t places = 4096;
  /// Bytes of the cache of states and masks that all matchers of a grammar and
  /// a vocabulary share.
  size_t cacheBytes = size_t(64) << 20;
  /// Tokens that a matcher can take back.
  uint32_t rollback = 256;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_CORE_LIMITS_H
