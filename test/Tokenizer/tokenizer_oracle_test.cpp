//===- tokenizer_oracle_test.cpp - Ids of other implementations -----------===//
//
// Tests every string of test/oracle/tokenizers/expected.jsonl.gz. The ids come
// from Hugging Face's library (test/oracle/tokenizer_expected.py).
//
//===----------------------------------------------------------------------===//

#include "compiler/Tokenizer/Json.h"
#include "runtime/tokenizer/StreamDecoder.h"
#include "test/Tokenizer/TokenizerTestUtil.h"

using namespace mtp;
using namespace mtp::test;

namespace {

std::filesystem::path sourceRoot() { return MTP_SOURCE_DIR; }

Ids idsOf(const JsonValue &line, const char *key) {
  Ids ids;
  for (const JsonValue &id : *line.member(key)->asArray())
    ids.push_back(static_cast<TokenId>(*id.asUint32()));
  return ids;
}

/// Calls `check(line, text)` for every line of a file.
template <typename Function>
void forEachLine(Function check, const char *file = "expected.jsonl.gz",
                 size_t least = 2000) {
  std::istringstream lines(
      readGzip(sourceRoot() / "test/oracle/tokenizers" / file));
  size_t count = 0;
  for (std::string text; std::getline(lines, text); ++count) {
    auto line = JsonDocument::parse(file, text);
    MTP_ASSERT_OK(line);
    auto string = line->root().member("s");
    MTP_ASSERT_OK(string);
    check(line->root(), std::string(*string->asString()));
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << text;
  }
  EXPECT_GT(count, least);
}

Result<LoadedTokenizer> loadPath(const std::filesystem::path &path) {
  MTP_ASSIGN_OR_RETURN(std::string tables,
                       buildTokenizerTables((sourceRoot() / path).string()));
  return loadTables(tables);
}

void expectAgreement(const Tokenizer &tokenizer, const std::string &text,
                     const Ids &expectedIds, const std::string &expectedText) {
  auto ids = tokenizer.encode(text, {/*addSpecial=*/false,
                                     /*parseSpecial=*/true});
  MTP_ASSERT_OK(ids);
  EXPECT_EQ(*ids, expectedIds) << text;
  DecodeOptions options{/*skipSpecial=*/false};
  EXPECT_EQ(*tokenizer.decode(expectedIds, options), expectedText);

  StreamDecoder decoder(tokenizer, options);
  std::string streamed;
  for (TokenId id : expectedIds)
    streamed += *decoder.append(id);
  EXPECT_EQ(streamed + decoder.finish(), expectedText);

  // User text never yields a special token, and decodes to itself.
  auto plain = tokenizer.encode(text);
  MTP_ASSERT_OK(plain);
  for (TokenId id : *plain)
    EXPECT_FALSE(tokenizer.isSpecial(id)) << text;
  EXPECT_EQ(*tokenizer.decode(*plain), expectedText);
}

} // namespace

TEST(TokenizerOracle, agreesOnTheBundledTokenizer) {
  auto tokenizer = loadPath("models/bundled/hf");
  MTP_ASSERT_OK(tokenizer);
  forEachLine([&](const JsonValue &line, const std::string &text) {
    expectAgreement(**tokenizer, text, idsOf(line, "b"), text);
  });
}

TEST(TokenizerOracle, agreesOnALlama3Tokenizer) {
  auto tokenizer = loadPath("test/oracle/tokenizers/llama3-style.json");
  MTP_ASSERT_OK(tokenizer);
  forEachLine([&](const JsonValue &line, const std::string &text) {
    std::optional<JsonValue> decoded = line.find("d");
    expectAgreement(**tokenizer, text, idsOf(line, "l"),
                    decoded ? std::string(*decoded->asString()) : text);
  });
}

/// Tests the ids of tiktoken, with a folder like Kimi-K2's.
TEST(TokenizerOracle, agreesOnATiktokenModel) {
  auto tokenizer = loadPath("test/oracle/tokenizers/tiktoken");
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->bosId() + 1, (*tokenizer)->eosId());
  forEachLine(
      [&](const JsonValue &line, const std::string &text) {
        expectAgreement(**tokenizer, text, idsOf(line, "t"), text);
      },
      "tiktoken.jsonl.gz", 600);
}
