//===- Words.cpp - Words of a flag's value --------------------------------===//

#include "tools/start/Words.h"

#include "runtime/core/StrCat.h"

using namespace mtp;

namespace {

/// One pass over a text.
class Splitter {
public:
  explicit Splitter(std::string_view text) : text(text) {}

  Result<std::vector<std::string>> run() {
    while (at < text.size())
      MTP_RETURN_IF_ERROR(step(text[at++]));
    end();
    return std::move(words);
  }

private:
  Status step(char c) {
    if (c == ' ' || c == '\t' || c == '\n') {
      end();
      return okStatus();
    }
    isWord = true;
    if (c == '\'' || c == '"')
      return quoted(c);
    if (c == '\\')
      return escaped();
    word += c;
    return okStatus();
  }

  void end() {
    if (isWord)
      words.push_back(std::move(word));
    word.clear();
    isWord = false;
  }

  Status escaped() {
    if (at == text.size())
      return invalidArgument(
          strCat("expected a character after the last \\ of '", text, "'"));
    // A backslash before a line's end joins two lines.
    if (char c = text[at++]; c != '\n')
      word += c;
    return okStatus();
  }

  /// Takes the characters up to the closing quote.
  Status quoted(char quote) {
    while (at < text.size()) {
      char c = text[at++];
      if (c == quote)
        return okStatus();
      bool isEscape =
          c == '\\' && quote == '"' && at < text.size() &&
          std::string_view("\"\\$`\n").find(text[at]) != std::string_view::npos;
      if (isEscape)
        MTP_RETURN_IF_ERROR(escaped());
      else
        word += c;
    }
    return invalidArgument(strCat("expected a second ", std::string(1, quote),
                                  " in '", text, "'"));
  }

  std::string_view text;
  size_t at = 0;
  std::string word;
  /// Whether a word has begun; it may be empty, as '' is.
  bool isWord = false;
  std::vector<std::string> words;
};

} // namespace

Result<std::vector<std::string>> start::splitWords(std::string_view text) {
  return Splitter(text).run();
}
