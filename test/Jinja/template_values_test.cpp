//===- template_values_test.cpp - Values of chat templates ----------------===//

#include "test/Jinja/TemplateTestUtil.h"

using namespace mtp;
using namespace mtp::test;

TEST(TemplateValues, printsAsPythonDoes) {
  EXPECT_EQ(render("{{ [none, true, 1.0, 1e16, 1e-5, 'it\\'s', {'a': (1,)}] "
                   "}}"),
            "[None, True, 1.0, 1e+16, 1e-05, \"it's\", {'a': (1,)}]");
  EXPECT_EQ(render("{{ x }}|{{ [x] }}"), "|[Undefined]");
}

TEST(TemplateValues, dividesAsPythonDoes) {
  EXPECT_EQ(render("{{ [-7 // 2, -7 % 3, 7 % -3, 6 / 2, 2 ** 3] }}"),
            "[-4, 2, -2, 3.0, 8]");
}

TEST(TemplateValues, goesByCodePoints) {
  EXPECT_EQ(render("{{ s|length }}{{ s[1] }}{{ s[::-1] }}{{ s[1:] }}",
                   R"({"s": "aé日"})"),
            "3é日éaé日");
}

TEST(TemplateValues, keepsTheOrderOfKeys) {
  EXPECT_EQ(render("{{ d }}{{ d|tojson }}{{ d|dictsort }}",
                   R"({"d": {"b": 1, "a": [1.5, null]}})"),
            "{'b': 1, 'a': [1.5, None]}{\"b\": 1, \"a\": [1.5, null]}"
            "[('a', [1.5, None]), ('b', 1)]");
}

TEST(TemplateValues, writesJsonAsTransformersDoes) {
  EXPECT_EQ(render("{{ d|tojson(indent=2) }}", R"({"d": {"a": [1, {}]}})"),
            "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
  EXPECT_EQ(render("{{ '<é>\\n'|tojson }}{{ 'é'|tojson(ensure_ascii=true) }}"),
            "\"<é>\\n\"\"\\u00e9\"");
}

TEST(TemplateValues, prefersAttributesBehindADot) {
  EXPECT_EQ(render("{{ d.items is callable }}{{ d['items'] }}{{ d.a }}",
                   R"({"d": {"items": 1, "a": 2}})"),
            "True12");
}

TEST(TemplateValues, keepsValuesFromChanging) {
  EXPECT_EQ(render("{{ l.append(1) }}", R"({"l": []})"),
            "InvalidArgument: expected a function to call, got the attribute "
            "'append' of a list, which templates may not use at line 1, "
            "column 12");
}

TEST(TemplateValues, printsIntegersOfAnyLength) {
  for (std::string number :
       {"9223372036854775807", "9223372036854775808", "18446744073709551616",
        "-9223372036854775809", "1000000000000000019884624838656"}) {
    std::string json = "{\"x\": [1.5, " + number + ", 1e20, \"" + number +
                       "\", " + number + "]}";
    EXPECT_EQ(render("{{ x[1] }} {{ x[2] }} {{ x|tojson }}", json),
              number + " 1e+20 [1.5, " + number + ", 1e+20, \"" + number +
                  "\", " + number + "]");
    EXPECT_EQ(render("{{ x[1] is integer }}{{ x[2] is integer }}"
                     "{{ x[1] is number }}{{ x[1] is float }}",
                     json),
              "TrueFalseTrueFalse");
  }
  EXPECT_EQ(render("{{ x > 5 and x == x and x < 1e31 }}",
                   R"({"x": 1000000000000000019884624838656})"),
            "True");
  EXPECT_EQ(render("{{ x }}", R"({"x": NaN})").substr(0, 36),
            "InvalidArgument: expected valid JSON");
}
