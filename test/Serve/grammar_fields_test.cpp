//===- grammar_fields_test.cpp - Fields of structured output --------------===//

#include "test/Runtime/support/ByteTokenizer.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/RequestParser.h"
#include "tools/mtp-serve/engine/GrammarCompiler.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::serve;
using grammar::Source;
using mtp::test::byteTokenizer;

namespace {

MaybeError read(std::string_view text, std::optional<GrammarRequest> &request) {
  JsonBody body;
  EXPECT_FALSE(body.parse(text)) << text;
  return readGrammarFields(body.object(), request);
}

GrammarRequest grammarOf(std::string_view text) {
  std::optional<GrammarRequest> request;
  MaybeError error = read(text, request);
  EXPECT_FALSE(error) << text << (error ? error->message : "");
  EXPECT_TRUE(request) << text;
  return request.value_or(GrammarRequest());
}

struct Sample {
  const char *body;
  Source::Kind kind;
  const char *text;
  const char *field;
};

const Sample kSamples[] = {
    {R"({"response_format":{"type":"json_object"}})", Source::Kind::JsonObject,
     "", "response_format"},
    {R"({"response_format":{"type":"json_schema","json_schema":{"name":"x",
      "strict":true,"schema":{"type":"null"}}}})",
     Source::Kind::JsonSchema, R"({"type":"null"})",
     "response_format.json_schema.schema"},
    {R"({"response_format":{"type":"json_object","schema":{"a":[1.5]}}})",
     Source::Kind::JsonSchema, R"({"a":[1.5]})", "response_format.schema"},
    {R"({"structured_outputs":{"json":{"type":"null"},"regex":null}})",
     Source::Kind::JsonSchema, R"({"type":"null"})", "structured_outputs.json"},
    {R"({"structured_outputs":{"regex":"a+","disable_fallback":true}})",
     Source::Kind::Regex, "a+", "structured_outputs.regex"},
    {R"({"structured_outputs":{"grammar":"root ::= \"a\""}})",
     Source::Kind::Gbnf, "root ::= \"a\"", "structured_outputs.grammar"},
    {R"({"structured_outputs":{"json_object":true}})", Source::Kind::JsonObject,
     "", "structured_outputs.json_object"},
    {R"({"guided_json":"{\"type\":\"null\"}"})", Source::Kind::JsonSchema,
     R"({"type":"null"})", "guided_json"},
    {R"({"guided_regex":"[a-z]"})", Source::Kind::Regex, "[a-z]",
     "guided_regex"},
    {R"({"guided_grammar":"root ::= x"})", Source::Kind::Gbnf, "root ::= x",
     "guided_grammar"},
    {R"({"guided_json_object":true})", Source::Kind::JsonObject, "",
     "guided_json_object"},
    {R"({"grammar":"root ::= x"})", Source::Kind::Gbnf, "root ::= x",
     "grammar"},
    {R"({"json_schema":{"type":"null"}})", Source::Kind::JsonSchema,
     R"({"type":"null"})", "json_schema"},
    {R"({"regex":"a"})", Source::Kind::Regex, "a", "regex"},
    {R"({"ebnf":"root ::= x"})", Source::Kind::Gbnf, "root ::= x", "ebnf"},
};

} // namespace

TEST(GrammarFields, EachFieldGivesItsSource) {
  for (const Sample &sample : kSamples) {
    GrammarRequest request = grammarOf(sample.body);
    EXPECT_EQ(request.source.kind, sample.kind) << sample.body;
    EXPECT_EQ(request.source.text, sample.text) << sample.body;
    EXPECT_EQ(request.field, sample.field) << sample.body;
    EXPECT_FALSE(request.isCompact);
  }
}

TEST(GrammarFields, Choices) {
  for (const char *body : {R"({"guided_choice":["a","b"]})",
                           R"({"structured_outputs":{"choice":["a","b"]}})"}) {
    GrammarRequest request = grammarOf(body);
    EXPECT_EQ(request.source.kind, Source::Kind::Choice);
    EXPECT_EQ(request.source.choices, (std::vector<std::string>{"a", "b"}));
  }
}

TEST(GrammarFields, CompactJson) {
  EXPECT_TRUE(grammarOf(R"({"structured_outputs":{
    "disable_any_whitespace":true,"json":{}}})")
                  .isCompact);
}

TEST(GrammarFields, NeutralValuesSetNothing) {
  for (const char *body :
       {"{}", R"({"response_format":null})", R"({"response_format":{}})",
        R"({"response_format":{"type":"text"}})", R"({"grammar":""})",
        R"({"guided_json_object":false})", R"({"structured_outputs":{}})",
        R"({"structured_outputs":{"json_object":false}})",
        R"({"guided_decoding_backend":"x","messages":[]})"}) {
    std::optional<GrammarRequest> request;
    EXPECT_FALSE(read(body, request)) << body;
    EXPECT_FALSE(request) << body;
  }
}

TEST(GrammarFields, AreRefusedByAModelWithoutMasks) {
  constexpr std::string_view body =
      R"({"prompt": [1], "guided_choice": ["a", "b"]})";
  ModelFacts facts;
  facts.names = {"tiny"};
  facts.vocab = 64;
  facts.maxContext = 96;
  GenerationRequest request;
  MaybeError error = parseCompletion(body, facts, request);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "guided_choice");
  EXPECT_NE(error->message.find("--without-logit-rules"), std::string::npos);
  facts.hasGrammars = true;
  request = {};
  EXPECT_FALSE(parseCompletion(body, facts, request));
  ASSERT_TRUE(request.grammar);
  EXPECT_EQ(request.grammar->source.choices.size(), 2u);
}

TEST(GrammarCompiler, SharesEqualGrammarsAndNamesTheField) {
  std::vector<uint8_t> tables = byteTokenizer();
  std::unique_ptr<Tokenizer> tokenizer = *Tokenizer::load(tables);
  ModelFacts facts;
  facts.vocab = tokenizer->vocabSize();
  facts.tokenizer = tokenizer.get();
  facts.generation.eos = {256};
  GrammarCompiler compiler(facts);
  GenerationRequest asked;
  asked.grammar = {{Source::Kind::Regex, "ab+", {}}, "guided_regex"};
  std::shared_ptr<const TokenConstraint> first, second;
  ASSERT_FALSE(compiler.compile(asked, "", first));
  ASSERT_FALSE(compiler.compile(asked, "", second));
  EXPECT_EQ(first, second);
  asked.grammar->source.text = "ab";
  ASSERT_FALSE(compiler.compile(asked, "", second));
  EXPECT_NE(first, second);

  std::vector<uint32_t> words((facts.vocab + 31) / 32);
  ASSERT_TRUE(first->begin()->mask(words).isOk());
  std::vector<int32_t> a = *tokenizer->encode("a");
  EXPECT_TRUE(words[size_t(a[0]) / 32] >> a[0] % 32 & 1);
  EXPECT_TRUE(continueConstraint(first, a)->begin()->mask(words).isOk());
  EXPECT_FALSE(continueConstraint(first, {2})->begin()->mask(words).isOk());

  asked.grammar = {{Source::Kind::JsonSchema, R"({"not": {}})", {}},
                   "json_schema"};
  MaybeError error = compiler.compile(asked, "", first);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "json_schema");
  EXPECT_EQ(error->status, 400u);
  EXPECT_NE(error->message.find("not"), std::string::npos);
}

TEST(GrammarFields, ErrorsNameTheField) {
  const std::pair<const char *, const char *> samples[] = {
      {R"({"response_format":"json"})", "response_format"},
      {R"({"response_format":{"schema":{}}})", "response_format.type"},
      {R"({"response_format":{"type":"xml"}})", "response_format.type"},
      {R"({"response_format":{"type":"json_schema"}})",
       "response_format.json_schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{}}})",
       "response_format.json_schema.schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{"schema":1}}
        })",
       "response_format.json_schema.schema"},
      {R"({"structured_outputs":[]})", "structured_outputs"},
      {R"({"structured_outputs":{"structural_tag":"x"}})",
       "structured_outputs.structural_tag"},
      {R"({"structured_outputs":{"regex":1}})", "structured_outputs.regex"},
      {R"({"guided_choice":[]})", "guided_choice"},
      {R"({"guided_choice":[1]})", "guided_choice"},
      {R"({"guided_json":[1]})", "guided_json"},
      {R"({"guided_json_object":"yes"})", "guided_json_object"},
      {R"({"grammar":{}})", "grammar"},
      {R"({"guided_json":{},"guided_regex":"a"})", "guided_regex"},
      {R"({"structured_outputs":{"json":{},"regex":"a"}})",
       "structured_outputs.regex"},
  };
  for (auto [body, field] : samples) {
    std::optional<GrammarRequest> request;
    MaybeError error = read(body, request);
    ASSERT_TRUE(error) << body;
    EXPECT_EQ(error->param, field) << body;
    EXPECT_EQ(error->status, 400u);
    EXPECT_NE(error->message.find("expected"), std::string::npos);
  }
}
