//===- TextRig.h - Routes of a model with text ------------------*- C++ -*-===//

#ifndef MTP_TEST_SERVE_TEXTRIG_H
#define MTP_TEST_SERVE_TEXTRIG_H

#include "runtime/core/StrCat.h"
#include "test/Runtime/support/ByteTokenizer.h"
#include "test/Serve/RoutesRig.h"

#include <simdjson.h>

namespace mtp::test {

inline constexpr const char *kChatTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</s>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/// Routes of a model with a tokenizer of bytes and a chat template.
struct TextRig : RoutesRig {
  explicit TextRig(std::string_view source = kChatTemplate)
      : tables(byteTokenizer()), tokenizer(*Tokenizer::load(tables)),
        chat(*ChatTemplate::parse({{{"default", std::string(source)}}, {}})) {
    facts.tokenizer = tokenizer.get();
    facts.chat = chat.get();
    facts.fingerprint = "mtpc-1";
  }

  /// Returns the prompt of a conversation, or the error's field.
  std::string prompt(std::string_view fields) {
    std::string json =
        ask("POST", "/apply-template", strCat("{", fields, "}")).reply.body;
    std::string text = at(json, "/prompt");
    return text == "nothing" ? at(json, "/error/param") : text;
  }

  static std::string at(const std::string &json, const char *pointer) {
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    std::string_view text;
    if (parser.parse(json).at_pointer(pointer).get(element))
      return "nothing";
    return element.get(text) ? simdjson::minify(element) : std::string(text);
  }

  std::vector<uint8_t> tables;
  std::unique_ptr<Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat;
};

/// Returns the data of all events.
inline std::vector<std::string> dataOf(const std::string &events) {
  std::vector<std::string> all;
  constexpr std::string_view kData = "data: ";
  for (size_t begin = 0; (begin = events.find(kData, begin)) != events.npos;) {
    begin += kData.size();
    size_t end = events.find("\n\n", begin);
    all.push_back(events.substr(begin, end - begin));
  }
  return all;
}

} // namespace mtp::test

#endif // MTP_TEST_SERVE_TEXTRIG_H
