//===- template_limits_test.cpp - Malicious chat templates ----------------===//

#include "test/Jinja/TemplateTestUtil.h"

using namespace mtp;
using namespace mtp::test;

namespace {

void expectExhausted(const std::string &source) {
  std::string text = render(source);
  EXPECT_EQ(text.substr(0, 17), "ResourceExhausted") << text.substr(0, 200);
}

std::string repeated(const std::string &text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += text;
  return out;
}

} // namespace

TEST(TemplateLimits, boundsSteps) {
  expectExhausted("{% for a in range(9999) %}{% for b in range(9999) %}"
                  "{% endfor %}{% endfor %}");
}

TEST(TemplateLimits, boundsRecursion) {
  expectExhausted("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  expectExhausted("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}"
                  "{% endmacro %}{{ m() }}");
}

TEST(TemplateLimits, boundsOutput) {
  expectExhausted("{% for a in range(99) %}{{ 'x' * 1000000 }}{% endfor %}");
}

TEST(TemplateLimits, boundsTextsAndLists) {
  expectExhausted("{{ 'x' * 9999999999 }}");
  expectExhausted("{{ [1] * 9999999999 }}");
  expectExhausted("{{ 'a'|center(9999999999) }}");
  expectExhausted("{{ '%9999999999d' % 1 }}");
  expectExhausted("{{ ('x' * 99999).replace('', 'y' * 99999) }}");
  expectExhausted("{{ range(99999999) }}");
}

TEST(TemplateLimits, boundsWhatValuesShare) {
  expectExhausted("{% set n = namespace(x=[1]) %}{% for i in range(99) %}"
                  "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}");
  expectExhausted("{% set n = namespace(x=[]) %}{% for i in range(999) %}"
                  "{% set n.x = [n.x] %}{% endfor %}");
}

TEST(TemplateLimits, endsNamespacesThatHoldThemselves) {
  EXPECT_EQ(render("{% set n = namespace() %}{% set n.n = n %}"
                   "{% set n.m = [n] %}{{ n.n.n is defined }}"),
            "True");
  expectExhausted("{% set n = namespace() %}{% set n.n = n %}{{ n }}");
}

TEST(TemplateLimits, boundsIntegers) {
  expectExhausted("{{ 9223372036854775807 + 1 }}");
  expectExhausted("{{ 2 ** 64 }}");
  EXPECT_EQ(render("{{ 99999999999999999999 }}").substr(0, 15),
            "InvalidArgument");
}

TEST(TemplateLimits, boundsNesting) {
  for (const std::string &source :
       {"{{ " + repeated("(", 9999) + "1" + repeated(")", 9999) + " }}",
        "{{ " + repeated("[", 9999) + repeated("]", 9999) + " }}",
        "{{ " + repeated("not ", 9999) + "1 }}",
        "{{ " + repeated("-", 9999) + "1 }}",
        "{{ 1" + repeated(" + 1", 99999) + " }}",
        "{{ x" + repeated(".x", 99999) + " }}",
        "{{ x" + repeated(" | list", 99999) + " }}",
        "{{ " + repeated("1 if x else ", 9999) + "1 }}",
        repeated("{% if x %}", 99999), repeated("{% for x in y %}", 9999),
        "{% set " + repeated("(", 9999) + "x" + repeated(")", 9999) +
            " = 1 %}"})
    EXPECT_NE(render(source).find("levels of nesting, got more"),
              std::string::npos)
        << source.substr(0, 20);
}

TEST(TemplateLimits, takesOnlyUtf8) {
  EXPECT_EQ(render("a\xFF"),
            "InvalidArgument: expected UTF-8, got another byte at offset 1");
  EXPECT_EQ(render("{{ '\\ud800' }}").substr(0, 15), "InvalidArgument");
}
