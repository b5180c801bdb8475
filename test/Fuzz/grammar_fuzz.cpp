//===- grammar_fuzz.cpp - Untrusted schemas, patterns and grammars --------===//
//
// The first byte is the kind of a source: `S` a JSON Schema, `R` a regular
// expression, `G` a grammar of llama.cpp, and else a list of choices. The
// source follows, and after a zero byte a text. The text is cut into tokens at
// random places; each mask must have the tokens that accept() takes.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Compile.h"
#include "runtime/grammar/matcher/Matcher.h"

#include <cstdlib>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// All bytes, some longer tokens, and an end token.
std::shared_ptr<const Vocabulary> makeVocabulary() {
  std::vector<std::string> bytes = {"<end>",    "\"a",   "\": ", "{\"", "\"}",
                                    "],[",      "12",    "ab",   "abc", "\xC3",
                                    "\xC3\xA9", "\\u00", "  \n", "true"};
  for (int byte = 0; byte < 256; ++byte)
    bytes.emplace_back(1, static_cast<char>(byte));
  std::vector<std::string_view> pieces(bytes.begin(), bytes.end());
  return *Vocabulary::create(pieces, std::array{0});
}

Source readSource(std::string_view input) {
  Source source;
  char kind = input.empty() ? '\0' : input[0];
  source.kind = kind == 'S'   ? Source::Kind::JsonSchema
                : kind == 'R' ? Source::Kind::Regex
                : kind == 'G' ? Source::Kind::Gbnf
                              : Source::Kind::Choice;
  source.text = input.substr(std::min<size_t>(1, input.size()));
  if (source.kind == Source::Kind::Choice)
    source.choices = {source.text, "ab"};
  return source;
}

void check(bool holds) {
  if (!holds)
    std::abort();
}

void checkMask(Matcher &matcher, const Vocabulary &vocabulary) {
  std::vector<uint32_t> words(vocabulary.maskWords());
  if (!matcher.mask(words).isOk())
    return;
  for (size_t token = 0; token < vocabulary.size(); ++token) {
    bool isAllowed = words[token / 32] >> (token % 32) & 1;
    bool isTaken = matcher.tryAccept(static_cast<int32_t>(token));
    check(isAllowed == isTaken);
    if (isTaken)
      check(matcher.rollback(1).isOk());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const auto vocabulary = makeVocabulary();
  std::string_view input(reinterpret_cast<const char *>(data), size);
  size_t end = std::min(input.find('\0'), input.size());
  std::string_view text = input.substr(std::min(end + 1, input.size()));
  Limits limits;
  limits.states = 4096;
  limits.edges = 16384;
  limits.places = 256;
  limits.depth = 16;
  limits.cacheBytes = size_t(4) << 20;
  auto grammar = compile(readSource(input.substr(0, end)), limits);
  if (!grammar.isOk())
    return 0;
  Matcher matcher(std::make_shared<TokenGrammar>(*grammar, vocabulary));
  for (size_t i = 0; i < 24; ++i) {
    if (i % 4 == 0)
      checkMask(matcher, *vocabulary);
    for (int32_t token : matcher.forcedTokens(4))
      check(matcher.tryAccept(token));
    size_t length = std::min(text.size(), i % 3 + 1);
    if (length > 0 && !matcher.tryAcceptBytes(text.substr(0, length)))
      return 0;
    text.remove_prefix(length);
  }
  return 0;
}
