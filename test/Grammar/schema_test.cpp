//===- schema_test.cpp - JSON Schema --------------------------------------===//

#include "GrammarTestUtil.h"
#include "runtime/grammar/schema/Formats.h"
#include "runtime/grammar/schema/Keywords.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

using namespace mtp;
using namespace mtp::test;

namespace {

struct Sample {
  const char *schema;
  std::vector<std::string> in, out;
};

void check(const Sample &sample) {
  Source source = schemaOf(sample.schema);
  for (const std::string &text : sample.in)
    EXPECT_TRUE(accepts(source, text)) << sample.schema << "\n" << text;
  for (const std::string &text : sample.out)
    EXPECT_FALSE(accepts(source, text)) << sample.schema << "\n" << text;
}

void expectError(const char *schema, StatusCode code, std::string_view part) {
  Status status = failureOf(schemaOf(schema));
  EXPECT_EQ(status.code(), code) << schema << "\n" << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << schema << "\n"
                                                            << status.message();
}

} // namespace

TEST(Schema, Types) {
  check({"true", {"1", "null", "[{}]", "\"a\"", "{\"a\":[1.5e3]}"}, {"", "a"}});
  check({R"({"type":"null"})", {"null"}, {"0"}});
  check({R"({"type":"boolean"})", {"true", "false"}, {"0", "\"true\""}});
  check({R"({"type":"integer"})",
         {"0", "-7", "120"},
         {"01", "1.5", "+1", "-", "1e3"}});
  check({R"({"type":"number"})",
         {"0", "-1.50", "1e9", "2E-3"},
         {"1.", ".5", "01", "NaN"}});
  check({R"({"type":["string","null"]})", {"null", "\"x\""}, {"1"}});
  check({R"({"type":["integer","number"]})", {"1.5"}, {"true"}});
}

TEST(Schema, Strings) {
  check({R"({"type":"string"})",
         {R"("")", R"("a\"\\\/\b\n\u00e9")", "\"\u00e9\U0001F600\"",
          R"("\ud83d\ude00")", "\"\x7F\""},
         {"\"", "\"\n\"", R"("\x")", R"("\u12")", R"("\ud83d")", R"("\ude00")",
          R"("\ud83dx")", "\"\xFF\"", "\"\xED\xA0\x80\""}});
  check({R"({"type":"string","minLength":2,"maxLength":3})",
         {R"("ab")", R"("abc")", "\"\u00e9\U0001F600\"", R"("\u00e9\n")",
          R"("\ud83d\ude00a")"},
         {R"("a")", R"("abcd")", "\"\U0001F600\""}});
  check({R"({"type":"string","minLength":1})", {R"("a")"}, {R"("")"}});
  check({R"({"type":"string","maxLength":0})", {R"("")"}, {R"("a")"}});
  check({R"({"type":"string","pattern":"^[\"\\\\\\n\\u0001]+$"})",
         {R"("\"\\\n\u0001")"},
         {R"("a")", R"("")"}});
}

TEST(Schema, PatternsOfBoundedLength) {
  check({R"({"type":"string","pattern":"^[a-z]+(-[a-z]+)*$","maxLength":5})",
         {R"("a")", R"("abcde")", R"("a-b-c")"},
         {R"("")", R"("abcdef")", R"("a-b-cd")", R"("a-")"}});
  check({R"({"type":"string","pattern":"b","minLength":3})",
         {R"("abc")", R"("bbbbbb")", "\"\u00e9\u00e9b\"", R"("b\n\"")"},
         {R"("ab")", R"("acc")", "\"\u00e9b\""}});
  check({R"({"type":"string","pattern":"^(ab){2,3}$","minLength":5,
         "maxLength":9})",
         {R"("ababab")"},
         {R"("abab")", R"("abababab")"}});
  check({R"({"type":"string","pattern":"^a?$","maxLength":0})",
         {R"("")"},
         {R"("a")"}});
  check({R"({"type":"string","format":"ipv4","maxLength":8})",
         {R"("1.2.3.45")"},
         {R"("1.2.33.45")"}});
  expectError(R"({"type":"string","pattern":"^abc$","maxLength":2})",
              StatusCode::InvalidArgument, "expected rule");
  expectError(R"({"type":"string","pattern":"^[a-z]*$","maxLength":200000})",
              StatusCode::ResourceExhausted, "states");
}

TEST(Schema, IntegerBounds) {
  for (auto [low, high] : {std::pair<int, int>{0, 9},
                           {3, 127},
                           {-5, 12},
                           {-130, -7},
                           {98, 1002},
                           {7, 7},
                           {0, 0},
                           {-1, 0}}) {
    std::string schema = R"({"type":"integer","minimum":)" +
                         std::to_string(low) + R"(,"maximum":)" +
                         std::to_string(high) + "}";
    for (int i = -1100; i <= 1100; ++i)
      ASSERT_EQ(accepts(schemaOf(schema), std::to_string(i)),
                low <= i && i <= high)
          << schema << " " << i;
  }
  check({R"({"type":"integer","exclusiveMinimum":99})",
         {"100", "1000", "987654321987654321"},
         {"99", "9", "-100", "0100"}});
  check({R"({"type":"integer","exclusiveMaximum":-9.5})",
         {"-10", "-11", "-1000"},
         {"-9", "0", "5", "-1"}});
  check({R"({"type":"integer","minimum":1.5,"exclusiveMaximum":4})",
         {"2", "3"},
         {"1", "4"}});
  check({R"({"type":"integer","minimum":-9223372036854775807})",
         {"-9223372036854775807", "9223372036854775808"},
         {"-9223372036854775808"}});
}

TEST(Schema, NumberBounds) {
  check({R"({"type":"number","minimum":1.25,"maximum":10.5})",
         {"1.25", "1.250", "1.3", "2", "9.999", "10.5", "10.500", "10.49"},
         {"1.24", "1.2", "1", "0", "10.51", "10.5001", "11", "100", "-2", "2e0",
          "02"}});
  check({R"({"type":"number","exclusiveMinimum":-0.5,"exclusiveMaximum":2})",
         {"-0.4", "-0.49", "0", "0.0", "1.999", "1"},
         {"-0.5", "-0.50", "-0.6", "-1", "2", "2.0", "2.1", "3"}});
  check({R"({"type":"number","exclusiveMinimum":0})",
         {"0.1", "0.0001", "5", "123456.5"},
         {"0", "0.0", "-1", "-0.1"}});
  check({R"({"type":"number","maximum":-3})",
         {"-3", "-3.5", "-100.25", "-3.0"},
         {"-2.9", "0", "3", "-2"}});
  check({R"({"type":"number","minimum":100})",
         {"100", "100.0", "1000.5", "99999999999999999999"},
         {"99.9", "10", "-100"}});
  check({R"({"type":"string","format":"password"})", {"\"a\""}, {"1"}});
  check({R"({"type":"integer","format":"int64"})", {"5"}, {"\"a\""}});
  check({R"({"minimum":5})", {"5", "\"a\"", "null"}, {"4.9"}});
  check({R"({"enum":[0.5,1.5,2],"minimum":1})", {"1.5", "2"}, {"0.5"}});
}

TEST(Schema, NumberBoundsAgreeWithArithmetic) {
  std::mt19937 random(5);
  auto bound = [&] { return (int(random() % 4001) - 2000) / 8.0; };
  for (int i = 0; i < 60; ++i) {
    double low = bound(), high = bound();
    if (low > high)
      std::swap(low, high);
    std::ostringstream schema;
    schema << R"({"type":"number","minimum":)" << low
           << R"(,"exclusiveMaximum":)" << high << "}";
    if (low == high)
      continue;
    Source source = schemaOf(schema.str());
    for (int j = 0; j < 100; ++j) {
      // Texts with more digits than the bounds, near them and far away.
      double number =
          (j % 2 ? low : high) + (int(random() % 2001) - 1000) / 1e3;
      char text[64];
      std::snprintf(text, sizeof(text), "%.*f", j % 5, number);
      if (std::string_view(text).starts_with("-0") && std::atof(text) == 0)
        continue;
      double read = std::atof(text);
      ASSERT_EQ(accepts(source, text), low <= read && read < high)
          << schema.str() << " " << text;
    }
  }
}

TEST(Schema, Objects) {
  const char *strict = R"({"type":"object","properties":{
    "a":{"type":"integer"},"b":{"type":"boolean"},"c":{"type":"null"}},
    "required":["a","c"],"additionalProperties":false})";
  check({strict,
         {R"({"a":1,"b":true,"c":null})", R"({"a": 1, "c": null})",
          "{\n  \"a\" : 1 ,\n  \"c\" : null\n}"},
         {R"({"a":1})", R"({"c":null,"a":1})", R"({"a":1,"c":null,"d":1})",
          R"({"a":1,,"c":null})", R"({"a":1,"c":null,})", R"({,"a":1})",
          R"({"a":true,"c":null})"}});
  check({R"({"type":"object","properties":{"a":{},"b":{}},
         "additionalProperties":false})",
         {"{}", "{ }", R"({"a":1})", R"({"b":[]})", R"({"a":1,"b":2})"},
         {R"({"b":1,"a":2})", R"({"a":1,"a":2})", R"({"a":1,})"}});
  check({R"({"type":"object","properties":{"ab":{"type":"integer"}},
         "additionalProperties":{"type":"string"}})",
         {R"({"ab":1})", R"({"a":"x"})", R"({"abc":"x"})", R"({"":"x"})",
          R"({"ab":1,"x":"y","y":"z"})", R"({"b\n":"x"})"},
         {R"({"ab":"x"})", R"({"a":1})", R"({"a\u0062":"x"})",
          R"({"\u0061b":"x"})", R"({"x":"y","ab":1})"}});
  check({R"({"type":"object","required":["x"]})",
         {R"({"x":1})", R"({"x":1,"y":2})"},
         {"{}", R"({"y":2})"}});
  check({R"({"type":"object","required":["x","y"],
         "properties":{"y":{"const":1}},"additionalProperties":{"const":2}})",
         {R"({"y":1,"x":2})", R"({"y":1,"x":2,"z":2})"},
         {R"({"y":1,"x":1})", R"({"x":2,"y":1})"}});
  check({R"({"type":"object","properties":{"a":false,"b":true}})",
         {R"({"b":1})", "{}"},
         {R"({"a":1})"}});
}

TEST(Schema, Arrays) {
  check({R"({"type":"array","items":{"type":"integer"}})",
         {"[]", "[ ]", "[1]", "[1, 2 ,3]"},
         {"[,]", "[1,]", "[1 2]", "[true]"}});
  check({R"({"type":"array","prefixItems":[{"const":1},{"const":2}],
         "items":{"const":3}})",
         {"[]", "[1]", "[1,2]", "[1,2,3,3]"},
         {"[2]", "[1,3]", "[1,2,2]"}});
  check({R"({"type":"array","items":[{"const":1}],"additionalItems":false})",
         {"[]", "[1]"},
         {"[2]", "[1,1]"}});
  check({R"({"type":"array","items":{"const":1},"minItems":2,"maxItems":3})",
         {"[1,1]", "[1,1,1]"},
         {"[]", "[1]", "[1,1,1,1]"}});
  check({R"({"type":"array","minItems":2})", {"[1,[]]", "[1,1,1]"}, {"[1]"}});
  check({R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}});
  check({R"({"type":"array","prefixItems":[{"const":1}],"items":false,
         "minItems":1})",
         {"[1]"},
         {"[]", "[1,1]"}});
}

TEST(Schema, Values) {
  check({R"({"enum":["a",1,null,true,{"k":[1,"x"]},1.5]})",
         {"\"a\"", "1", "null", "true", R"({"k":[1,"x"]})",
          R"({ "k" : [ 1 , "x" ] })", "1.5"},
         {"\"b\"", "1.0", "false", "{}", R"({"k":[1]})"}});
  check({R"({"type":"string","enum":["a",1]})", {"\"a\""}, {"1"}});
  check({R"({"const":"a\"\n\u00e9"})", {"\"a\\\"\\n\u00e9\""}, {"\"a\""}});
  check({R"({"enum":[1,2,3],"const":2})", {"2"}, {"1", "3"}});
  check({R"({"type":"integer","enum":[1,5,9],"minimum":2,"maximum":8})",
         {"5"},
         {"1", "9"}});
  check({R"({"const":1.0})", {"1"}, {"2"}});
}

TEST(Schema, Combinations) {
  check({R"({"anyOf":[{"type":"integer"},{"type":"string"}]})",
         {"1", "\"a\""},
         {"null"}});
  check({R"({"type":"integer","anyOf":[{"minimum":5},{"maximum":-5}]})",
         {"5", "-6"},
         {"0"}});
  check({R"({"allOf":[{"type":"object","properties":{"a":{"minimum":3}}},
         {"properties":{"a":{"type":"integer"},"b":{"type":"null"}},
          "required":["a"],"additionalProperties":false}]})",
         {R"({"a":3})", R"({"a":4,"b":null})"},
         {R"({"a":2})", R"({"b":null})", R"({"a":3,"c":1})"}});
  check({R"({"oneOf":[
         {"type":"object","properties":{"kind":{"const":"x"},"v":{}},
          "required":["kind"]},
         {"type":"object","properties":{"kind":{"enum":["y","z"]}},
          "required":["kind"]},{"type":"null"}]})",
         {R"({"kind":"x"})", R"({"kind":"z"})", "null"},
         {R"({"kind":"w"})", "{}"}});
  check({R"({"oneOf":[{"enum":[1,2]},{"const":3},{"type":"string"}]})",
         {"1", "3", "\"a\""},
         {"4"}});
}

TEST(Schema, References) {
  check({R"({"$ref":"#/$defs/a%20~1~0","$defs":{"a /~":{"type":"null"}}})",
         {"null"},
         {"1"}});
  const char *tree = R"({"$defs":{"node":{"type":"object","properties":{
    "value":{"type":"integer"},"children":{"type":"array",
    "items":{"$ref":"#/$defs/node"}}},"required":["value","children"],
    "additionalProperties":false}},"$ref":"#/$defs/node"})";
  check({tree,
         {R"({"value":1,"children":[]})",
          R"({"value":1,"children":[{"value":2,"children":[]}]})"},
         {R"({"value":1,"children":[{}]})", R"({"value":1,"children":[1]})"}});
  check({R"({"type":"object","properties":{"a":{"$ref":"#"}},
         "additionalProperties":false})",
         {"{}", R"({"a":{"a":{}}})"},
         {R"({"a":1})"}});
  check({R"({"$ref":"#/definitions/s","maxLength":1,
         "definitions":{"s":{"type":"string"}}})",
         {"\"a\""},
         {"\"ab\"", "1"}});
}

TEST(Schema, Formats) {
  const std::pair<const char *, Sample> samples[] = {
      {"date",
       {"",
        {"2024-02-29", "2000-02-29", "1999-12-31"},
        {"2023-02-29", "1900-02-29", "2023-04-31", "2023-13-01", "23-01-01"}}},
      {"time",
       {"",
        {"23:59:59Z", "00:00:00.5+01:30", "23:59:60Z"},
        {"24:00:00Z", "12:00:00", "12:60:00Z", "12:00:60Z"}}},
      {"date-time",
       {"",
        {"2024-02-29T12:00:00Z", "2024-01-01t00:00:00.123-08:00"},
        {"2024-02-30T12:00:00Z", "2024-01-01 00:00:00Z"}}},
      {"duration",
       {"",
        {"P1Y2M3DT4H5M6S", "P2W", "PT1H", "P1D"},
        {"P", "PT", "P1", "1D", "P1W2D"}}},
      {"uuid",
       {"",
        {"2EB8AA08-aa98-11ea-b4aa-73b441d16380"},
        {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa"}}},
      {"ipv4",
       {"",
        {"127.0.0.1", "255.255.255.255"},
        {"256.0.0.1", "1.2.3", "01.2.3.4"}}},
      {"ipv6",
       {"",
        {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4",
         "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2::1.2.3.4"},
        {"1", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
         "12345::", "::1.2.3"}}},
      {"email", {"", {"a.b+c@x-y.org"}, {"a", "@x", "a@", ".a@x", "a@-x"}}},
      {"hostname", {"", {"a", "x-y.org"}, {"", "-a", "a-", "a..b", "a_b"}}},
      {"uri",
       {"", {"http://x.org/a?b#c", "urn:a:b"}, {"x.org", "http:", ":a"}}},
  };
  for (const auto &[format, sample] : samples) {
    std::string schema =
        std::string(R"({"type":"string","format":")") + format + "\"}";
    for (const std::string &text : sample.in)
      EXPECT_TRUE(accepts(schemaOf(schema), "\"" + text + "\""))
          << format << " " << text;
    for (const std::string &text : sample.out)
      EXPECT_FALSE(accepts(schemaOf(schema), "\"" + text + "\""))
          << format << " " << text;
    EXPECT_NE(grammar::formatNames().find(format), std::string::npos);
  }
}

TEST(Schema, JsonObject) {
  Source source = {Source::Kind::JsonObject, "", {}};
  for (const char *text : {"{}", R"({"a":[1,{"b":null}],"a":2})"})
    EXPECT_TRUE(accepts(source, text)) << text;
  for (const char *text : {"[]", "1", "", "{", R"({"a"})"})
    EXPECT_FALSE(accepts(source, text)) << text;
}

TEST(Schema, WhitespaceIsBounded) {
  grammar::Limits limits;
  limits.whitespace = 2;
  auto matcher = matcherOf(schemaOf(R"({"type":"array"})"), limits);
  ASSERT_TRUE(matcher.tryAcceptBytes("[ \n"));
  EXPECT_FALSE(matcher.tryAcceptBytes(" "));
  EXPECT_TRUE(matcher.tryAcceptBytes("]"));
  limits.whitespace = 0;
  auto compact = matcherOf(schemaOf(R"({"type":"array"})"), limits);
  ASSERT_TRUE(compact.tryAcceptBytes("[1,2"));
  EXPECT_FALSE(compact.tryAcceptBytes(" "));
}

TEST(Schema, KeywordsAreSorted) {
  auto table = grammar::keywordTable();
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(grammar::findKeyword(table[i].name), &table[i]);
    if (i > 0)
      EXPECT_LT(table[i - 1].name, table[i].name);
  }
  EXPECT_EQ(grammar::findKeyword("uniqueItems"), nullptr);
  EXPECT_NE(grammar::findKeyword("x-order"), nullptr);
}

TEST(Schema, UnsupportedPartsAreNamed) {
  auto unsupported = StatusCode::Unimplemented;
  expectError(R"({"uniqueItems":true})", unsupported,
              "/uniqueItems: the keyword 'uniqueItems' is not supported");
  expectError(R"({"properties":{"a/b":{"items":{"not":{}}}}})", unsupported,
              "/properties/a~1b/items/not: the keyword 'not'");
  expectError(R"({"type":"string","format":"color"})", unsupported,
              "/format: expected one of date,");
  expectError(R"({"$ref":"http://x.org/y"})", unsupported, "/$ref: ");
  expectError(R"x({"type":"string","pattern":"(?=a)"})x", unsupported,
              "/pattern: line 1");
  expectError(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
              unsupported, "/oneOf: expected branches that no value");
  expectError(R"({"enum":["a"],"pattern":"a"})", unsupported, "beside enum");
}

TEST(Schema, MalformedSchemas) {
  auto invalid = StatusCode::InvalidArgument;
  expectError("", invalid, "JSON");
  expectError("{", invalid, "JSON");
  expectError("1", invalid, "expected an object or a Boolean");
  expectError(R"({"type":"text"})", invalid, "/type: ");
  expectError(R"({"type":"object","properties":[]})", invalid, "/properties: ");
  expectError(R"({"required":[1]})", invalid, "/required: ");
  expectError(R"({"minLength":-1})", invalid, "/minLength: ");
  expectError(R"({"minLength":1.5})", invalid, "/minLength: ");
  expectError(R"({"anyOf":[]})", invalid, "/anyOf: ");
  expectError(R"({"items":{"anyOf":[1]}})", invalid, "/items/anyOf/0: ");
  expectError(R"({"$ref":"#/nothing"})", invalid, "/$ref: ");
  expectError(R"({"type":"string","pattern":"("})", invalid, "/pattern: ");
  expectError("false", invalid, "expected rule '#' to match");
  expectError(R"({"type":"object","properties":{"a":{"$ref":"#"}},
              "required":["a"]})",
              invalid, "finite");
  expectError(R"({"enum":[]})", invalid, "expected rule");
}

TEST(Schema, LimitsHold) {
  auto exhausted = StatusCode::ResourceExhausted;
  expectError(R"({"type":"string","maxLength":1000000000})", exhausted,
              "/maxLength");
  expectError(R"({"type":"array","minItems":1000000000})", exhausted, "states");
  std::string branches = "{}";
  for (int i = 0; i < 300; ++i)
    branches += ",{}";
  expectError((R"({"anyOf":[)" + branches + "]}").c_str(), exhausted, "cases");
  // Each level of allOf doubles the cases.
  std::string doubled = R"({"allOf":[)";
  for (int i = 0; i < 12; ++i)
    doubled += R"({"anyOf":[{"minLength":1},{"maxLength":9}]},)";
  expectError((doubled + "{}]}").c_str(), exhausted, "cases");
  // Enums of two branches have 10^8 pairs of values.
  std::string values = "0";
  for (int i = 1; i < 10000; ++i)
    values += "," + std::to_string(i);
  std::string list = R"({"enum":[)" + values + "]}";
  expectError((R"({"oneOf":[)" + list + "," + list + "]}").c_str(), exhausted,
              "combine");
  expectError((R"({"allOf":[)" + list + "," + list + "]}").c_str(), exhausted,
              "/enum: expected fewer values");
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += R"({"items":)";
  EXPECT_FALSE(failureOf(schemaOf(deep + "{}" + std::string(100, '}'))).isOk());
}
