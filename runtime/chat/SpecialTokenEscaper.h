//===- SpecialTokenEscaper.h - Escapes special tokens in requests*- C++ -*-===//
//
// Text of a user must not become a control token, and text of the template
// must. Rendering mixes the two. So mark() puts a mark into the request before
// the rendering, at each place where a special token begins or could begin with
// the text after it. The mark comes after the first character of the place. A
// template copies a mark like any other character, however it cuts, orders and
// joins the text. unmark() removes the marks from the prompt and returns their
// positions.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CHAT_SPECIALTOKENESCAPER_H
#define MTP_RUNTIME_CHAT_SPECIALTOKENESCAPER_H

#include "mtp/chat.h"
#include "runtime/jinja/value/Value.h"

namespace mtp {

class SpecialTokenEscaper {
public:
  /// Takes the strings of a tokenizer's special tokens, which must outlive the
  /// object.
  explicit SpecialTokenEscaper(std::vector<std::string_view> specials);

  /// Returns the value with marks in its strings and keys. The mark is a
  /// noncharacter that is not in the value. Fails with InvalidArgument if the
  /// value has all of them, and with ResourceExhausted if a string gets too
  /// long.
  Result<jinja::Value> mark(const jinja::Value &value);

  /// Returns the text without the marks, and their positions.
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

#endif // MTP_RUNTIME_CHAT_SPECIALTOKENESCAPER_H
