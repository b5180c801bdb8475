//===- GrammarTestUtil.h - Grammars of tests --------------------*- C++ -*-===//

#ifndef MTP_TEST_GRAMMAR_GRAMMARTESTUTIL_H
#define MTP_TEST_GRAMMAR_GRAMMARTESTUTIL_H

#include "runtime/grammar/Compile.h"
#include "runtime/grammar/matcher/Matcher.h"

#include <initializer_list>
#include <random>

namespace mtp::test {

using grammar::Source;

/// Return a source of a kind.
Source schemaOf(std::string text);
Source regexOf(std::string text);
Source gbnfOf(std::string text);
Source choiceOf(std::vector<std::string> choices);

/// Returns a vocabulary of all single bytes (ids 0 to 255), an end token (id
/// 256), a token without bytes (id 257), and `more` from id 258 on.
std::shared_ptr<const grammar::Vocabulary>
byteVocabulary(const std::vector<std::string> &more = {});
constexpr int32_t kEnd = 256, kNoBytes = 257, kFirstMore = 258;

/// A matcher of a source, which must compile.
grammar::Matcher
matcherOf(const Source &source, const grammar::Limits &limits = {},
          std::shared_ptr<const grammar::Vocabulary> vocabulary = nullptr);

/// Whether the texts of a source include `text`.
bool accepts(const Source &source, std::string_view text);

/// Returns the code and the message of a source that must not compile.
Status failureOf(const Source &source, const grammar::Limits &limits = {});

/// Returns the tokens of a matcher's mask.
std::vector<int32_t> allowedTokens(grammar::Matcher &matcher,
                                   const grammar::Vocabulary &vocabulary);

/// Returns the tokens that accept() takes, found by trying each.
std::vector<int32_t> triedTokens(const grammar::Matcher &matcher,
                                 const grammar::Vocabulary &vocabulary);

} // namespace mtp::test

#endif // MTP_TEST_GRAMMAR_GRAMMARTESTUTIL_H
