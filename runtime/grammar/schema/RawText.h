//===- RawText.h - Text that ends in front of a mark ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_RAWTEXT_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_RAWTEXT_H

#include "runtime/grammar/automaton/AutomatonBuilder.h"

#include <vector>

namespace mtp::grammar {

/// Text whose characters stand for themselves, up to a mark. The mark is not
/// part of the text.
struct RawText {
  /// UTF-8, not empty. No end of it may be its beginning, so that the first
  /// mark after a text is the right one.
  std::string_view mark;
  /// Characters with which no text begins.
  CodePoints notFirst = {};

  /// Returns the characters that no text needs to leave out: all except the
  /// first one of the mark.
  CodePoints harmless() const;
};

/// Adds all texts without the mark, also the empty text.
void addRawText(AutomatonBuilder &builder, const RawText &raw, StateId from,
                StateId to);

/// Adds all texts without any of `marks`, which must be UTF-8 and not empty.
void addTextWithout(AutomatonBuilder &builder,
                    const std::vector<std::string_view> &marks, StateId from,
                    StateId to);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_RAWTEXT_H
