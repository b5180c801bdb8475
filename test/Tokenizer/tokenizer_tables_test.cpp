//===- tokenizer_tables_test.cpp - Malformed files and tables -------------===//

#include "compiler/Tokenizer/RegexTranslator.h"
#include "runtime/schema/mtp_tokenizer_generated.h"
#include "runtime/tokenizer/Regex.h"
#include "test/Tokenizer/TokenizerTestUtil.h"

#include <algorithm>
#include <random>

using namespace mtp;
using namespace mtp::test;
using namespace std::string_view_literals;

namespace {

/// Expects an error of that code. The message must contain all parts.
template <typename T>
void expectError(const Result<T> &result, StatusCode code,
                 std::initializer_list<const char *> parts) {
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().code(), code) << result.status().toString();
  std::string message(result.status().message());
  for (const char *part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_NE(message.back(), '.') << message;
}

void expectJsonError(const std::vector<JsonEdit> &edits,
                     std::initializer_list<const char *> parts) {
  expectError(tablesFromHuggingFace(byteLevelJson(edits), ""),
              StatusCode::InvalidArgument, parts);
}

void expectUnsupported(const std::vector<JsonEdit> &edits,
                       std::initializer_list<const char *> parts) {
  expectError(tablesFromHuggingFace(byteLevelJson(edits), ""),
              StatusCode::Unimplemented, parts);
}

/// Encodes and decodes a few texts of all kinds. It must not crash.
void exercise(const Tokenizer &tokenizer) {
  std::string text = "hello w<|end|> [tool] aaaa\n\n  42 caf\xC3\xA9 "
                     "\xE2\x96\x81\xF0\x9F\x99\x82 \xCC\x81";
  for (bool flag : {false, true}) {
    auto ids = tokenizer.encode(text, {flag, flag});
    EXPECT_TRUE(!ids.isOk() || tokenizer.decode(*ids, {flag, flag}).isOk());
  }
  for (size_t id = 0; id < tokenizer.vocabSize(); id += 7)
    EXPECT_TRUE(tokenizer.tokenToPiece(static_cast<TokenId>(id)).isOk());
}

/// Loads possibly broken tables from memory of exactly their size.
bool loadAndExercise(std::string_view bytes) {
  std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  auto tokenizer = Tokenizer::load({copy.get(), bytes.size()});
  if (tokenizer.isOk())
    exercise(**tokenizer);
  return tokenizer.isOk();
}

/// Edits the object form of a valid byte-level table, to break it.
template <typename Function>
Result<LoadedTokenizer> loadEdited(Function edit) {
  MTP_ASSIGN_OR_RETURN(std::string tables,
                       tablesFromHuggingFace(byteLevelJson(), ""));
  std::unique_ptr<schema::TokenizerT> object(
      schema::GetTokenizer(tables.data())->UnPack());
  edit(*object);
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishTokenizerBuffer(builder,
                                schema::Tokenizer::Pack(builder, object.get()));
  return loadTables({reinterpret_cast<char *>(builder.GetBufferPointer()),
                     builder.GetSize()});
}

/// Encodes special tokens of the text as tokens.
constexpr EncodeOptions kParse = {/*addSpecial=*/false, /*parseSpecial=*/true};

constexpr const char *kPreTokenizer =
    R"({"type": "ByteLevel", "add_prefix_space": false,
                      "trim_offsets": true, "use_regex": true})";

std::string splitBy(const std::string &regex) {
  return R"({"type": "Sequence", "pretokenizers": [{"type": "Split",
    "behavior": "Isolated", "pattern": {"Regex": ")" +
         regex + R"("}}, {"type": "ByteLevel", "use_regex": false}]})";
}

} // namespace

//===----------------------------------------------------------------------===//
// tokenizer.json
//===----------------------------------------------------------------------===//

TEST(TokenizerTables, refusesBrokenJson) {
  for (const char *json : {"", "{", "[]", "null", "\xFF", "{\"model\": 1}"})
    EXPECT_FALSE(tablesFromHuggingFace(json, "").isOk()) << json;
  std::string json = byteLevelJson();
  for (size_t size = 0; size < json.size(); size += 97)
    EXPECT_FALSE(tablesFromHuggingFace(json.substr(0, size), "").isOk());
}

TEST(TokenizerTables, refusesDeepJson) {
  for (size_t depth : {65, 1000, 200000})
    expectError(tablesFromHuggingFace(
                    std::string(depth, '[') + std::string(depth, ']'), ""),
                StatusCode::InvalidArgument, {"tokenizer.json", "deep"});
  std::string nested = "null";
  for (int i = 0; i < 20; ++i)
    nested = R"({"type": "Sequence", "normalizers": [)" + nested + "]}";
  EXPECT_FALSE(
      tablesFromHuggingFace(byteLevelJson({{R"("normalizer": null)",
                                            R"("normalizer": )" + nested}}),
                            "")
          .isOk());
}

TEST(TokenizerTables, refusesBrokenVocabularies) {
  expectJsonError({{R"("hello": 259)", R"("hello": 258)"}},
                  {"tokenizer.json", "model.vocab.hello", "258"});
  expectJsonError({{R"("hello": 259)", R"("hello": 4294967295)"}},
                  {"model.vocab.hello", "4294967295"});
  expectJsonError({{R"("hello": 259)", R"("hello": -1)"}},
                  {"model.vocab.hello", "-1"});
  expectJsonError({{R"("hello": 259)", R"("hello": 1e99)"}},
                  {"model.vocab.hello"});
  expectJsonError({{R"("hello": 259)", R"("hello": "259")"}},
                  {"model.vocab.hello", "259"});
}

TEST(TokenizerTables, refusesBrokenMerges) {
  expectJsonError({{R"("hell o")", R"("hell p")"}},
                  {"model.merges[3]", "hellp"});
  expectJsonError({{R"("hell o")", R"("hex o")"}}, {"model.merges[3]", "hex"});
  for (const char *merge : {"\"hello\"", "\"h e l\"", "\" o\"", "\"o \"",
                            "\"\"", "1", "[\"h\"]", "[\"h\", 1]", "{}"})
    EXPECT_FALSE(
        tablesFromHuggingFace(byteLevelJson({{R"("hell o")", merge}}), "")
            .isOk())
        << merge;
}

/// Ids of added tokens equal the ids of tokenizers 0.23.3: the id of a piece,
/// or the next id. The file's id does not matter.
TEST(TokenizerTables, readsAddedTokensAsTheLibraryDoes) {
  for (const char *id : {"263", "17", "300", "4000000000"}) {
    auto loaded = loadJson(
        byteLevelJson({{R"("id": 264)", std::string(R"("id": )") + id}}));
    MTP_ASSERT_OK(loaded);
    EXPECT_EQ(*(*loaded)->encode("[tool]<|end|>", kParse), Ids({264, 263}))
        << id;
  }
  auto piece = loadJson(byteLevelJson({{R"([tool])", R"(hello)"}}));
  MTP_ASSERT_OK(piece);
  EXPECT_EQ(*(*piece)->encode("xhello", kParse), Ids({'x', 259}));
  // A token that occurs twice has the later settings.
  auto twice = loadJson(byteLevelJson(
      {{"[tool]", "<|end|>"}, {R"("special": false)", R"("special": true)"}}));
  MTP_ASSERT_OK(twice);
  EXPECT_EQ((*twice)->vocabSize(), 264u);
  EXPECT_TRUE((*twice)->isSpecial(263));
  auto empty = loadJson(byteLevelJson({{"[tool]", ""}}));
  MTP_ASSERT_OK(empty);
  EXPECT_EQ((*empty)->vocabSize(), 264u);
  expectJsonError({{R"("id": 264)", R"("id": -1)"}},
                  {"added_tokens[1].id", "-1"});
  // With a hole in the vocabulary the library assigns an id twice.
  expectJsonError({{R"("hello": 259)", R"("hello": 264)"}},
                  {"expected the next id 264 to be free for '[tool]'"});
}

/// Tokens that are only in tokenizer_config.json, as transformers 5.24 adds
/// them: `added_tokens_decoder` by ids, then special tokens in the order of
/// names.
TEST(TokenizerTables, addsTokensOfTheConfig) {
  auto loaded = loadJson(byteLevelJson(), R"({"bos_token": "<s>",
      "pad_token": {"content": "<pad>", "lstrip": true}, "eos_token": "hello",
      "additional_special_tokens": ["<s>", "<q>"],
      "added_tokens_decoder": {"1000": {"content": "<b>", "special": true},
                               "900": {"content": "<a>", "note": 1},
                               "264": {"content": "[tool]",
                                       "lstrip": true}}})");
  MTP_ASSERT_OK(loaded);
  EXPECT_EQ(*(*loaded)->encode("<a><b><s> <pad><q>", kParse),
            Ids({265, 266, 267, 268, 269}));
  EXPECT_EQ((*loaded)->bosId(), 267);
  EXPECT_EQ((*loaded)->eosId(), 259);
  EXPECT_TRUE((*loaded)->isSpecial(259) && (*loaded)->isSpecial(269));
  EXPECT_FALSE((*loaded)->isSpecial(265));
  EXPECT_EQ(*(*loaded)->encode("a [tool]", kParse), Ids({'a', 264}));
  EXPECT_FALSE(
      loadJson(byteLevelJson(), R"({"added_tokens_decoder": {"x": {}}})")
          .isOk());
}

/// Settings that `tokenizers` 0.23.3 reads and ignores.
TEST(TokenizerTables, readsWhatHasNoEffect) {
  const std::string decoder = R"("decoder": {"type": "ByteLevel", )";
  for (const JsonEdit &edit : std::vector<JsonEdit>{
           {R"("dropout": null)", R"("dropout": 0.0, "note": 1)"},
           {R"("dropout": null)", R"("dropout": 0)"},
           {R"("unk_token": null)", R"("unk_token": "<unk>")"},
           {R"("special": true)", R"("special": true, "note": 1)"},
           {R"("use_regex": true})", R"("use_regex": true, "note": 1})"},
           {R"("merges": [)", R"("merges": ["#version: 0.2", )"},
           {R"("normalizer": null)",
            R"("normalizer": {"type": "Sequence", "normalizers": [], "n": 1})"},
           {R"("post_processor": null)",
            R"("post_processor": {"type": "ByteLevel", "note": 1})"},
           {decoder, R"("decoder": {"type": "Sequence", "decoders": [
              {"type": "Sequence", "decoders": [{"type": "ByteLevel"}]},
              {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 0,
               "stop": 0}], )"}}) {
    auto loaded = loadJson(byteLevelJson({edit}));
    ASSERT_TRUE(loaded.isOk()) << edit.to << loaded.status().toString();
    EXPECT_EQ(*(*loaded)->encode("hello <|end|>", kParse),
              Ids({259, ' ', 263}));
    EXPECT_EQ(*(*loaded)->decode(Ids({259, 260})), "hello w");
  }
  expectUnsupported({{decoder, R"("decoder": {"type": "Sequence", "decoders": [
      {"type": "ByteFallback"}, {"type": "ByteLevel"}], )"}},
                    {"beside ByteLevel"});
}

/// The last rank of a merge that occurs twice counts, as in `tokenizers`.
TEST(TokenizerTables, takesTheLastRankOfAMerge) {
  auto later =
      loadJson(byteLevelJson({{R"("aa": 261)", R"("el": 261)"},
                              {R"("a a", "aa aa"])", R"("e l", "h e"])"}}));
  MTP_ASSERT_OK(later);
  EXPECT_EQ(*(*later)->encode("hel"), Ids({'h', 261}));
  auto sooner = loadJson(byteLevelJson(
      {{R"("aa": 261)", R"("el": 261)"}, {R"("a a", "aa aa"])", R"("e l"])"}}));
  MTP_ASSERT_OK(sooner);
  EXPECT_EQ(*(*sooner)->encode("hel"), Ids({256, 'l'}));
}

TEST(TokenizerTables, namesWhatItDoesNotSupport) {
  expectUnsupported({{R"("type": "BPE")", R"("type": "Unigram")"}},
                    {"tokenizer.json", "model.type", "Unigram"});
  expectUnsupported({{R"("dropout": null)", R"("dropout": 0.1)"}},
                    {"model.dropout", "0.1"});
  expectUnsupported(
      {{R"("end_of_word_suffix": null)", R"("end_of_word_suffix": "</w>")"}},
      {"model.end_of_word_suffix", "</w>"});
  for (const char *type :
       {"BertNormalizer", "Nmt", "Precompiled", "StripAccents", "ByteLevel"})
    expectUnsupported(
        {{R"("normalizer": null)",
          std::string(R"("normalizer": {"type": ")") + type + R"("})"}},
        {"normalizer.type", type});
  for (const char *type : {"UnicodeScripts", "CharDelimiterSplit"})
    expectUnsupported(
        {{R"("pre_tokenizer": {"type": "ByteLevel")",
          std::string(R"("pre_tokenizer": {"type": ")") + type + "\""}},
        {"pre_tokenizer.type", type});
  expectUnsupported({{R"("decoder": {"type": "ByteLevel")",
                      R"("decoder": {"type": "WordPiece")"}},
                    {"decoder.type", "WordPiece"});
  expectUnsupported({{kPreTokenizer, splitBy("(?<name>a)")}},
                    {"tokenizer.json: expected a supported pattern at "
                     "pre_tokenizer.pretokenizers[0].pattern.Regex, got",
                     ": '(?<n' at byte 0 is not supported"});
}

/// After ByteLevel, the text has a character for each byte, so only splits make
/// sense.
TEST(TokenizerTables, takesSplitsAfterByteLevel) {
  auto sequence = [](const std::string &after) {
    return byteLevelJson(
        {{kPreTokenizer, R"({"type": "Sequence", "pretokenizers": [
      {"type": "ByteLevel", "add_prefix_space": false}, )" +
                             after + "]}"}});
  };
  auto loaded =
      loadJson(sequence(R"({"type": "Digits"}, {"type": "Punctuation"})"));
  MTP_ASSERT_OK(loaded);
  // The second byte of U+0432 is written as a superscript two, a digit.
  EXPECT_EQ(*(*loaded)->encode("\xD0\xB2 hello"), Ids({0xD0, 0xB2, ' ', 259}));
  for (const char *type : {"Metaspace", "ByteLevel"})
    expectError(tablesFromHuggingFace(
                    sequence(std::string(R"({"type": ")") + type + "\"}"), ""),
                StatusCode::Unimplemented,
                {"pre_tokenizer.pretokenizers[1].type", type,
                 "only splits after ByteLevel"});
}

TEST(TokenizerTables, refusesUnknownKeys) {
  expectJsonError({{R"("version")", R"("versions")"}}, {"versions"});
}

/// jzhang38/TinyLlama#23: "model_max_length" of a tokenizer without a limit.
/// The last value of a key that occurs twice counts, as in `tokenizers`.
TEST(TokenizerTables, readsJsonAsPythonDoes) {
  const std::string huge = "1000000000000000019884624838656";
  auto loaded = loadJson(
      byteLevelJson({{R"("version")", R"("truncation": {"max_length": )" +
                                          huge + R"(}, "version": "0.1",
                                          "version")"},
                     {R"("hello": 259)", R"("hello": 700, "hello": 259)"}}),
      R"({"bos_token": "no", "eos_token": "[tool]", "bos_token": "<|end|>",
          "model_max_length": )" +
          huge + R"(, "x": [Infinity, -1e999]})");
  MTP_ASSERT_OK(loaded);
  EXPECT_EQ((*loaded)->bosId(), 263);
  EXPECT_EQ(*(*loaded)->encode("hello"), Ids({259}));
}

TEST(TokenizerTables, refusesMissingUnknownToken) {
  expectJsonError({{R"("unk_token": null)", R"("unk_token": "<unk>")"},
                   {R"("!": 33)", R"("!!": 33)"}},
                  {"model.unk_token", "<unk>"});
}

TEST(TokenizerTables, readsTemplatesAndConfig) {
  std::string json = byteLevelJson({{R"("post_processor": null)",
                                     R"("post_processor": {"type": "Sequence",
      "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "B", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "E", "type_id": 0}}], "pair": [],
      "special_tokens": {
          "B": {"id": "B", "ids": [263], "tokens": ["B"]},
          "E": {"id": "E", "ids": [264], "tokens": ["E"]}}}]})"}});
  auto plain = loadJson(json);
  MTP_ASSERT_OK(plain);
  EXPECT_EQ(*(*plain)->encode("a"), Ids({263, 'a', 264}));
  EXPECT_EQ(*(*plain)->encode("a", {/*addSpecial=*/false}), Ids({'a'}));
  EXPECT_EQ((*plain)->bosId(), std::nullopt);

  auto llama = loadJson(json, R"({"bos_token": {"content": "<|end|>"},
    "eos_token": "[tool]", "add_bos_token": true, "add_eos_token": false,
    "tokenizer_class": "LlamaTokenizerFast", "chat_template": "x"})");
  MTP_ASSERT_OK(llama);
  EXPECT_EQ(*(*llama)->encode("a"), Ids({263, 'a'}));
  EXPECT_EQ((*llama)->bosId(), 263);
  EXPECT_EQ((*llama)->eosId(), 264);
  auto more = loadJson(json, R"({"bos_token": "<none>", "eos_token": ""})");
  MTP_ASSERT_OK(more);
  EXPECT_EQ((*more)->bosId(), 265);
  EXPECT_EQ((*more)->eosId(), std::nullopt);
  EXPECT_FALSE(
      tablesFromHuggingFace(
          byteLevelJson({{R"("post_processor": null)",
                          R"("post_processor": {"type": "BertProcessing",
            "cls": ["a", 99999], "sep": ["b", 1]})"}}),
          "")
          .isOk());
}

//===----------------------------------------------------------------------===//
// Other files
//===----------------------------------------------------------------------===//

TEST(TokenizerTables, refusesMissingFiles) {
  expectError(buildTokenizerTables("/does/not/exist"), StatusCode::NotFound,
              {"/does/not/exist"});
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "mtp_no_tokenizer";
  std::filesystem::create_directories(folder);
  expectError(buildTokenizerTables(folder.string()), StatusCode::NotFound,
              {"tokenizer.json"});
  EXPECT_FALSE(buildTokenizerTables("/dev/zero").isOk());
}

const char *const kTiktokenConfig =
    R"({"auto_map": {"AutoTokenizer": ["code_x.Class", null]},
        "added_tokens_decoder": {"3": {"content": "<e>", "special": true}},
        "eos_token": "<e>"})";
const char *const kTiktokenCode = "class Class:\n  pat_str = r'a+|[^a]+'\n";

void expectTiktokenError(std::string_view model, std::string_view config,
                         std::string_view code, const char *part) {
  auto result = tablesFromTiktoken(model, config, code);
  ASSERT_FALSE(result.isOk()) << part;
  EXPECT_NE(result.status().message().find(part), std::string_view::npos)
      << result.status().toString();
}

TEST(TokenizerTables, readsTiktokenModels) {
  // Pieces "a", "b", "ab".
  std::string model = "YQ== 0\nYg== 1\r\nYWI= 2\n";
  auto tables = tablesFromTiktoken(model, kTiktokenConfig, kTiktokenCode);
  MTP_ASSERT_OK(tables);
  auto tokenizer = loadTables(*tables);
  MTP_ASSERT_OK(tokenizer);
  EXPECT_EQ((*tokenizer)->eosId(), 3);
  EXPECT_EQ(*(*tokenizer)->encode("aab"), Ids({0, 0, 1}));
  for (const char *code :
       {"pat_str = \"|\".join([r'a', # b\n r\"\"\"b\"\"\",])\n",
        "x.pat_str = 1\npat_str=r'.+'\nf(pat_str=self.pat_str)\n"})
    MTP_ASSERT_OK(tablesFromTiktoken(model, kTiktokenConfig, code));
}

TEST(TokenizerTables, refusesBrokenTiktokenModels) {
  std::string model = "YQ== 0\nYg== 1\nYWI= 2\n";
  for (const char *line :
       {"YQ==", "YQ== x", "YQ= 4", "Y!== 4", " 4", "YQ== -1", "YQ== 4 4"})
    expectTiktokenError(model + line, kTiktokenConfig, kTiktokenCode,
                        "line 4: expected a piece in base64 and its rank");
  expectTiktokenError(model + "YQ== 4", kTiktokenConfig, kTiktokenCode,
                      "that no other line has");
  expectTiktokenError(model + "YWE= 2", kTiktokenConfig, kTiktokenCode,
                      "that no other line has");
  expectTiktokenError(model + "YWE= 4194304", kTiktokenConfig, kTiktokenCode,
                      "a rank of at most 4194303");
  expectTiktokenError(model + "YWE= 3", kTiktokenConfig, kTiktokenCode,
                      "that no piece has as the key");
  expectTiktokenError("", kTiktokenConfig, kTiktokenCode, "a piece at least");
  expectTiktokenError(model, "{}", kTiktokenCode, "auto_map");
  expectTiktokenError(model,
                      R"({"auto_map": {"AutoTokenizer": "other--../x.Class"}})",
                      kTiktokenCode, "a class of a file in the same folder");
  expectTiktokenError(model, kTiktokenConfig, "x = 1",
                      "code_x.py: expected one assignment to 'pat_str', got 0");
  for (const char *code :
       {"pat_str = 'a'", "pat_str = r'a", "pat_str = f(r'a')",
        "pat_str = \"|\".join([r'a', x])", "pat_str = \"|\".join([r'a'"})
    expectTiktokenError(model, kTiktokenConfig, code, "expected a raw string");
  expectTiktokenError(model, kTiktokenConfig, "pat_str = r'^a{1,2}+'",
                      "in a pattern of tiktoken is not supported");
}

/// The content of a large file in a clone without Git LFS.
TEST(TokenizerTables, refusesLfsPointers) {
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "mtp_lfs_tokenizer";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.json")
      << "version https://git-lfs.github.com/spec/v1\n"
         "oid sha256:4d7a\nsize 7031673\n";
  expectError(buildTokenizerTables(folder.string()),
              StatusCode::FailedPrecondition,
              {"tokenizer.json", "is a Git LFS pointer", "git lfs pull"});
}

TEST(TokenizerTables, refusesBrokenGpt2Files) {
  std::string encoder = R"({"a": 0, "b": 1, "ab": 2})";
  EXPECT_TRUE(tablesFromGpt2(encoder, "#version: 0.2\na b\n").isOk());
  expectError(tablesFromGpt2(encoder, "a b\na c\n"),
              StatusCode::InvalidArgument, {"vocab.bpe", "'c'"});
  expectError(tablesFromGpt2(encoder, "a b\nab\n"), StatusCode::InvalidArgument,
              {"vocab.bpe", "line 2"});
  expectError(tablesFromGpt2("{}", ""), StatusCode::InvalidArgument,
              {"encoder.json"});
  expectError(tablesFromGpt2(encoder, "a \xFF\n"), StatusCode::InvalidArgument,
              {"vocab.bpe", "UTF-8"});
}

TEST(TokenizerTables, refusesBrokenSentencePieceModels) {
  // The last two have a piece without text and one with a NUL.
  for (std::string_view model :
       {""sv, "x"sv, "\x0A"sv, "\x0A\xFF\xFF\xFF\xFF\x0F"sv,
        "\x0A\x03\x0A\x01"sv, "\x0A\x00"sv, "\x0A\x04\x0A\x02\x00x"sv})
    expectError(tablesFromSentencePiece(model, ""), StatusCode::InvalidArgument,
                {"tokenizer.model"});
  MTP_REQUIRE_SHARED_DATA();
  std::string model =
      readFile(sharedData() / "tokenizers/mistral-v1/tokenizer.model.v1");
  for (size_t size :
       {size_t(1), size_t(100), model.size() / 2, model.size() - 1})
    EXPECT_FALSE(tablesFromSentencePiece(model.substr(0, size), "").isOk());
  expectError(tablesFromSentencePiece(model, R"({"bos_token": "[BOS]"})"),
              StatusCode::InvalidArgument, {"bos_token", "[BOS]"});
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::string broken = model;
    // Half of the edits are in the last 400 bytes, where the specs are.
    size_t range = round % 2 ? broken.size() : 400;
    broken[broken.size() - 1 - random() % range] ^= 1 << random() % 8;
    auto tables = tablesFromSentencePiece(broken, "");
    EXPECT_TRUE(!tables.isOk() || loadAndExercise(*tables));
  }
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

TEST(TokenizerTables, areTheSameEveryTime) {
  EXPECT_EQ(*tablesFromHuggingFace(byteLevelJson(), ""),
            *tablesFromHuggingFace(byteLevelJson(), ""));
}

TEST(TokenizerTables, refusesTablesThatContradictThemselves) {
  using schema::TokenizerT;
  EXPECT_TRUE(loadEdited([](TokenizerT &) {}).isOk());
  const std::vector<std::pair<const char *, void (*)(TokenizerT &)>> edits = {
      {"piece_offsets", [](TokenizerT &t) { t.piece_offsets.clear(); }},
      {"piece_offsets", [](TokenizerT &t) { t.piece_offsets[0] = 1; }},
      {"piece_offsets", [](TokenizerT &t) { t.piece_offsets[9] = 0; }},
      {"piece_offsets", [](TokenizerT &t) { ++t.piece_offsets.back(); }},
      {"byte_ids", [](TokenizerT &t) { t.byte_ids.pop_back(); }},
      {"byte_ids[3]", [](TokenizerT &t) { t.byte_ids[3] = 265; }},
      {"merges[0]",
       [](TokenizerT &t) { t.merges[0] = schema::Merge(265, 0, 0, 0); }},
      {"merges[1]", [](TokenizerT &t) { t.merges[1] = t.merges[0]; }},
      {"merges[0]",
       [](TokenizerT &t) { t.merges[0] = schema::Merge(0, 0, 0, 0); }},
      {"whole_words[1]", [](TokenizerT &t) { t.whole_words = {9, 9}; }},
      {"whole_words[0]", [](TokenizerT &t) { t.whole_words = {999}; }},
      {"characters[0]",
       [](TokenizerT &t) { t.characters = {schema::Character(65, 999)}; }},
      {"bos_id", [](TokenizerT &t) { t.bos_id = 265; }},
      {"-2", [](TokenizerT &t) { t.unk_id = -2; }},
      {"prefix_ids", [](TokenizerT &t) { t.prefix_ids = {265}; }},
      {"suffix_ids", [](TokenizerT &t) { t.suffix_ids.assign(65, 0); }},
      {"added_tokens[0].id",
       [](TokenizerT &t) { t.added_tokens[0]->id = 265; }},
      {"twice",
       [](TokenizerT &t) {
         t.added_tokens[0]->content = t.added_tokens[1]->content;
       }},
      {"added_tokens[0]",
       [](TokenizerT &t) { t.added_tokens[0]->content = "\xFF"; }},
      {"pre_tokenizer: step 0",
       [](TokenizerT &t) { t.pre_tokenizer[0]->pattern = "("; }},
      {"pre_tokenizer: step 0",
       [](TokenizerT &t) {
         t.pre_tokenizer[0]->kind = static_cast<schema::TextStepKind>(99);
       }},
      {"normalizer",
       [](TokenizerT &t) { t.normalizer = std::move(t.pre_tokenizer); }},
      {"normalizer that yields text",
       [](TokenizerT &t) {
         t.normalizer.push_back(std::make_unique<schema::TextStepT>());
         t.normalizer[0]->kind = schema::TextStepKind::ByteCharacters;
       }},
      {"pre_tokenizer: expected steps that split",
       [](TokenizerT &t) {
         t.pre_tokenizer.insert(t.pre_tokenizer.begin(),
                                std::make_unique<schema::TextStepT>());
         t.pre_tokenizer[0]->kind = schema::TextStepKind::ByteCharacters;
         t.pre_tokenizer[1]->kind = schema::TextStepKind::Nfc;
       }},
      {"kind",
       [](TokenizerT &t) { t.kind = static_cast<schema::TokenizerKind>(9); }},
      {"SentencePiece",
       [](TokenizerT &t) { t.kind = schema::TokenizerKind::SentencePiece; }},
  };
  for (const auto &[part, edit] : edits) {
    auto loaded = loadEdited(edit);
    ASSERT_FALSE(loaded.isOk()) << part;
    EXPECT_NE(loaded.status().message().find(part), std::string_view::npos)
        << "expected '" << part << "' in: " << loaded.status().toString();
  }
}

TEST(TokenizerTables, boundsStepsThatMultiply) {
  // Every step divides at each character and inserts a kilobyte before it.
  auto loaded = loadEdited([](schema::TokenizerT &t) {
    t.pre_tokenizer.clear();
    for (int i = 0; i < 32; ++i) {
      auto split = std::make_unique<schema::TextStepT>();
      split->kind = schema::TextStepKind::Split;
      split->pattern = ".";
      split->behavior = schema::SplitBehavior::Isolated;
      t.pre_tokenizer.push_back(std::move(split));
      auto prepend = std::make_unique<schema::TextStepT>();
      prepend->kind = schema::TextStepKind::Prepend;
      prepend->text = std::string(1024, 'a');
      t.pre_tokenizer.push_back(std::move(prepend));
    }
  });
  MTP_ASSERT_OK(loaded);
  EXPECT_EQ((*loaded)->encode(std::string(1000, 'a')).status().code(),
            StatusCode::ResourceExhausted);
}

TEST(TokenizerTables, refusesMisalignedTables) {
  std::string tables = *tablesFromHuggingFace(byteLevelJson(), "");
  std::vector<uint64_t> storage(tables.size() / 8 + 2);
  auto *data = reinterpret_cast<uint8_t *>(storage.data()) + 1;
  std::copy(tables.begin(), tables.end(), data);
  EXPECT_EQ(Tokenizer::load({data, tables.size()}).status().code(),
            StatusCode::InvalidArgument);
}

TEST(TokenizerTables, survivesTruncationAnywhere) {
  std::string tables = *tablesFromHuggingFace(byteLevelJson(), "");
  for (size_t size = 0; size < tables.size(); ++size)
    loadAndExercise(std::string_view(tables).substr(0, size));
  EXPECT_EQ(loadTables("").status().code(), StatusCode::DataLoss);
}

/// Flips one bit and all bits of each byte of a tokenizer. The result must be
/// an error or a tokenizer. Run the test with ASan.
static void flipEverywhere(const std::string &tables) {
  std::string broken = tables;
  size_t loaded = 0;
  for (size_t i = 0; i < broken.size(); ++i)
    for (uint8_t mask : {uint8_t(1 << i % 8), uint8_t(0xFF)}) {
      broken[i] = static_cast<char>(tables[i] ^ mask);
      loaded += loadAndExercise(broken);
      broken[i] = tables[i];
    }
  EXPECT_LT(loaded, 2 * tables.size());
}

TEST(TokenizerTables, survivesFlippedBitsInSentencePieceTables) {
  std::string model = readFile(std::filesystem::path(MTP_SOURCE_DIR) /
                               "test/Runtime/data/normalizing.model");
  flipEverywhere(*tablesFromSentencePiece(model, ""));
}

TEST(TokenizerTables, survivesFlippedBitsInByteLevelTables) {
  flipEverywhere(*tablesFromHuggingFace(
      byteLevelJson(
          {{R"("normalizer": null)", R"("normalizer": {"type": "NFC"})"},
           {R"("ignore_merges": false)", R"("ignore_merges": true)"}}),
      ""));
}

TEST(TokenizerTables, survivesFlippedBitsInCharacterTables) {
  flipEverywhere(*tablesFromHuggingFace(characterJson(), ""));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

TEST(RegexTranslator, keepsMeanings) {
  const std::pair<const char *, const char *> cases[] = {
      {R"(\s+(?!\S))", R"(\p{WSpace}+(?!\P{WSpace}))"},
      {R"([^\s\p{L}\d])", R"([^\p{WSpace}\p{L}\p{Nd}])"},
      {R"(\p{N}{1,3}+)", R"((?:\p{N}{1,3})+)"},
      {R"((ab){2}+c)", R"((?:(ab){2})+c)"},
      {R"(a++b?+)", R"(a++b?+)"},
      {R"(\p{Han}\p{^Lu}\P{Letter})", R"(\p{sc:Han}\P{Lu}\P{L})"},
      {R"(^a$)", R"((?m:^)a(?m:$))"},
      {R"(a{,3}b{x}c{2,})", R"(a{0,3}b\{x}c{2,})"},
      {R"(\u3000\x{FF}\x41\v)", R"(\x{3000}\x{FF}\x{41}\x{0B})"},
      {R"((?i:'s|'t)|(?=x)(?<!y))", R"((?i:'s|'t)|(?=x)(?<!y))"},
      {R"((?i)a|b)", R"((?i)a|b)"},
      {"[\xE4\xB8\x80-\xE9\xBE\xA5]+", "[\xE4\xB8\x80-\xE9\xBE\xA5]+"},
      {"\\\xC3\xA9{2}+", "(?:\xC3\xA9{2})+"},
  };
  for (const auto &[from, to] : cases) {
    auto translated = translateRegex(from);
    MTP_ASSERT_OK(translated);
    EXPECT_EQ(*translated, to);
    MTP_ASSERT_OK(Regex::compile(*translated));
  }
}

TEST(RegexTranslator, takesThePatternsOfKnownModels) {
  for (
      const char *pattern :
      {// Llama 3, Qwen 2.
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
       R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       // DeepSeek V3.
       R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
       R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)"
       R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
       "[\xE4\xB8\x80-\xE9\xBE\xA5\xE3\x81\x80-\xE3\x82\x9F"
       "\xE3\x82\xA0-\xE3\x83\xBF]+",
       // DeepSeek Coder.
       R"(\s?\p{L}+|\s?\p{P}+|[\r\n]|\s?[A-Za-z]+)",
       // GPT-4o.
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
       R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
       R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+)",
       // Kimi K2.
       R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)"
       R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
       R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)",
       // GPT-4 in tiktoken.
       R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+)"
       R"(| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)"}) {
    auto translated = translateRegex(pattern);
    MTP_ASSERT_OK(translated);
    MTP_ASSERT_OK(Regex::compile(*translated));
  }
}

TEST(RegexTranslator, refusesWhatItDoesNotKnow) {
  for (const char *pattern : {"(?<n>a)",
                              "(?#c)",
                              "(*FAIL)",
                              "a(?i)b",
                              "(?m:a)",
                              "[a&&b]",
                              "[^a&&[b]]",
                              "[a&&[b]c]",
                              "[a&&[b&&[c]]]",
                              "[&&[b]]",
                              "[a&&",
                              "[a&&[b]",
                              "(?i:[a&&[b]])",
                              "[a[b]]",
                              "[[:alpha:]]",
                              R"(\h)",
                              R"(\R)",
                              R"(\b)",
                              R"(\1)",
                              R"([\W])",
                              "(?i:ss)",
                              "(?i)aFI",
                              "(?i:s(?:t))",
                              R"((?i:\x53))",
                              "(?i:[\xC3\x9F])",
                              "(?i:\xC3\x9F)",
                              R"((?i:\p{Lu}))",
                              R"(\k<a>)",
                              R"(a{2}?)",
                              R"(\xFF)",
                              R"(\u12)",
                              R"(\p{L)",
                              R"(\pL)",
                              "[a",
                              "[]a]",
                              "a)",
                              "\\",
                              "{2}"})
    EXPECT_FALSE(translateRegex(pattern).isOk()) << pattern;
}

TEST(RegexTranslator, escapesLiterals) {
  std::string text;
  for (int c = 0; c < 0x80; ++c)
    text.push_back(static_cast<char>(c));
  text += "\xE2\x96\x81";
  auto regex = Regex::compile(escapeRegex(text));
  MTP_ASSERT_OK(regex);
  MatchScratch scratch;
  std::vector<TextSpan> matches;
  std::string twice = "x" + text + text;
  ASSERT_TRUE(
      regex->findAll(twice, {0, twice.size()}, scratch, matches).isOk());
  EXPECT_EQ(matches.size(), 2u);
}
