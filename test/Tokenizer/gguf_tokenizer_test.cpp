//===- gguf_tokenizer_test.cpp - Splits by a GGUF file's `pre` ------------===//

#include "compiler/Tokenizer/GgufReader.h"
#include "test/Tokenizer/TokenizerTestUtil.h"
#include "test/Weights/GgufBuilder.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns the character that stands for a byte in byte-level vocabularies.
std::string byteText(int byte) {
  auto isPlain = [](int b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
  };
  int code = byte;
  if (!isPlain(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b)
      code += !isPlain(b);
  }
  if (code < 0x80)
    return std::string(1, char(code));
  return {char(0xC0 | code >> 6), char(0x80 | (code & 63))};
}

/// Returns a file whose tokens are all bytes and the results of merges: "12",
/// "123", "1234", and the last byte of U+4E2D with "a".
std::string makeFile(const std::string &pre) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(byteText(byte));
  std::string end = byteText(0xAD);
  std::vector<std::string> merges = {"1 2", "12 3", "123 4", end + " a"};
  for (std::string merge : merges)
    tokens.push_back(merge.erase(merge.find(' '), 1));
  auto pack = [](const std::vector<std::string> &texts) {
    std::string bytes;
    for (const std::string &text : texts)
      bytes += packedText(text);
    return bytes;
  };
  return GgufBuilder()
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", pre)
      .list("tokenizer.ggml.tokens", GgufType::String, tokens.size(),
            pack(tokens))
      .list("tokenizer.ggml.merges", GgufType::String, merges.size(),
            pack(merges))
      .build();
}

Result<LoadedTokenizer> loadFile(const std::string &bytes) {
  MTP_ASSIGN_OR_RETURN(
      GgufHeader header,
      parseGguf(
          {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}));
  MTP_ASSIGN_OR_RETURN(std::string tables, tablesFromGguf(header));
  return loadTables(tables);
}

Result<LoadedTokenizer> load(const std::string &pre) {
  return loadFile(makeFile(pre));
}

TEST(GgufTokenizer, SplitsByTheNameOfTheFamily) {
  struct Case {
    std::string pre;
    /// Numbers have three digits at most, or one.
    bool hasTriples;
    /// Chinese characters and Latin letters are one word.
    bool joinsScripts;
  };
  const Case cases[] = {
      {"gpt-2", true, true},        {"qwen2", false, true},
      {"qwen35", false, true},      {"hunyuan", false, true},
      {"megrez", false, true},      {"seed-coder", false, true},
      {"llama-bpe", true, true},    {"glm4", true, true},
      {"chatglm-bpe", true, true},  {"minimax-m2", true, true},
      {"kanana2", true, true},      {"kimi-k2", true, false},
      {"deepseek-v3", true, false}, {"hunyuan-dense", true, false},
      {"hy_v4", true, false},       {"youtu", false, false},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.pre);
    auto tokenizer = load(c.pre);
    MTP_ASSERT_OK(tokenizer);
    Ids digits = *(*tokenizer)->encode("1234");
    if (c.pre == "gpt-2")
      EXPECT_EQ(digits, Ids({258}));
    else
      EXPECT_EQ(digits,
                c.hasTriples ? Ids({257, '4'}) : Ids({'1', '2', '3', '4'}));
    EXPECT_EQ(*(*tokenizer)->encode("\u4E2Da"),
              c.joinsScripts ? Ids({0xE4, 0xB8, 259})
                             : Ids({0xE4, 0xB8, 0xAD, 'a'}));
  }
}

/// Loads a SentencePiece model without a space in front of a text. Its unknown
/// token is a control token, and tokens from `userDefined` on are user-defined,
/// as in files of Gemma 3.
Result<LoadedTokenizer> loadSentencePiece(std::vector<std::string> tokens,
                                          size_t userDefined) {
  const std::vector<std::string> first = {
      "<pad>", "<eos>", "<bos>", "<unk>", "\u2581", "a", "b", "ab", "\u2581ab"};
  tokens.insert(tokens.begin(), first.begin(), first.end());
  std::string texts, scores, types;
  for (size_t id = 0; id < tokens.size(); ++id) {
    texts += packedText(tokens[id]);
    scores += packed(id < 7 ? -10.0f : float(id));
    types += packed(int32_t(id < 4 ? 3 : id < userDefined ? 1 : 4));
  }
  const std::string prefix = "tokenizer.ggml.";
  return loadFile(
      GgufBuilder()
          .text(prefix + "model", "llama")
          .list(prefix + "tokens", GgufType::String, tokens.size(), texts)
          .list(prefix + "scores", GgufType::F32, tokens.size(), scores)
          .list(prefix + "token_type", GgufType::I32, tokens.size(), types)
          .number(prefix + "bos_token_id", 2)
          .number(prefix + "unknown_token_id", 3)
          .key(prefix + "add_bos_token", GgufType::Bool, std::string(1, '\0'))
          .key(prefix + "add_space_prefix", GgufType::Bool,
               std::string(1, '\0'))
          .build());
}

TEST(GgufTokenizer, TakesTheUnknownTokenByItsId) {
  auto tokenizer = loadSentencePiece({}, /*userDefined=*/9);
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("ab ab"), Ids({7, 8}));
  EXPECT_EQ(*(*tokenizer)->encode("ac"), Ids({5, 3}));
}

/// User-defined tokens of spaces, which the file has as spaces.
TEST(GgufTokenizer, FindsUserDefinedSpaces) {
  auto tokenizer = loadSentencePiece({"  ", "   ", "a  b"}, /*userDefined=*/9);
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("a  ab ab"), Ids({5, 9, 7, 8}));
  EXPECT_EQ(*(*tokenizer)->encode("    a"), Ids({10, 4, 5}));
  EXPECT_EQ(*(*tokenizer)->encode("aa  b"), Ids({5, 11}));
  EXPECT_EQ(*(*tokenizer)->decode(Ids({5, 9, 7, 10, 11})), "a  ab   a  b");
}

/// A file whose vocabulary has the piece of a user-defined token already.
TEST(GgufTokenizer, KeepsTwoTokensOfOnePiece) {
  auto tokenizer =
      loadSentencePiece({"\u2581\u2581", "  "}, /*userDefined=*/10);
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("a  a"), Ids({5, 9, 5}));
}

TEST(GgufTokenizer, RefusesUnknownSplits) {
  auto tokenizer = load("hy_v9");
  ASSERT_FALSE(tokenizer.isOk());
  EXPECT_NE(tokenizer.status().message().find(
                "key \"tokenizer.ggml.pre\": expected one of gpt-2"),
            std::string_view::npos);
  EXPECT_NE(tokenizer.status().message().find("got \"hy_v9\""),
            std::string_view::npos);
}

} // namespace
