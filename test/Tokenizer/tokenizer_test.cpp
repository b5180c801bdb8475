//===- tokenizer_test.cpp - Encoding and decoding -------------------------===//

#include "test/Tokenizer/TokenizerTestUtil.h"

#include <chrono>
#include <thread>

using namespace mtp;
using namespace mtp::test;

namespace {

std::vector<std::string> splitText(const std::string &text,
                                   const std::string &separator) {
  std::vector<std::string> parts;
  size_t pos = 0;
  for (size_t end; (end = text.find(separator, pos)) != std::string::npos;
       pos = end + separator.size())
    parts.push_back(text.substr(pos, end - pos));
  parts.push_back(text.substr(pos));
  return parts;
}

Ids parseIds(const std::string &line) {
  std::istringstream stream(line);
  Ids ids;
  for (TokenId id; stream >> id;)
    ids.push_back(id);
  return ids;
}

Result<LoadedTokenizer> loadShared(const char *name) {
  MTP_ASSIGN_OR_RETURN(
      std::string tables,
      buildTokenizerTables((sharedData() / "tokenizers" / name).string()));
  return loadTables(tables);
}

constexpr EncodeOptions kPlain = {/*addSpecial=*/false,
                                  /*parseSpecial=*/false};
constexpr EncodeOptions kParse = {/*addSpecial=*/false, /*parseSpecial=*/true};

} // namespace

//===----------------------------------------------------------------------===//
// Real tokenizers
//===----------------------------------------------------------------------===//

TEST(Tokenizer, agreesWithGpt2Vectors) {
  MTP_REQUIRE_SHARED_DATA();
  auto tokenizer = loadShared("gpt2");
  MTP_ASSERT_OK(tokenizer);
  std::filesystem::path folder = sharedData() / "tokenizers" / "gpt2";
  std::vector<std::string> texts =
      splitText(readFile(folder / "test.inp"), "\n__ggml_vocab_test__\n");
  std::vector<std::string> lines =
      splitText(readFile(folder / "test.out"), "\n");
  ASSERT_GE(texts.size(), 40u);
  ASSERT_GE(lines.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    auto ids = (*tokenizer)->encode(texts[i]);
    MTP_ASSERT_OK(ids);
    EXPECT_EQ(*ids, parseIds(lines[i])) << "text " << i << ": " << texts[i];
    auto text = (*tokenizer)->decode(*ids);
    MTP_ASSERT_OK(text);
    EXPECT_EQ(*text, texts[i]);
  }
}

/// The metadata of a GGUF file alone give the vocabulary's ids.
TEST(Tokenizer, agreesWithGgufVectors) {
  MTP_REQUIRE_SHARED_DATA();
  std::filesystem::path folder = sharedData() / "gguf-vocabs";
  for (std::string name :
       {"gpt-2", "deepseek-llm", "deepseek-coder", "llama-spm"}) {
    SCOPED_TRACE(name);
    std::string file = "ggml-vocab-" + name + ".gguf";
    if (!std::filesystem::exists(folder / file))
      GTEST_SKIP() << "no " << folder / file;
    auto tables = buildTokenizerTables((folder / file).string());
    MTP_ASSERT_OK(tables);
    auto tokenizer = loadTables(*tables);
    MTP_ASSERT_OK(tokenizer);
    std::vector<std::string> texts = splitText(
        readFile(folder / (file + ".inp")), "\n__ggml_vocab_test__\n");
    std::vector<std::string> lines =
        splitText(readFile(folder / (file + ".out")), "\n");
    ASSERT_GE(texts.size(), 40u);
    ASSERT_GE(lines.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      auto ids = (*tokenizer)->encode(texts[i], kPlain);
      MTP_ASSERT_OK(ids);
      EXPECT_EQ(*ids, parseIds(lines[i])) << "text " << i << ": " << texts[i];
    }
  }
}

TEST(Tokenizer, encodesWithSentencePiece) {
  MTP_REQUIRE_SHARED_DATA();
  auto loaded = loadShared("mistral-v1/tokenizer.model.v1");
  MTP_ASSERT_OK(loaded);
  const Tokenizer &tokenizer = **loaded;
  EXPECT_EQ(tokenizer.vocabSize(), 32000u);
  EXPECT_EQ(tokenizer.bosId(), 1);
  EXPECT_EQ(tokenizer.eosId(), 2);
  EXPECT_EQ(*tokenizer.encode("Hello world"), Ids({1, 22557, 1526}));
  for (std::string text :
       {"Hello world", " two  spaces ", "", "caf\xC3\xA9 \xF0\x9F\x99\x82",
        "line\nline\t\x01", "\xE4\xBD\xA0\xE5\xA5\xBD", "</s> is text"}) {
    auto ids = tokenizer.encode(text);
    MTP_ASSERT_OK(ids);
    EXPECT_EQ(*tokenizer.decode(*ids), text);
    EXPECT_EQ(std::count(ids->begin(), ids->end(), 2), 0) << text;
  }
  EXPECT_EQ(*tokenizer.encode("a</s>", kParse),
            Ids({*tokenizer.encode("a", kPlain)->begin(), 2}));
}

TEST(Tokenizer, normalizesWithSentencePiece) {
  auto tables = buildTokenizerTables((std::filesystem::path(MTP_SOURCE_DIR) /
                                      "test/Runtime/data" / "normalizing.model")
                                         .string());
  MTP_ASSERT_OK(tables);
  auto tokenizer = loadTables(*tables);
  MTP_ASSERT_OK(tokenizer);
  auto ids = (*tokenizer)->encode("  A  BC \xEF\xAC\x81[x]caf\xC3\xA9 ");
  MTP_ASSERT_OK(ids);
  EXPECT_EQ(ids->front(), (*tokenizer)->bosId());
  EXPECT_EQ(*(*tokenizer)->decode(*ids), "a bc fi[x]cafe");
  // An unknown character has the text that the library gives it.
  auto unknown = (*tokenizer)->encode("\xE4\xBD\xA0x", kPlain);
  MTP_ASSERT_OK(unknown);
  EXPECT_EQ(*(*tokenizer)->decode(*unknown), " \xE2\x81\x87 x");
}

//===----------------------------------------------------------------------===//
// Words, merges, special tokens
//===----------------------------------------------------------------------===//

TEST(Tokenizer, mergesByRankThenLeftmost) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("hello w"), Ids({259, 260}));
  EXPECT_EQ(*(*tokenizer)->encode("aaa"), Ids({261, 'a'}));
  EXPECT_EQ(*(*tokenizer)->encode("aaaaaaa"), Ids({262, 261, 'a'}));
  EXPECT_EQ(*(*tokenizer)->encode(""), Ids());
  EXPECT_EQ(*(*tokenizer)->encode(std::string_view("\0", 1)), Ids({0}));
}

TEST(Tokenizer, takesSpecialTokensForTextUnlessAsked) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  Ids plain = *(*tokenizer)->encode("a<|end|>a");
  EXPECT_EQ(plain.size(), 9u);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 263), 0);
  EXPECT_EQ(*(*tokenizer)->decode(plain), "a<|end|>a");
  EXPECT_EQ(*(*tokenizer)->encode("a<|end|>a", kParse), Ids({'a', 263, 'a'}));
  // Added tokens that are not special are part of the text.
  EXPECT_EQ(*(*tokenizer)->encode("a[tool]a"), Ids({'a', 264, 'a'}));
  EXPECT_EQ((*tokenizer)->addedTokenId("<|end|>"), 263);
  EXPECT_EQ((*tokenizer)->addedTokenId("<|none|>"), std::nullopt);
  EXPECT_TRUE((*tokenizer)->isSpecial(263));
  EXPECT_FALSE((*tokenizer)->isSpecial(264));
  EXPECT_FALSE((*tokenizer)->isSpecial(-1));
  EXPECT_FALSE((*tokenizer)->isSpecial(1 << 30));
}

TEST(Tokenizer, neverMakesASpecialTokenOfText) {
  // "hello" is a special token, and a word of the vocabulary, and mergeable.
  for (const char *ignoreMerges : {"false", "true"}) {
    auto tokenizer = loadJson(
        byteLevelJson({{R"("id": 263, "content": "<|end|>")",
                        R"("id": 259, "content": "hello")"},
                       {R"("ignore_merges": false)",
                        std::string(R"("ignore_merges": )") + ignoreMerges}}));
    MTP_ASSERT_OK(tokenizer);
    EXPECT_EQ(*(*tokenizer)->encode("hello"), Ids({258, 'o'}));
    EXPECT_EQ(*(*tokenizer)->encode("hello", kParse), Ids({259}));
  }
}

TEST(Tokenizer, skipsSpecialTokensInTextUnlessAsked) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  Ids ids = {'a', 263, 264};
  EXPECT_EQ(*(*tokenizer)->decode(ids), "a[tool]");
  EXPECT_EQ(*(*tokenizer)->decode(ids, {/*skipSpecial=*/false}),
            "a<|end|>[tool]");
}

TEST(Tokenizer, prefersTheLongestAddedToken) {
  auto tokenizer = loadJson(byteLevelJson({{R"("added_tokens": [)",
                                            R"("added_tokens": [
            {"id": 263, "content": "<|end|>x", "special": true},
            {"id": 264, "content": "<|", "special": true},)"}}));
  MTP_ASSERT_OK(tokenizer);
  // The library numbers them in the order of the file.
  EXPECT_EQ(*(*tokenizer)->encode("<|end|>x", kParse), Ids({263}));
  EXPECT_EQ(*(*tokenizer)->encode("<|end|><|end", kParse),
            Ids({265, 264, 'e', 'n', 'd'}));
}

TEST(Tokenizer, stripsAndBoundsAddedTokens) {
  auto tokenizer =
      loadJson(byteLevelJson({{R"("lstrip": false,
       "rstrip": false)",
                               R"("lstrip": true, "rstrip": true)"},
                              {R"("[tool]", "single_word": false)",
                               R"("tool", "single_word": true)"}}));
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("a \n<|end|>\xC2\xA0 a", kParse),
            Ids({'a', 263, 'a'}));
  EXPECT_EQ(*(*tokenizer)->encode("tool-tool"), Ids({264, '-', 264}));
  EXPECT_EQ((*tokenizer)->encode("toolz").value().size(), 5u);
  EXPECT_EQ((*tokenizer)->encode("\xC3\xA9tool").value().size(), 6u);
}

TEST(Tokenizer, findsNormalizedAddedTokensAfterNormalizing) {
  // U+212B ANGSTROM SIGN composes to U+00C5.
  auto tokenizer = loadJson(byteLevelJson(
      {{R"("normalizer": null)", R"("normalizer": {"type": "NFC"})"},
       {R"("content": "[tool]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false)",
        "\"content\": \"\xE2\x84\xAB\", \"normalized\": true"}}));
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("a\xC3\x85"), Ids({'a', 264}));
  EXPECT_EQ(*(*tokenizer)->encode("aA\xCC\x8A"), Ids({'a', 264}));
}

TEST(Tokenizer, addsPrefixSpaceToEveryStretch) {
  auto tokenizer = loadJson(byteLevelJson(
      {{R"("add_prefix_space": false)", R"("add_prefix_space": true)"}}));
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("w"), Ids({260}));
  EXPECT_EQ(*(*tokenizer)->encode(" w"), Ids({260}));
  EXPECT_EQ(*(*tokenizer)->encode("w[tool]w"), Ids({260, 264, 260}));
  EXPECT_EQ(*(*tokenizer)->encode(""), Ids());
}

TEST(Tokenizer, wholeWordsSkipMerges) {
  // "hello" cannot be merged without "hell o", but is a piece.
  std::vector<JsonEdit> edits = {{R"("hell o", )", ""}};
  auto merging = loadJson(byteLevelJson(edits));
  MTP_ASSERT_OK(merging);
  EXPECT_EQ(*(*merging)->encode("hello"), Ids({258, 'o'}));
  edits.push_back({R"("ignore_merges": false)", R"("ignore_merges": true)"});
  auto ignoring = loadJson(byteLevelJson(edits));
  MTP_ASSERT_OK(ignoring);
  EXPECT_EQ(*(*ignoring)->encode("hello"), Ids({259}));
  EXPECT_EQ(*(*ignoring)->encode("hellow"), Ids({258, 'o', 'w'}));
}

TEST(Tokenizer, charactersFallBackToBytesThenUnknown) {
  auto tokenizer = loadJson(characterJson());
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->encode("ab"), Ids({1, 264}));
  EXPECT_EQ(*(*tokenizer)->encode("ab ab"), Ids({1, 264, 264}));
  EXPECT_EQ(*(*tokenizer)->encode("\xC3\xA9"), Ids({1, 259, 262}));
  EXPECT_EQ(*(*tokenizer)->encode("\xC3\xA8"),
            Ids({1, 259, 3 + 0xC3, 3 + 0xA8}));
  EXPECT_EQ(*(*tokenizer)->decode(Ids({1, 264, 264, 3 + 0xC3, 3 + 0xA8})),
            "ab ab\xC3\xA8");

  auto unknown = loadJson(characterJson(
      {{R"("byte_fallback": true)", R"("byte_fallback": false)"}}));
  MTP_ASSERT_OK(unknown);
  EXPECT_EQ(*(*unknown)->encode("xyab"), Ids({1, 259, 0, 263}));
  auto apart = loadJson(
      characterJson({{R"("byte_fallback": true)", R"("byte_fallback": false)"},
                     {R"("fuse_unk": true)", R"("fuse_unk": false)"}}));
  MTP_ASSERT_OK(apart);
  EXPECT_EQ(*(*apart)->encode("xyab"), Ids({1, 259, 0, 0, 263}));
}

TEST(Tokenizer, keepsLeadingSpaceWhereTextGoesOn) {
  auto tokenizer = loadJson(characterJson());
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ(*(*tokenizer)->decode(Ids({264})), "ab");
  EXPECT_EQ(*(*tokenizer)->decode(Ids({259, 264})), " ab");
  EXPECT_EQ(*(*tokenizer)->decode(Ids({264}), {true, /*atTextStart=*/false}),
            " ab");
}

TEST(Tokenizer, splitsAsEachBehaviorSays) {
  auto encodeWith = [](const char *behavior, const char *invert) {
    std::string split = std::string(R"({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": "a"}, "behavior": ")") +
                        behavior + R"(", "invert": )" + invert +
                        R"(}, {"type": "ByteLevel", "add_prefix_space": false,
        "use_regex": false}]})";
    auto tokenizer = loadJson(
        byteLevelJson({{R"({"type": "ByteLevel", "add_prefix_space": false,
                      "trim_offsets": true, "use_regex": true})",
                        split}}));
    EXPECT_TRUE(tokenizer.isOk()) << tokenizer.status().toString();
    return *(*tokenizer)->encode("helloaaaahe");
  };
  EXPECT_EQ(encodeWith("Removed", "false"), Ids({259, 256}));
  EXPECT_EQ(encodeWith("Removed", "true"), Ids({'a', 'a', 'a', 'a'}));
  EXPECT_EQ(encodeWith("Isolated", "false"),
            Ids({259, 'a', 'a', 'a', 'a', 256}));
  EXPECT_EQ(encodeWith("Contiguous", "false"), Ids({259, 262, 256}));
  EXPECT_EQ(encodeWith("MergedWithPrevious", "false"),
            Ids({259, 'a', 'a', 'a', 'a', 256}));
  EXPECT_EQ(encodeWith("MergedWithNext", "false"),
            Ids({259, 'a', 'a', 'a', 'a', 256}));
}

//===----------------------------------------------------------------------===//
// Wrong or malicious input
//===----------------------------------------------------------------------===//

TEST(Tokenizer, refusesIllFormedUtf8) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  for (const char *text :
       {"\xFF", "a\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "abc\xE2\x82", "\xC4\xE3\xBA\xC3"}) {
    auto ids = (*tokenizer)->encode(text);
    EXPECT_EQ(ids.status().code(), StatusCode::InvalidArgument) << text;
  }
}

TEST(Tokenizer, refusesIdsOutOfRange) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  for (TokenId id : {-1, INT32_MIN}) {
    EXPECT_EQ((*tokenizer)->decode(Ids({id})).status().code(),
              StatusCode::OutOfRange);
    EXPECT_EQ((*tokenizer)->tokenToPiece(id).status().code(),
              StatusCode::OutOfRange);
  }
  EXPECT_EQ(*(*tokenizer)->tokenToPiece(259), "hello");
  EXPECT_EQ(*(*tokenizer)->tokenToPiece(260), " w");
}

// Models pad their vocabularies (bugreports/a: pegainfer#673,
// Blaizzy/mlx-vlm#1917, vllm-project/vllm#340, transformers#35244).
TEST(Tokenizer, hasNoTextForIdsWithoutAToken) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  for (TokenId id : {265, 248319, INT32_MAX}) {
    EXPECT_EQ(*(*tokenizer)->tokenToPiece(id), "");
    EXPECT_EQ(*(*tokenizer)->decode(Ids({id})), "");
    EXPECT_EQ(*(*tokenizer)->decode(Ids({'a', id, 'b', id})), "ab");
    EXPECT_FALSE((*tokenizer)->isSpecial(id));
  }
}

TEST(Tokenizer, refusesTextThatTheVocabularyLacks) {
  auto tokenizer = loadJson(byteLevelJson({{R"("z": )", R"("zz": )"}}));
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ((*tokenizer)->encode("z").status().code(),
            StatusCode::InvalidArgument);
}

TEST(Tokenizer, takesLongWordsInStride) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  auto start = std::chrono::steady_clock::now();
  auto ids = (*tokenizer)->encode(std::string(1 << 20, 'a'));
  MTP_ASSERT_OK(ids);
  EXPECT_EQ(ids->size(), size_t(1) << 18);
  for (std::string run : {" ", "\n", " \n", "\t ", "\xC2\xA0", "'", "1"}) {
    std::string text;
    while (text.size() < 1 << 19)
      text += run;
    MTP_ASSERT_OK((*tokenizer)->encode(text + "x"));
  }
  // The limit is far above linear time and far below quadratic time.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Tokenizer, boundsCatastrophicPatterns) {
  for (const char *pattern :
       {"(a+)+[bc]", "(a|a)*[bc]", "(a|aa)+[bc]", "(?:a?){30}[bc]"}) {
    auto tokenizer = loadJson(byteLevelJson(
        {{R"({"type": "ByteLevel", "add_prefix_space": false,
                      "trim_offsets": true, "use_regex": true})",
          std::string(R"({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "invert": false,
             "pattern": {"Regex": ")") +
              pattern +
              R"("}}, {"type": "ByteLevel", "use_regex": false}]})"}}));
    MTP_ASSERT_OK(tokenizer);
    auto start = std::chrono::steady_clock::now();
    auto ids = (*tokenizer)->encode(std::string(5000, 'a'));
    EXPECT_EQ(ids.status().code(), StatusCode::ResourceExhausted) << pattern;
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(60));
  }
}

/// Returns a byte tokenizer that splits at the matches of a pattern.
static Result<LoadedTokenizer> splittingAt(const std::string &pattern) {
  std::string quoted;
  for (char c : pattern)
    quoted += c == '\\' || c == '"' ? std::string{'\\', c} : std::string{c};
  return loadJson(byteLevelJson(
      {{R"({"type": "ByteLevel", "add_prefix_space": false,
                      "trim_offsets": true, "use_regex": true})",
        R"({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "invert": false,
             "pattern": {"Regex": ")" +
            quoted + R"("}}, {"type": "ByteLevel", "add_prefix_space": false,
             "use_regex": false}]})"}}));
}

// Patterns of GPT-4o and Kimi K2.
static const char *const kLongRuns[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)"
    R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// Long runs were once refused (bugreports/r: ggml-org/llama.cpp#27783, #26965,
// #21257, huggingface/tokenizers#2060, openai/tiktoken#195).
TEST(Tokenizer, takesLongRunsOfLetters) {
  for (const char *pattern : kLongRuns) {
    auto tokenizer = splittingAt(pattern);
    MTP_ASSERT_OK(tokenizer);
    for (auto [letter, count] :
         std::vector<std::pair<const char *, int>>{{"a", 300'000},
                                                   {"A", 300'000},
                                                   {"aB", 300'000},
                                                   {"\xC3\xA9", 300'000},
                                                   {"\xE3\x81\x82", 300'000},
                                                   {"\xCC\x81", 300'000},
                                                   {" ", 300'000},
                                                   {"!", 300'000},
                                                   {"1", 300'000},
                                                   {"\n", 300'000},
                                                   {"\xE3\x81\x82"
                                                    "a",
                                                    600'000}}) {
      std::string text;
      for (int i = 0; i < count; ++i)
        text += letter;
      auto ids = (*tokenizer)->encode(text + " x", kPlain);
      MTP_ASSERT_OK(ids);
      EXPECT_TRUE(*(*tokenizer)->decode(*ids) == text + " x") << letter;
    }
  }
}

// A match from each position reads to the end of the text.
TEST(Tokenizer, boundsPatternsThatWalkOnFromEachPlace) {
  for (const char *pattern :
       {R"(([a-z]+\.)*[a-z]+@)", R"([a-z](?=[a-z]*@|))",
        R"([a-z]{1,3}(?=(?:[a-z]{3})*(?![a-z])))", R"((?<=[a-z])[a-z]*@)"}) {
    auto tokenizer = splittingAt(pattern);
    MTP_ASSERT_OK(tokenizer);
    auto ids = (*tokenizer)->encode(std::string(900'000, 'a'), kPlain);
    EXPECT_EQ(ids.status().code(), StatusCode::ResourceExhausted) << pattern;
    // Each text has its own limit of work.
    MTP_ASSERT_OK((*tokenizer)->encode(std::string(2000, 'a'), kPlain));
  }
}

TEST(Tokenizer, endsATextThatIsCancelled) {
  for (const char *pattern : {"a", R"(([a-z]+\.)*[a-z]+@)"}) {
    auto tokenizer = splittingAt(pattern);
    MTP_ASSERT_OK(tokenizer);
    std::atomic<bool> cancelled = true;
    EncodeOptions options;
    options.cancelled = &cancelled;
    EXPECT_EQ((*tokenizer)->encode("aaaa", options).status().code(),
              StatusCode::Unavailable);
    cancelled = false;
    MTP_ASSERT_OK((*tokenizer)->encode("aaaa", options));
    // Cancelled in the middle of a match.
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      cancelled = true;
    });
    auto ids = (*tokenizer)->encode(std::string(20'000'000, 'a'), options);
    EXPECT_EQ(ids.status().code(), StatusCode::Unavailable) << pattern;
    other.join();
  }
}

TEST(Tokenizer, boundsCombiningMarks) {
  auto tokenizer = loadJson(byteLevelJson(
      {{R"("normalizer": null)", R"("normalizer": {"type": "NFC"})"}}));
  MTP_ASSERT_OK(tokenizer);
  std::string marks = "a";
  for (int i = 0; i < 100000; ++i)
    marks += i % 2 ? "\xCC\x81" : "\xCC\xA7"; // U+0301, U+0327
  EXPECT_EQ((*tokenizer)->encode(marks).status().code(),
            StatusCode::ResourceExhausted);
}

TEST(Tokenizer, isThreadSafe) {
  auto loaded = loadJson(byteLevelJson());
  MTP_ASSERT_OK(loaded);
  const Tokenizer &tokenizer = **loaded;
  Ids expected = *tokenizer.encode("hello w aaaa<|end|>");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        EXPECT_EQ(*tokenizer.encode("hello w aaaa<|end|>"), expected);
        EXPECT_EQ(*tokenizer.decode(expected), "hello w aaaa<|end|>");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
