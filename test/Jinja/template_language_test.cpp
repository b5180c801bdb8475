//===- template_language_test.cpp - Statements of chat templates ----------===//

#include "test/Jinja/TemplateTestUtil.h"

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

// These tests are pieces of test/oracle/template_cases.py. Jinja made the
// expected results.
TEST(TemplateLanguage, joins) {
  EXPECT_EQ(render("{% set j = joiner() %}{% for a in [3, 1, 2] %}{{ j() }}"
                   "{{ a }}{% endfor %}{{ j.used }}[{{ j.sep }}]"),
            "3, 1, 2True[, ]");
  EXPECT_EQ(render("{% set j = joiner('|') %}{{ j() }}{{ j() }}{{ j() }}"),
            "||");
  EXPECT_EQ(render("{{ joiner(1, 2) }}").substr(0, 15), "InvalidArgument");
}

TEST(TemplateLanguage, cycles) {
  EXPECT_EQ(render("{% set c = cycler('a', 'b', 3) %}{% for i in range(4) %}"
                   "{{ c.next() }}{{ c.current }}{{ c.pos }} {% endfor %}"
                   "{{ c.reset() }}{{ c.next() }}{{ c.items }}"),
            "ab1 b32 3a0 ab1 Nonea('a', 'b', 3)");
  EXPECT_EQ(render("{{ cycler() }}"),
            "InvalidArgument: expected at least one item for cycler(), got "
            "none at line 1, column 10");
}

TEST(TemplateLanguage, rendersBlocksAgain) {
  EXPECT_EQ(render("{% block t %}<{{ x }}>{% endblock %}{{ self.t() }}"
                   "{{ self['t']() }}{{ self.u is defined }}{{ self }}",
                   R"({"x": 7})"),
            "<7><7><7>False<TemplateReference None>");
  EXPECT_EQ(render("{% for i in [1] %}{% block b scoped %}{{ i }}{% endblock %}"
                   "{{ self.b() }}{% endfor %}"),
            "1");
  EXPECT_EQ(render("{% block b %}{% endblock %}{% block b %}{% endblock %}"),
            "InvalidArgument: expected blocks of different names, got 'b' "
            "again at line 1, column 37");
  EXPECT_EQ(render("{% block b %}{{ self.b() }}{% endblock %}").substr(0, 17),
            "ResourceExhausted");
}

TEST(TemplateLanguage, stripsTags) {
  EXPECT_EQ(render("{{ t|striptags }}",
                   R"({"t": "<p>a  <b>b</b>\t<!-- <i> -->&amp; &eacute;&notit )"
                   R"(&#65;&#x42;&#128; &unknown a < b"})"),
            "a b & \xC3\xA9\xC2\xACit AB\xE2\x82\xAC &unknown a < b");
}

TEST(TemplateLanguage, refusesMethodsByName) {
  for (const char *name : {"casefold", "center", "isdigit", "swapcase"})
    EXPECT_EQ(render("{{ 'a'." + std::string(name) + " is defined }}"),
              "Unimplemented: expected a supported attribute of a string, got "
              "'" +
                  std::string(name) + "' at line 1, column 7");
  for (const char *source : {"(5).real", "1.5.hex", "{}.fromkeys", "[].index",
                             "range(3).start", "{}.keys().mapping"})
    EXPECT_EQ(render("{{ " + std::string(source) + " }}").substr(0, 48),
              "Unimplemented: expected a supported attribute of");
}

TEST(TemplateLanguage, refusesPythonBeyondJinja) {
  const std::pair<const char *, const char *> kRefused[] = {
      {"'&Afr;'|striptags", "named character of HTML 4, got '&Afr;'"},
      {"'{x.y}'.format(x=1)", "field of the format, got 'x.y'"},
      {"'{!r}'.format(1)", "field of the format, got '!r'"},
      {"'{:#x}'.format(1)", "supported format, got '#x'"},
      {"'{:_}'.format(1)", "supported format, got '_'"},
      {"'%c' % 65", "supported conversion after '%', got 'c'"},
      {"'%#x' % 65", "supported conversion after '%', got '#'"},
      {"'a b'.rsplit(none, 1)", "separator for 'rsplit' with a limit"},
      {"'a'.find('a', 1)", "at most 1 arguments, got 2"},
      {"'\\101'", "supported escape in a string, got '\\1'"},
      {"'\\N{DASH}'", "supported escape in a string, got '\\N'"},
      {"0x1F", "decimal number, got '0x1'"}};
  for (const auto &[source, message] : kRefused) {
    std::string text = render("{{ " + std::string(source) + " }}");
    EXPECT_NE(text.find(message), text.npos) << text;
  }
}

TEST(TemplateLanguage, printsOverLines) {
  EXPECT_EQ(render("{{ {'b': 1, 'a': [1, 'x']}|pprint }}"),
            "{'a': [1, 'x'], 'b': 1}");
  EXPECT_EQ(render("{{ {'k': 'x' * 40, 'j': ['y' * 30, 'z' * 30]}|pprint }}"),
            "{'j': ['" + std::string(30, 'y') + "', '" + std::string(30, 'z') +
                "'],\n 'k': '" + std::string(40, 'x') + "'}");
  EXPECT_EQ(render("{{ ('ten chars ' * 9)|pprint }}"),
            "('ten chars ten chars ten chars ten chars ten chars ten chars ten "
            "chars ten '\n 'chars ten chars ')");
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
