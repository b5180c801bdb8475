//===- json_test.cpp - JSON as Python writes it ---------------------------===//
//
// Reports: jzhang38/TinyLlama#23, sgl-project/sglang#37054,
// kubernetes-sigs/inference-perf#286.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/Json.h"
#include "runtime/core/PythonJson.h"

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

TEST(StrictJson, ReadsNumbersAsPythonDoes) {
  auto document = StrictJson::parse(
      "{\"a\":1000000000000000019884624838656,\"b\":NaN,\"c\":7}", 4,
      JsonDialect::Python);
  ASSERT_TRUE(document.isOk()) << document.status().toString();
  simdjson::dom::object root = document->root().get_object().value_unsafe();
  double number = 0;
  EXPECT_FALSE(findLast(root, "a")->get_double().get(number));
  EXPECT_EQ(number, 1e30);
  EXPECT_TRUE(findLast(root, "b")->is_string());
  EXPECT_FALSE(findLast(root, "d"));
  EXPECT_FALSE(StrictJson::parse("[1e400, }", 4, JsonDialect::Python).isOk());
  EXPECT_FALSE(StrictJson::parse("[NaN]", 4).isOk());
  EXPECT_TRUE(StrictJson::parse("[18446744073709551616]", 4).isOk());
}

TEST(StrictJson, TakesTheLastValueWhereAsked) {
  const char *text = "{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":3}";
  EXPECT_FALSE(StrictJson::parse(text, 4).isOk());
  auto document = StrictJson::parse(text, 4, JsonDialect::Python);
  ASSERT_TRUE(document.isOk()) << document.status().toString();
  simdjson::dom::object root = document->root().get_object().value_unsafe();
  EXPECT_EQ(int64_t(findLast(root, "a")->get_int64().value_unsafe()), 3);
}

} // namespace
