//===- LiteralMarks.h - Text that is no special token -----------*- C++ -*-===//
//
// What a user writes must not become a control token, and what the template
// writes must. Rendering mixes the two: so every place of a request where a
// special token begins, or may begin with what follows, gets a mark behind its
// first character before the template runs, and the marks are taken out of the
// text again. A template passes them on like any other character; what was
// marked is found however the template cuts, orders and joins it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CHAT_LITERALMARKS_H
#define MTP_RUNTIME_CHAT_LITERALMARKS_H

#include "runtime/chat/ChatTemplate.h"
#include "runtime/jinja/value/Value.h"

namespace mtp {

class LiteralMarks {
public:
  /// For the strings of a tokenizer's special tokens, which must outlive it.
  explicit LiteralMarks(std::vector<std::string_view> specials);

  /// The same value with marks in its strings and keys. The mark is a
  /// noncharacter that they do not have. Fails with InvalidArgument when they
  /// have all of those, and with ResourceExhausted when a string gets too long.
  Result<jinja::Value> mark(const jinja::Value &value);

  /// Text without the marks, and where they were.
  ChatPrompt unmark(std::string_view text) const;

private:
  Result<jinja::Value> markValue(const jinja::Value &value) const;
  Result<jinja::Value> markItems(const jinja::Value &value) const;
  Result<jinja::Value> markDict(const jinja::Value &value) const;
  std::string markText(std::string_view text) const;
  bool mayBeginSpecial(std::string_view rest) const;

  std::vector<std::string_view> sorted;
  std::string markBytes;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_LITERALMARKS_H
