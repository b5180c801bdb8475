//===- template_language_test.cpp - Statements of chat templates ----------===//

#include "TemplateTestUtil.h"

using namespace mtp;
using namespace mtp::test;

TEST(TemplateLanguage, takesWhiteSpaceAsTransformersSetsIt) {
  EXPECT_EQ(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a\n  {%- if true -%}\n b\n  {%- endif %}\nc"), "abc");
  EXPECT_EQ(render("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(render("a {# x #}\nb {{- 1 -}}  c"), "a b1c");
}

TEST(TemplateLanguage, leavesRawText) {
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}{{ 1 }}"), "{{ x }}1");
  EXPECT_EQ(render("{% raw %}{% if %}"),
            "InvalidArgument: expected 'endraw' for the 'raw' that starts, got "
            "the end of the template at line 1, column 1");
}

TEST(TemplateLanguage, knowsWhereALoopIs) {
  EXPECT_EQ(render("{% for x in l %}{{ loop.index }}{{ loop.revindex0 }}"
                   "{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }} "
                   "{% endfor %}",
                   R"({"l": [7, 8]})"),
            "11False8 20True7 ");
  EXPECT_EQ(render("{% for x in [] %}x{% else %}none{% endfor %}"), "none");
}

TEST(TemplateLanguage, filtersLoopsAsTheyGo) {
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}"
                   "{% for x in [5, 6, 7] if ns.n < 2 %}"
                   "{% set ns.n = ns.n + 1 %}{{ x }}{% endfor %}"),
            "56");
}

TEST(TemplateLanguage, breaksAndContinues) {
  EXPECT_EQ(render("{% for x in range(9) %}{% if x == 1 %}{% continue %}"
                   "{% elif x == 4 %}{% break %}{% endif %}{{ x }}"
                   "{% endfor %}"),
            "023");
  EXPECT_EQ(render("{% break %}"),
            "InvalidArgument: expected 'break' in a loop, got it outside at "
            "line 1, column 4");
}

TEST(TemplateLanguage, recursesWhereALoopSaysSo) {
  EXPECT_EQ(render("{% for x in [1, [2]] recursive %}<{{ x if x is number "
                   "else loop(x) }}>{% endfor %}"),
            "<1><<2>>");
}

TEST(TemplateLanguage, scopesWhatIsSet) {
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [5] %}{% set x = i %}{{ x }}"
                   "{% endfor %}{{ x }}{% if true %}{% set x = 2 %}"
                   "{% endif %}{{ x }}"),
            "512");
  EXPECT_EQ(render("{% set x %}a{% endset %}{{ x }}{% with x = 2 %}{{ x }}"
                   "{% endwith %}{{ x }}"),
            "a2a");
}

TEST(TemplateLanguage, callsMacros) {
  EXPECT_EQ(render("{% macro m(a, b=a) %}{{ a }}{{ b }}{{ kwargs }}"
                   "{% endmacro %}{{ m(1) }}{{ m(1, b=2, c=3) }}"),
            "11{}12{'c': 3}");
  EXPECT_EQ(render("{% macro m() %}<{{ caller(1) }}>{% endmacro %}"
                   "{% call(n) m() %}{{ n }}{% endcall %}"),
            "<1>");
}

TEST(TemplateLanguage, marksWhatIsGenerated) {
  EXPECT_EQ(render("{% generation %}a{{ 1 }}{% endgeneration %}"), "a1");
}

TEST(TemplateLanguage, saysWhereAnErrorIs) {
  EXPECT_EQ(render("a\n{{ 1 }}\n  {{ 1 + }}"),
            "InvalidArgument: expected an expression, got '}}' at line 3, "
            "column 10");
  EXPECT_EQ(render("{{ 'é' }}{{ x.y.z }}", R"({"x": {}})"),
            "InvalidArgument: expected a value with an attribute 'z', got "
            "nothing, since a dict has no 'y' at line 1, column 16");
  EXPECT_EQ(render("{% include 'x' %}"),
            "InvalidArgument: expected a tag, got 'include' at line 1, "
            "column 4");
  EXPECT_EQ(render("{{ raise_exception('no ' ~ 1) }}"),
            "InvalidArgument: expected messages that the template takes, got: "
            "no 1 at line 1, column 19");
}

TEST(TemplateLanguage, takesNoUnknownFilterUnlessItNeverRuns) {
  EXPECT_EQ(render("{{ 1 | nope }}"),
            "InvalidArgument: expected a filter, got 'nope' at line 1, "
            "column 8");
  EXPECT_EQ(render("{% if false %}{{ 1 | nope }}{% endif %}"), "");
}

TEST(TemplateLanguage, tellsTheTime) {
  RenderOptions options;
  options.now = std::tm();
  options.now->tm_year = 126;
  options.now->tm_mday = 9;
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}", "{}", options),
            "09 Jan 2026");
}
