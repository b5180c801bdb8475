//===- GrammarTestUtil.cpp - Grammars of tests ----------------------------===//

#include "GrammarTestUtil.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::grammar;

Source mtp::test::schemaOf(std::string text) {
  return {Source::Kind::JsonSchema, std::move(text), {}};
}
Source mtp::test::regexOf(std::string text) {
  return {Source::Kind::Regex, std::move(text), {}};
}
Source mtp::test::gbnfOf(std::string text) {
  return {Source::Kind::Gbnf, std::move(text), {}};
}
Source mtp::test::choiceOf(std::vector<std::string> choices) {
  return {Source::Kind::Choice, "", std::move(choices)};
}

std::shared_ptr<const Vocabulary>
mtp::test::byteVocabulary(const std::vector<std::string> &more) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes.emplace_back(1, static_cast<char>(byte));
  bytes.emplace_back("<end>");
  bytes.emplace_back("");
  bytes.insert(bytes.end(), more.begin(), more.end());
  std::vector<std::string_view> pieces(bytes.begin(), bytes.end());
  auto vocabulary = Vocabulary::create(pieces, std::array{kEnd});
  EXPECT_TRUE(vocabulary.isOk());
  return *vocabulary;
}

Matcher mtp::test::matcherOf(const Source &source, const Limits &limits,
                             std::shared_ptr<const Vocabulary> vocabulary) {
  auto compiled = compile(source, limits);
  EXPECT_TRUE(compiled.isOk())
      << source.text << ": " << compiled.status().message();
  if (!compiled.isOk())
    std::abort();
  if (!vocabulary)
    vocabulary = byteVocabulary();
  return Matcher(std::make_shared<TokenGrammar>(*compiled, vocabulary));
}

bool mtp::test::accepts(const Source &source, std::string_view text) {
  Matcher matcher = matcherOf(source);
  return matcher.tryAcceptBytes(text) && matcher.isTerminated();
}

Status mtp::test::failureOf(const Source &source, const Limits &limits) {
  auto compiled = compile(source, limits);
  EXPECT_FALSE(compiled.isOk()) << source.text;
  return compiled.status();
}

std::vector<int32_t> mtp::test::allowedTokens(Matcher &matcher,
                                              const Vocabulary &vocabulary) {
  std::vector<uint32_t> words(vocabulary.maskWords());
  Status status = matcher.mask(words);
  EXPECT_TRUE(status.isOk()) << status.message();
  std::vector<int32_t> tokens;
  for (uint32_t token = 0; token < words.size() * 32; ++token)
    if (words[token / 32] >> (token % 32) & 1)
      tokens.push_back(static_cast<int32_t>(token));
  return tokens;
}

std::vector<int32_t> mtp::test::triedTokens(const Matcher &matcher,
                                            const Vocabulary &vocabulary) {
  std::vector<int32_t> tokens;
  for (size_t token = 0; token < vocabulary.size(); ++token) {
    Matcher copy = matcher;
    if (copy.tryAccept(static_cast<int32_t>(token)))
      tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}
