"""Conversations, flags and pieces of the template language for templates.py."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Looks up the weather.\nFor a place \u2014 \"anywhere\" <now> & here's more",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Where"},
                "days": {"type": "integer", "description": "How many", "default": 3},
                "unit": {"type": "string", "enum": ["c", "f"], "nullable": True},
                "tags": {"type": "array", "items": {"type": "string"}},
                "opts": {"type": "object", "properties": {
                    "deep": {"type": "array", "items": {"type": "object", "properties": {
                        "x": {"type": "number"}}, "required": ["x"]}}}, "required": ["deep"]},
            },
            "required": ["place"],
        },
    },
}
TIME = {"type": "function",
        "function": {"name": "now", "description": "The time",
                     "parameters": {"type": "object", "properties": {}}}}
UNION = {"type": "function",
         "function": {"name": "pick", "description": "Picks", "parameters": {
             "type": "object", "properties": {
                 "v": {"type": ["string", "null"], "description": "one of"},
                 "w": {"oneOf": [{"type": "string"}, {"type": "number", "default": 1.5}],
                       "description": "either"},
                 "flag": {"type": "boolean", "default": False}},
             "required": ["v", "w"]},
             "return": {"type": "string", "description": "what was picked"}}}


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments, number=0):
    return {"id": f"call{number:05}", "type": "function",
            "function": {"name": name, "arguments": arguments}}


SYSTEM = message("system", "You are terse.\n\nVery.")
USER = message("user", "Hi there!  ")
ANSWER = message("assistant", "Hello.\n")
CALLS = message("assistant", "", tool_calls=[call("get_weather", {"place": "Zürich", "days": 2})])
TWO_CALLS = message("assistant", "Let me look.", tool_calls=[
    call("get_weather", {"place": "a\"b", "tags": ["x", 1, None, True, 1e20, 0.1],
                         "opts": {"deep": []}}, 1), call("now", {}, 2)])
RESULT = message("tool", "{\"temp\": 20}", tool_call_id="call00000", name="get_weather")


def conversations():
    """Returns pairs of a name and a conversation, which is the template's context."""
    thought = message("assistant", "So.", reasoning_content="I think.\nTwice.")
    inline = message("assistant", "<think>\nhm\n</think>\n\nDone.")
    parts = message("user", [{"type": "text", "text": "Look: "}, {"type": "text", "text": "é"}])
    picture = message("user", [{"type": "image"}, {"type": "text", "text": "What is it?"}])
    bare = message("assistant", "x", tool_calls=[{"name": "now", "arguments": {}}])
    text_call = message("assistant", None, tool_calls=[call("now", "{\"a\": 1}", 3)])
    no_content = {"role": "assistant", "tool_calls": [call("now", {"k": "v"}, 4)]}
    results = [message("tool", "20", tool_call_id="call00001"),
               message("tool", "noon", tool_call_id="call00002")]
    shapes = [
        ("user", [USER]),
        ("system", [SYSTEM, USER]),
        ("developer", [message("developer", "Obey."), USER]),
        ("answered", [USER, ANSWER]),
        ("turns", [SYSTEM, USER, ANSWER, message("user", "And?"), message("assistant", "So on.")]),
        ("long", [SYSTEM] + [USER, ANSWER] * 6 + [message("user", "Last")]),
        ("thought", [USER, thought]),
        ("thought-then", [USER, thought, message("user", "More")]),
        ("inline", [USER, inline, message("user", "More")]),
        ("inline-last", [SYSTEM, USER, inline]),
        ("two-thoughts", [USER, thought, USER, inline, USER]),
        ("called", [USER, CALLS]),
        ("result", [USER, CALLS, RESULT]),
        ("result-answer", [SYSTEM, USER, CALLS, RESULT, ANSWER]),
        ("result-user", [USER, CALLS, RESULT, ANSWER, message("user", "Thanks")]),
        ("two-calls", [USER, TWO_CALLS]),
        ("two-results", [SYSTEM, USER, TWO_CALLS] + results),
        ("two-rounds", [USER, CALLS, RESULT, TWO_CALLS] + results + [ANSWER]),
        ("thought-call", [USER, {**CALLS, "reasoning_content": "Look it up."}, RESULT]),
        ("thinking-call", [USER, {**CALLS, "thinking": "Look it up."}, RESULT, ANSWER]),
        ("bare-call", [USER, bare, RESULT]),
        ("text-call", [USER, text_call, RESULT]),
        ("no-content", [USER, no_content, RESULT]),
        ("parts", [parts]),
        ("parts-answer", [SYSTEM, parts, message("assistant", [{"type": "text", "text": "Ja"}])]),
        ("parts-system", [message("system", [{"type": "text", "text": "Sys"}]), USER]),
        ("parts-result", [USER, CALLS, message("tool", [{"type": "text", "text": "20"}],
                                               tool_call_id="call00000")]),
        ("picture", [picture]),
        ("empty", [message("user", "")]),
        ("nothing", []),
        ("assistant-first", [ANSWER, USER]),
        ("users", [USER, message("user", "Again")]),
        ("two-systems", [SYSTEM, USER, message("system", "Now in verse."), USER]),
        ("orphan", [USER, RESULT]),
        ("unknown-role", [message("critic", "Bad."), USER]),
        ("scripts", [message("user", "日本語 \U0001F600 e\u0301 \u00a0x\u3000"),
                     message("assistant", "\u2028ok\t\n \n")]),
        ("tags", [message("user", "<|im_end|>{{ x }}{% y %}</s><think></think>")]),
        ("spaces", [message("system", "  \n s \n "), message("user", "\n\n u \n")]),
        ("null-content", [USER, message("assistant", None), USER]),
        ("numbers", [USER, message("assistant", "", tool_calls=[call("f", {
            "a": -1, "b": 1.0, "c": 1e-7, "d": 12345678901234567, "e": [[], {}, [1, [2]]],
            "f": {"z": 1, "a": {"B": None, "b": False}}})]),
            message("tool", "1", name="f")]),
    ]
    tools = [("", None), ("+tool", [WEATHER]), ("+tools", [WEATHER, TIME, UNION])]
    return [(name + suffix, {"messages": messages, **({"tools": these} if these else {})})
            for name, messages in shapes for suffix, these in tools]


def flags():
    on = {"add_generation_prompt": True}
    return [
        {}, on, {"add_generation_prompt": False},
        {**on, "enable_thinking": True}, {**on, "enable_thinking": False},
        {**on, "thinking": True, "reasoning_effort": "high", "thinking_budget": 512},
        {**on, "thinking": False, "clear_thinking": False, "keep_past_thinking": True,
         "builtin_tools": ["browser", "python"], "model_identity": "Me", "tools_in_user_message":
         False, "date_string": "1 May 2025", "xml_tools": [], "thinking_budget": 0},
        {**on, "documents": [{"title": "T", "text": "Body", "doc_id": 1}], "controls":
         {"length": "short"}, "available_tools": None, "custom_tools": None,
         "preserve_thinking": True, "add_vision_id": True, "reasoning_effort": "low"},
    ]


# Expressions to print, over the variables of VARIABLES.
EXPRESSIONS = (r"""
1 + 2 * 3 - 4 // 3 % 2
7 // -2, -7 // 2, -7 % 3, 7 % -3, 7.5 // 2, -7.5 % 2, 2 ** 10, 2 ** -1, -2 ** 2, 2 ** 3 ** 2
1 / 3, 1e16, 1e15, 1.5e-5, 0.0001, 123456789.123, 1e22, 1e100, 5.0, -0.0, 1_000, 1_0.2_5, 00
true + 1, True == 1, 1 == 1.0, none == false, "1" == 1, [1, 2] == [1.0, 2], {} == {}
"a" ~ 1 ~ none ~ 2.5 ~ [1, "x"] ~ {"k": true}
"ab" * 3, 2 * [1, 2], (1,) + (2, 3), [1] + [2]
s[0], s[-1], s[1:3], s[::-1], s[::2], s[10:], s[-3:-1], u[1], u[1:], u|length, s[99] is defined
l[0], l[-1], l[1:], l[::-1], l[5] is defined, l[:2], l[-2:], l[100:], l[::-2]
d.a, d["a"], d.missing is defined, d["items"] is defined, d.items is callable, d.keys()|list
d.items()|list, d.values()|list, d.get("a"), d.get("q"), d.get("q", 5), d|length, "a" in d, "q" not in d
d, l, u, n, f, [s, u, none, true], {"k": [1, {"x": "it's"}]}, ("a",), (), [], {}
"it's", ["it's", 'say "x"', "both '\"", "tab\t nl\n \\ \x00 \x7f \u200b é \U0001F600 \xa0"]
s.upper(), s.lower(), s.title(), s.capitalize(), "ß ŉ ﬁ".upper(), "ΑΣ Σ".lower(), "İ".lower()
" x ".strip() ~ "|", "xxabxx".strip("x"), "xxabxx".lstrip("x"), "xxabxx".rstrip("x"), "\u3000a\u2003".strip()
"a,b,,c".split(","), " a  b ".split(), "a,b,c".split(",", 1), "a,b,c".rsplit(",", 1), " a b  c ".rsplit(), "".split(), "".split(",")
"a b c".split(maxsplit=1), "a-b-c".rsplit("-", 1)
"hello".replace("l", "L"), "hello".replace("l", "L", 1), "ab".replace("", "-"), "hello".find("l"), "hello".rfind("l"), "hello".find("z"), "héllo".find("l"), "hello".count("l"), "aaa".count("aa"), "abc".count("")
"hello".startswith("he"), "hello".startswith(("x", "he")), "hello".endswith("lo"), "hello".endswith(("x", "lo"))
"a\nb\r\nc\n".splitlines(), "a\nb\n".splitlines(true), "-".join(["a", "b"]), "-".join("abc")
"abc".removeprefix("a"), "abc".removesuffix("c")
"%s is %d and %5.2f|%-5s|%05d|%x|%r|%%" % ("a", 3, 2.5, "b", 42, 255, "q")
"%(a)s" % {"a": 1}, "%s" % "x", "%s" % [1], "%X|%i|%u" % (255, 7, 8), "%+d % d" % (1, 2), "%e" % 12345.678, "%g" % 0.00001, "%5s|%-6.2s|" % ("ab", "xyz")
"{} {1}".format(1, 2) is defined if false else "{0} {1} {0}".format("a", "b")
"{} {}".format("a", 1), "{x} {y} {z}".format(x=1, y=[2], z=d), "{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{:x}|{:+}".format("a", "b", "c", 42, 3.14159, 1234567, 255, 5), "{{}}{}".format("q"), "{:,.1f}|{:X}|{:g}".format(1234567.25, 255, 0.5), "{:*^9}|{:e}|{:%}".format("mid", 1234.5, 0.25)
l|join(", "), l|join, l|first, l|last, l|length, l|sum, l|max, l|min, l|sort, l|sort(reverse=true), l|reverse|list, l|unique|list, ""|first is defined, []|last is defined
words|sort, words|sort(case_sensitive=true), words|unique|list, words|map("upper")|list, words|map("length")|join("-"), words|select("equalto", "b")|list, words|reject("eq", "b")|list, words|max, words|min
people|map(attribute="name")|join(","), people|selectattr("age", "gt", 30)|map(attribute="name")|list, people|rejectattr("age", "lt", 35)|list|length, people|selectattr("nick")|list|length, people|selectattr("nick", "defined")|list|length, people|sort(attribute="age")|map(attribute="name")|list, people|sum(attribute="age"), people|map(attribute="nick", default="-")|list, people|sort(attribute="team,age")|map(attribute="name")|list
people|groupby("team")|map("first")|list, people|groupby("team")|map("last")|map("length")|list, people|max(attribute="age"), people|min(attribute="age")
d|dictsort, d|dictsort(reverse=true), d|dictsort(by="value"), {"B": 1, "a": 2}|dictsort, {"B": 1, "a": 2}|dictsort(true), d|items|list, d|list
l|batch(2)|list, l|batch(2, 0)|list, l|slice(2)|list, l|slice(2, 9)|list
s|upper, s|lower, s|title, s|capitalize, s|trim, s|replace("l", "1"), s|replace("l", "1", 1), s|length, s|list, s|reverse, s|string, 5|string, none|string, s|center(20) ~ "|"
"foo bar-baz (qux) [x] 3d é"|title, "foo bar baz"|wordcount, "foo bar baz qux"|truncate(9), "foo bar baz qux"|truncate(9, true), "foo bar"|truncate(5, false, "..", 0), "a\nb\n\nc"|indent, "a\nb"|indent(2, true), "a\n\nb"|indent("> ", blank=true)
"42"|int, "x"|int, "x"|int(7), "3.9"|int, 3.9|int, " 12 "|int, "0x1f"|int(0, 16), "1_0"|int, true|int, none|int, "2.5"|float, "x"|float, "1e3"|float, 3|float, "inf"|float, "nan"|float
2.5|round, 3.5|round, 2.675|round(2), 2.1|round(0, "ceil"), 2.9|round(0, "floor"), 42|round, 1234.5678|round(-2), -3|abs, -3.5|abs, 42.55|round(1, "floor")
missing|default("x"), ""|default("x"), ""|default("x", true), none|default("x"), none|default("x", true), missing|d, missing, missing|length, missing|list, missing|join(","), missing is defined, missing is none
"<a href='x'>&\"</a>"|e, "<b>"|safe, ("<b>"|safe) + "<c>", "<c>" + ("<b>"|e), ("<b>"|safe) ~ "<c>", "<b>"|safe|upper, "a b/é?"|urlencode, "%s-%s"|format("a", 1), "%(x)s"|format(x=2)
d|tojson, l|tojson, u|tojson, u|tojson(ensure_ascii=true), nested|tojson(indent=2), nested|tojson(indent=4, sort_keys=true), nested|tojson(separators=(",", ":")), "\u0001\x7f<>&'\"\\\n\t/\u2028"|tojson, [1.0, 1e20, none, true, 1e-7]|tojson, {}|tojson(indent=2), [[], {}]|tojson(indent=1), {1: 2, none: 3, true: 4, 1.5: 5}|tojson, (1, 2)|tojson, nested|tojson(indent="\t"), "\U0001F600"|tojson(true)
1 is number, 1.0 is number, true is number, "1" is number, 1 is integer, true is integer, 1.0 is float, true is boolean, none is none, "" is string, [] is sequence, "" is sequence, {} is sequence, () is sequence, 1 is sequence, {} is mapping, [] is mapping, [] is iterable, 1 is iterable, {} is iterable, "x" is iterable, missing is iterable, missing is sequence, range(3) is sequence, d.items() is sequence, (l|map("string")) is sequence, (l|map("string")) is iterable
3 is odd, 4 is even, 9 is divisibleby 3, 9 is divisibleby(2), 1 is eq 1, 1 is ne 2, 2 is gt 1, 1 is lt(2), 1 is in [1], "a" is in "abc", 1 is not in [2], none is sameas none, "a" is lower, "A" is upper, "upper" is filter, "odd" is test, 1 is true, true is true, false is false, 1 is sameas true
1 if true else 2, 1 if false else 2, 1 if false, (1 if false) is defined, "a" if l else "b", "x" if not l else "y" if d else "z"
1 < 2 < 3, 1 < 3 < 2, 1 == 1 != 2, "a" < "b", [1, 2] < [1, 3], (1,) < (1, 0), not 1 == 2, not true or true, 1 and 0, 0 or "x", "" or [] or none, 1 and 2 and 3
"a" in "abc", "z" not in "abc", 1 in [1, 2], 1 in {1: 2}, "a" in missing, [1] in [[1]], 3 in range(5), "k" in {"k": 1}.keys(), 1.0 in [1]
range(5)|list, range(2, 5)|list, range(10, 0, -3)|list, range(0)|list, range(5)[1], range(5)[-1], range(3), range(1, 9, 2), range(5)|length
dict(a=1, b=2), dict([["x", 1]]), dict({"a": 1}, b=3), namespace(a=1, b="x"), {"a": 1, "a": 2, 1: "x", 1.0: "y", true: "z"}
l.append is defined, d.pop is defined, d.update is callable, s.nope is defined, none.x is defined, 2.5 is float
"a" "b" 'c', 'q\'q', "x\ty", "\x41\u00e9\U0001f600", 'a\
b', "\q"
strftime_now("%Y-%m-%d %H:%M:%S %A %B %d %b %j %y %p %I %%"), strftime_now("%d %b %Y")
[1, 2, 3,], {"a": 1,}, (1, 2,), l.0, people.0.name, {"x": {"y": [1, {"z": 2}]}}.x.y[1].z
s|attr("upper") is defined, d|attr("a") is defined, [3, 1, 2]|sort|first, [[2, 1], [1, 2]]|sort, ["b", "A"]|sort
(l|map("string")|list)[0], l|select|list, l|select("odd")|list, l|reject("odd")|list, [0, 1, "", "a"]|select|list, [1, none, 2]|reject("none")|list, d|map("upper")|list
"é" < "z", "Z" < "a", "a" * 0, "a" * -1, [] * 3, "abc"[1:2][0], "ab\n"|trim|length, "ab"|list|last, 3 // 2.0, 3.0 == 3, 0.1 + 0.2, 1e308 * 10, -(1e308 * 10), 10 % 3.5, 2 ** 0.5, 7 / 2, 6 / 2
d is mapping and d.a == 1 or false, (d.a, d.b)[1], -l[0], +l[0], -2.5, --1, not not l, -1|abs, (-1)|abs, l|length > 2, l|length + 1, "x"|upper ~ "y"|upper, 5 - 2|abs
"a\u2028b".splitlines(), "x"|indent, ""|indent(first=true) ~ "|", "Hello World Foo"|lower|title|upper, 1.0|string, true|string|lower, "abc"|replace("b", 5), 123|replace("2", "x"), "a"|format, ["a"]|join("x"), "ab"|join("-"), [1, [2, "x"]]|join("|"), {"a": 1}|join, none|e, 5|e
""", {
    "s": "Hello", "u": "aé日\U0001F600", "n": None, "f": 1.5, "l": [3, 1, 2, 1],
    "d": {"a": 1, "b": 2, "C": 0}, "words": ["b", "A", "a", "c", "B"],
    "nested": {"z": [1, {"y": "ü"}], "a": {"b": None, "A": [True, 1.5, []]}},
    "people": [{"name": "Ann", "age": 31, "team": "x"},
               {"name": "Bob", "age": 28, "team": "Y", "nick": "B"},
               {"name": "Cid", "age": 45, "team": "X"}]})

# Templates of statements, separated by lines of `---`.
STATEMENTS = r"""
{% for x in l %}{{ loop.index }}/{{ loop.length }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.previtem }} {{ loop.nextitem }} {{ loop.depth }} {{ loop.cycle("a", "b") }} {{ loop.changed(x) }} {{ loop }}
{% endfor %}
---
{% for x in [] %}a{% else %}none{% endfor %}{% for x in missing %}a{% else %}none{% endfor %}
---
{% for x in l if x > 1 %}{{ x }}:{{ loop.length }}:{{ loop.last }} {% endfor %}{% for x in l if x > 9 %}{% else %}no{% endfor %}
---
{% set ns = namespace(n=0) %}{% for x in l if ns.n < 2 %}{% set ns.n = ns.n + 1 %}{{ x }}{% endfor %}|{{ ns.n }}{{ ns }}{{ ns.q is defined }}
---
{% for k, v in d.items() %}{{ k }}={{ v }},{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in "aé" %}{{ c }}.{% endfor %}
---
{% for x in range(10) %}{% if x == 2 %}{% continue %}{% elif x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}
---
{% for x in [[1, [2]], [3, []]] recursive %}<{{ loop.depth }}{{ x if x is number else loop(x) }}>{% endfor %}
---
{% macro m(a, b=2, c="x") %}[{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c=5) }}{{ m(b=7) }}{{ m(1, 2, 3, 4, z=5) }}{{ m.name }}{{ m }}
---
{% macro m(a, b=a) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1)|length }} {{ m(1) + "x" }}
---
{% macro wrap(x) %}<{{ x }}>{{ caller(1) }}{{ caller(2) }}</{{ x }}>{% endmacro %}{% call(n) wrap("b") %}in {{ n }}{{ s }}{% endcall %}
---
{% macro a() %}{{ caller is defined }}{% endmacro %}{{ a() }}
---
{% macro fact(n) %}{% if n > 1 %}{{ n * fact(n - 1)|int }}{% else %}1{% endif %}{% endmacro %}{{ fact(10) }}
---
{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}
---
{% set x %}a{{ 1 + 1 }}b{% endset %}{{ x|upper }}{% set y | upper | replace("A", "z") %}a{% endset %}{{ y }}
---
{% set a, b = 1, 2 %}{% set (c, d) = [3, 4] %}{{ a }}{{ b }}{{ c }}{{ d }}{% set t = 1, 2 %}{{ t }}
---
{% with a = 1, b = s %}{{ a }}{{ b }}{% set a = 5 %}{{ a }}{% endwith %}{{ a is defined }}
---
{% filter upper %}abc{{ s }}{% endfilter %}{% filter replace("a", "b") | title %}a cat{% endfilter %}
---
{% generation %}x{{ s }}{% set q = 1 %}{% endgeneration %}{{ q is defined }}{% for m in l %}{% generation %}{{ loop.index }}{{ m }}{% endgeneration %}{% endfor %}
---
{% block b %}in {{ s }}{% endblock %}{% block c %}x{% endblock c %}
---
  {% if true %}
    a
  {% endif %}
b
  {%- if true -%}
    c
  {%- endif %}

d  {{- "e" -}}  f
{%+ if true +%}
 g
{% endif %}
  {# comment #}
h {#- x -#} i
	{% if true %}	{% endif %}
{{ "\n" }}
j
---
{% raw %}{{ x }} {% if %}{% endraw %} {%- raw -%} {{ y }} {%- endraw -%} z
  {% raw %}
 q
  {% endraw %}
r
---
a
{% for x in l -%}
   {{ x }}
{%- endfor %}
b
{% for x in l %}
   {{ x }}
{% endfor %}
c
---
{{ "a }} b" }}{{ '{% x %}' }}{{ {"a": {"b": 1}}["a"]["b"] }}{{ {'a': {}} }}
---
{%- set x = 5 -%}
{{- x }}{#- c #} {{ x -}}
   y
---
{% if d.missing %}a{% elif d.a %}b{% else %}c{% endif %}{% if not l %}a{% elif missing %}b{% else %}c{% endif %}
---
{% print s, 1 %}{% if s is string and s is not none %}y{% endif %}{{ s is not number }}
---
{% set ns = namespace(items=[], seen={}) %}{% for x in l %}{% set ns.items = ns.items + [x] %}{% endfor %}{{ ns.items }}{{ ns.items|length }}
---
{% for m in people %}{% if not loop.first and loop.previtem.age > m.age %}<{% endif %}{{ m.name }}{% if loop.nextitem is defined and loop.nextitem.team == m.team %}={% endif %}{% endfor %}
---
{% macro m() %}{{ later }}{% endmacro %}{% set later = 3 %}{{ m() }}
---
{% for i in range(3) %}{% for j in range(3) %}{% if j == 1 %}{% continue %}{% endif %}{{ i }}{{ j }} {{ loop.index }}{% if i == 1 %}{% break %}{% endif %}{% endfor %}|{{ loop.index }}{% endfor %}
---
{{ raise_exception("no") }}
---
{{ missing.x }}
---
{{ missing + 1 }}
---
{{ 1 + "a" }}
---
{{ "a" < 1 }}
---
{{ none < 1 }}
---
{{ d.pop("a") }}
---
{{ l.append(1) }}
---
{{ 1 // 0 }}
---
{{ none|length }}
---
{% for x in 5 %}{% endfor %}
---
{{ nope() }}
---
{{ "a"|nope }}
---
{% if false %}{{ "a"|nope }}{% endif %}{{ "b"|nope if false else "c" }}
---
{% if true %}{{ "a" is nope }}{% endif %}
---
{% nope %}
---
{% if %}
---
{{ 1 + }}
---
{{ (1 }}
---
{% for x in l %}
---
{% endfor %}
---
{{ "a
---
{# a
---
{% break %}
---
{% include "x" %}
---
{% set ns._x = 1 %}
---
{% set ns = namespace() %}{% set ns._x = 1 %}
---
{% set s.x = 1 %}
---
{{ [1, "a"]|sort }}
---
{{ missing|tojson }}
---
{{ {"a": missing}|tojson }}
---
{{ [1]["a"] is defined }}{{ [1][1.0] is defined }}{{ {"a": 1}[[1]] is defined }}{{ "abc"[true] }}
---
{{ d.__class__ }}{{ d.__class__ is defined }}{{ s.__len__ is defined }}
---
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
---
{% macro m(a) %}{% endmacro %}{{ m(b=2) }}
---
{% macro m(a) %}{{ a }}{% endmacro %}{% call m(1) %}{% endcall %}
---
{% set x = missing %}{{ x is defined }}{{ x }}{{ [missing] }}{{ missing == missing }}{{ missing == none }}{{ missing != 1 }}
---
{% set a, b = [1] %}
---
{{ range(200000)|length }}
---
{{ "%d" % "a" }}
---
{{ "%s %s" % ("a",) }}
---
{{ "{} {}".format(1) }}
---
{{ {[1]: 2} }}
---
{{ "abc"|first }}{{ "abc"|last }}{{ range(3)|last }}{{ d|first }}{{ {"a": 1}.items()|first }}{{ (l|reverse)|first }}
---
{{ l|map("string")|length }}
---
{% set g = l|map("string") %}{{ g|list }}{{ g|list }}
---
{% for a in l %}{% for b in d %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}{{ loop is defined }}
---
{% set j = joiner() %}{% for a in l %}{{ j() }}{{ a }}{% endfor %}{{ j.used }}{{ j.sep }}
---
{% set j = joiner(" | ") %}[{{ j() }}][{{ j() }}]{% set k = joiner(sep=3) %}[{{ k() }}][{{ k() + 1 }}]
---
{{ joiner is callable }}{{ joiner() is callable }}{{ joiner() is iterable }}{{ joiner() == joiner() }}
---
{{ joiner(1, 2) }}
---
{{ joiner()(1) }}
---
{% set c = cycler("odd", "even", 3) %}{% for a in range(7) %}{{ c.next() }}-{{ c.current }}-{{ c.pos }} {% endfor %}{{ c.items }}
---
{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.reset() }}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c["current"] }}
---
{% macro row(c) %}{{ c.next() }}{% endmacro %}{% set c = cycler(*l) %}{{ row(c) }}{{ row(c) }}{{ c is callable }}
---
{{ cycler() }}
---
{{ cycler(a=1) }}
---
{% set c = cycler(1) %}{{ c.next(1) }}
---
{{ cycler(1).nothing is defined }}{{ cycler(cycler(1), 2).current.current }}
---
{% block title %}T{{ x }}{% endblock %}-{{ self.title() }}-{{ self["title"]() }}
---
{% set x = 1 %}{{ self.b() }}{% set x = 2 %}{% block b %}[{{ x }}]{% endblock %}{{ self.b() }}
---
{% for i in range(3) %}{% block b %}<{{ i }}>{% endblock %}{{ self.b() }}{% endfor %}
---
{% for i in range(2) %}{% block b scoped %}<{{ i }}>{% endblock %}{{ self.b() }}{% endfor %}
---
{% block a %}{% set y = 5 %}{{ y }}{% block c %}c{{ y }}{% endblock %}{% endblock %}{{ self.c() }}{{ self.a() }}{{ y is defined }}
---
{% macro m() %}{{ self.b() }}{% endmacro %}{% block b %}b{% endblock %}{{ m() }}
---
{% if false %}{% block b %}b{% endblock %}{% endif %}{{ self.b() }}{{ self.b.name }}{{ self.b is callable }}
---
{{ self }}{{ self.nothing is defined }}{{ self is defined }}{{ self.b.super is defined }}{% block b %}{% endblock %}
---
{{ self.nothing() }}
---
{% block b %}b{% endblock %}{{ self.b(1) }}
---
{% block b %}b{% endblock %}{% block b %}c{% endblock %}
---
{% block b %}{{ self.b() }}{% endblock %}
---
{% set self = 3 %}{{ self }}
---
{% block b %}{{ super() }}{% endblock %}
---
{{ super is defined }}
---
{{ "<p>a  <b>bold</b>\t &amp; &lt;i&gt; &eacute;&copy &notit &#65;&#x42;&#0;&#128;&#xD800;&#99999999; &unknown-; &</p>"|striptags }}
---
{{ "a <!-- x <b> --> c <!-- open <i>d</i>"|striptags }}|{{ "<!<!-- -->-- x -->y"|striptags }}|{{ "<!-->z-->"|striptags }}
---
{{ "1 < 2 > 3"|striptags }}|{{ "a < b"|striptags }}|{{ ""|striptags }}|{{ 5|striptags }}|{{ none|striptags }}
---
{{ ("<b>&lt;</b>"|safe)|striptags }}{{ missing|striptags }}{{ ["<b>", 1]|striptags }}
---
{{ "&#x26;amp; &AMP;&amp&ampx &alpha; &fj&hellip; &lang; &apos; &apos &Alphax &#1; &#xFDD0; &#; &#x; &#x110000 &\u00e9;"|striptags }}
---
{{ l|pprint }}{{ "a"|pprint }}{{ none|pprint }}{{ 1.5|pprint }}{{ missing|pprint }}{{ []|pprint }}{{ {}|pprint }}{{ (1,)|pprint }}
---
{{ {"b": 1, "a": [1, 2], "c": {"z": 1, "y": 2}}|pprint }}
---
{{ {"zeta": "word " * 20, "alpha": range(40)|list, "beta": {"k" * 30: "v" * 70, "j": ("x" * 40, "y" * 50)}}|pprint }}
---
{{ ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen\n" * 3)|pprint }}
---
{{ [("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \n" * 2), "x" * 100]|pprint }}
---
{{ [["a" * 30, "b" * 30, ["c" * 30, "d" * 30]], ("e" * 90,), {"f": {"g": {"h": "i" * 70}}}]|pprint }}
---
{{ {1: "a" * 60, "x": "b" * 30, none: 2, true: 3, 2.5: 4}|pprint }}
---
{{ {"it's": "a\"b'c" * 20, "\u00e9" * 20: "\u4e2d \u6587" * 30}|pprint }}
---
{{ ("   leading " * 12)|pprint }}{{ ("nobreak" * 20)|pprint }}{{ (" " * 90)|pprint }}
---
{{ (("a" * 100)|safe)|pprint }}{{ [("b " * 60)|safe]|pprint }}{{ {"a": 1}.items()|pprint }}{{ range(3)|pprint }}
---
{{ l|pprint(1) }}
---
{{ 1|filesizeformat }}, {{ 0|filesizeformat }}, {{ 999|filesizeformat }}, {{ 1000|filesizeformat }}, {{ 1500000|filesizeformat }}, {{ 1e30|filesizeformat }}, {{ "2048"|filesizeformat(true) }}, {{ 1048576|filesizeformat(binary=true) }}, {{ 12.7|filesizeformat }}
---
{{ "x"|filesizeformat }}
---
<a{{ {"class": "a b", "id": 5, "no": none, "u": missing, "t": "<&\"'>"}|xmlattr }}>{{ {"x": 1, "y": 2}|xmlattr(false) }}{{ {}|xmlattr }}{{ {"s": "<b>"|safe}|xmlattr }}
---
{{ {"a b": 1}|xmlattr }}
---
{{ {"a=": 1}|xmlattr }}
---
{{ {1: 1}|xmlattr }}
---
{{ loop }}{{ true and missing }}
"""


def language():
    """Returns triples of a name, a template and its variables."""
    lines, variables = EXPRESSIONS
    cases = []
    for number, line in enumerate(split_expressions(lines), 1):
        cases.append((f"expression {number}", "{{ " + line + " }}", variables))
    for number, text in enumerate(STATEMENTS.strip("\n").split("\n---\n"), 1):
        cases.append((f"statement {number}", text, variables))
    return cases


def split_expressions(lines):
    """Splits into one expression per line; a backslash at a line's end continues it."""
    joined = lines.strip("\n").replace("\\\n", "\0")
    return [line.replace("\0", "\\\n") for line in joined.split("\n")]
