//===- json_test.cpp - JSON as Python writes it ---------------------------===//
//
// Reports: jzhang38/TinyLlama#23, sgl-project/sglang#37054,
// kubernetes-sigs/inference-perf#286.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/Json.h"
#include "runtime/json/PythonJson.h"

#include <gtest/gtest.h>

using namespace mtp;

namespace {

std::string plain(const std::string &json) { return plainNumbers(json).text; }

std::string quoted(const std::string &text) { return "\"" + text + "\""; }

TEST(PythonJson, LeavesWhatAParserReads) {
  for (const char *json :
       {"", "[1, -1, 0, -0, 1.5, 1e5, -1E-5, 1e-400, 0e999]",
        "[18446744073709551615, -9223372036854775808]", "[01, 1., .5, +1, -]",
        "\"1000000000000000019884624838656\"", "\"a\\\" NaN 1e999\"",
        "{\"Infinity\": 0.1e309}", "\"\\", "tru"})
    EXPECT_EQ(plain(json), json);
}

TEST(PythonJson, WidensIntegersBeyond64Bits) {
  for (const char *number :
       {"18446744073709551616", "-9223372036854775809",
        "1000000000000000019884624838656", "99999999999999999999"}) {
    std::string text = "[" + std::string(number) + ",2.5,3]";
    PlainJson json = plainNumbers(text);
    EXPECT_EQ(json.text, "[" + std::string(number) + "e0,2.5,3]");
    EXPECT_EQ(json.doubles, (std::vector<std::string_view>{number, "2.5"}));
    EXPECT_FALSE(json.hasQuoted);
  }
}

TEST(PythonJson, QuotesWhatNoDoubleHolds) {
  for (const std::string &number :
       {std::string("NaN"), std::string("Infinity"), std::string("-Infinity"),
        std::string("1e309"), std::string("-1.5E+999999999999"),
        std::string("100e307"), std::string(310, '9')}) {
    EXPECT_EQ(plain("[" + number + "]"), "[" + quoted(number) + "]");
    EXPECT_TRUE(plainNumbers(number).hasQuoted);
  }
}

TEST(JsonTree, LimitsBytesAndLevels) {
  EXPECT_EQ(JsonTree::of("[1, 2]", {.bytes = 5}).status().message(),
            "expected at most 5 bytes of JSON, got 6");
  EXPECT_EQ(JsonTree::of("[[1]]", {.depth = 2}).status().message(),
            "expected JSON nested at most 2 deep");
  EXPECT_TRUE(JsonTree::of("[[1]]", {.bytes = 5, .depth = 3}).isOk());
}

TEST(JsonTree, ParsesOneTextAfterAnother) {
  JsonTree tree;
  // More levels than the default of the parser, then fewer and a longer text.
  std::string deep = std::string(1200, '[') + std::string(1200, ']');
  EXPECT_TRUE(tree.parse(deep, {.depth = 1300}).isOk());
  EXPECT_FALSE(tree.parse("[[[1]]]", {.depth = 3}).isOk());
  std::string text = "[18446744073709551616";
  for (int i = 0; i < 5000; ++i)
    text += ", 1.5";
  text += "]";
  ASSERT_TRUE(tree.parse(text).isOk());
  EXPECT_EQ(simdjson::dom::array(tree.root().get_array().value_unsafe()).size(),
            5001u);
  ASSERT_EQ(tree.doubles().size(), 5001u);
  EXPECT_EQ(tree.doubles()[0], "18446744073709551616");
  ASSERT_TRUE(tree.parse("7").isOk());
  EXPECT_TRUE(tree.doubles().empty());
  EXPECT_EQ(uint64_t(tree.root().get_uint64().value_unsafe()), 7u);
}

TEST(ParseJson, ReadsNumbersAsPythonDoes) {
  auto document =
      parseJson("{\"a\":1000000000000000019884624838656,\"b\":NaN,\"c\":7}", 4,
                JsonDialect::Python);
  ASSERT_TRUE(document.isOk()) << document.status().toString();
  simdjson::dom::object root = document->root().get_object().value_unsafe();
  double number = 0;
  EXPECT_FALSE(findLast(root, "a")->get_double().get(number));
  EXPECT_EQ(number, 1e30);
  EXPECT_TRUE(findLast(root, "b")->is_string());
  EXPECT_FALSE(findLast(root, "d"));
  EXPECT_FALSE(parseJson("[1e400, }", 4, JsonDialect::Python).isOk());
  EXPECT_FALSE(parseJson("[NaN]", 4).isOk());
  EXPECT_TRUE(parseJson("[18446744073709551616]", 4).isOk());
}

TEST(ParseJson, TakesTheLastValueWhereAsked) {
  const char *text = "{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":3}";
  EXPECT_FALSE(parseJson(text, 4).isOk());
  auto document = parseJson(text, 4, JsonDialect::Python);
  ASSERT_TRUE(document.isOk()) << document.status().toString();
  simdjson::dom::object root = document->root().get_object().value_unsafe();
  EXPECT_EQ(int64_t(findLast(root, "a")->get_int64().value_unsafe()), 3);
}

} // namespace
