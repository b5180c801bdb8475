#!/usr/bin/env python3
"""Checks the comment of each function in the public headers.

usage: headers.py [ROOT]

The public headers are the installed ones, runtime/include/mtp. The comment of a
function is the comment above it and the comment in its line. Consecutive
declarations without a blank line share the comment above them. A comment must
cover each topic that the signature raises:

  - errors: for a function that returns a Status, a Result or an mtp_status, the
    codes, or that it fails for null alone. Each function has its own.
  - ownership: for a pointer, a reference or a view that is returned or passed,
    the owner or how long it is valid. A function that returns a view says it
    itself; otherwise the comment of its class or file may, as "Ownership:".
  - shapes: for arrays, the number and meaning of their elements; in the comment
    of a class or file "Shapes:".
  - units: for numbers; in the comment of a class or file "Units:".
  - threads: in the comment of a class or file, "Threads:".
"""

import collections
import pathlib
import re
import sys

# Words that a function's comment must contain for a topic, one of each list.
WORDS = {
    "errors": r"\b(InvalidArgument|NotFound|OutOfRange|ResourceExhausted|"
              r"DataLoss|FailedPrecondition|Unimplemented|Unavailable|Internal|"
              r"MTP_(INVALID_ARGUMENT|NOT_FOUND|OUT_OF_RANGE|RESOURCE_EXHAUSTED|"
              r"DATA_LOSS|FAILED_PRECONDITION|UNIMPLEMENTED|UNAVAILABLE|"
              r"INTERNAL))\b|[Ff]ails for null alone|[Tt]he failure",
    "ownership": r"\b([Vv]alid (until|while|as long|during)|lives? as long|"
                 r"outlives?|belongs? to|freed|frees|alive|copied|copies|"
                 r"[Nn]ever freed|only during the call|points into)\b",
    "shapes": r"\b(elements?|as many|number of|in order|ascending|all|each|every|long|"
              r"how many|ids|bytes|names)\b|`(count|capacity|length)`",
    "units": r"\b(tokens?|bytes|seconds|milliseconds|pages|processors|ids?|"
             r"how many|number of|index|dimensions|0 or 1|GPU|milliseconds|"
             r"1 (when|where)|count)\b|`\w*(id|index|count|capacity|length)`",
    "threads": r"\bthreads?\b",
}
NUMBER = (r"\b(u?int(8|16|32|64)_t|size_t|double|float|TokenId|SequenceId)\b"
          r"(?!\s*(const)?\s*[*&>])")
ARRAY = r"\bstd::(span|vector)\b|\b(int32_t|uint64_t|float|char|mtp_tensor) \*"
VIEW = (r"\bstd::(span|string_view)\b|^[^(]*[*&] ?[\w:]+\(|"
        r"\bconst (char|int32_t|float) \*\*")
HELD = r"[*&]|\bstd::(span|string_view)\b"

Function = collections.namedtuple("Function", "line text doc above")
Scope = collections.namedtuple("Scope", "doc public")


class Reader:
    """Reads a header as comments, statements and braces."""

    TOKEN = re.compile(r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<macro>^[ \t]*#(?:\\\n|[^\n])*)"
                       r"|(?P<access>^(?:public|private|protected):)"
                       r"|(?P<string>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
                       r"|(?P<break>\n[ \t]*\n)|(?P<other>.|\n)",
                       re.MULTILINE | re.DOTALL)

    def __init__(self, text):
        self.text, self.place = text, 0
        self.scopes = [Scope("", True)]
        self.statement, self.start = "", 0
        self.doc, self.group = "", []
        self.functions = []
        self.depth = 0
        self.in_head = True

    def read(self):
        while self.place < len(self.text):
            match = self.TOKEN.match(self.text, self.place)
            self.place = match.end()
            getattr(self, "on_" + match.lastgroup)(match[0], match.start())
        self.end_group()
        return self.functions

    def on_comment(self, text, start):
        words = re.sub(r"^\s*([/*|]+[<!]?|\|\*)+|\*+/$", " ", text, flags=re.MULTILINE)
        line = self.text[self.text.rfind("\n", 0, start) + 1:start]
        if self.group and line.strip() and not self.statement.strip():
            self.group[-1] = self.group[-1]._replace(
                doc=self.group[-1].doc + " " + words)
        elif not self.statement.strip():
            if self.group and not self.doc_goes_on(start):
                self.end_group()
            self.doc += " " + words

    def doc_goes_on(self, start):
        """Whether a comment precedes this comment."""
        before = self.text[:start].rstrip().rsplit("\n", 1)[-1].strip()
        return before.startswith("//")

    def on_macro(self, _text, _start):
        if self.in_head:  # a comment above the include guard is the file's
            self.scopes[0] = Scope(self.doc, True)
            self.in_head = False
        self.doc = ""

    def on_access(self, text, _start):
        self.end_group()
        self.scopes[-1] = self.scopes[-1]._replace(public=text == "public:")

    def on_string(self, text, _start):
        self.statement += text

    def on_break(self, _text, _start):
        if not self.statement.strip() and not self.in_head:
            self.end_group()
        self.statement += "\n" if self.statement else ""

    def end_group(self):
        """Gives declarations that stand together their joined comment."""
        doc = " ".join(f.doc for f in self.group)
        self.functions += [f._replace(doc=doc) for f in self.group]
        self.group, self.doc = [], ""

    def on_other(self, char, start):
        if not self.statement.strip():
            self.statement, self.start = "", start
        self.depth += (char in "([") - (char in ")]")
        if self.depth == 0 and char in ";{}":
            self.end_statement(char)
        else:
            self.statement += char

    def end_statement(self, char):
        text = " ".join(self.statement.split())
        self.statement = ""
        if char == "}":
            self.end_group()
            if len(self.scopes) > 1:
                self.scopes.pop()
            return
        scope = re.match(r"(template <.*> )?(class|struct)\b(?!.*\()|namespace|extern$|"
                         r'extern "C"|typedef struct', text)
        if char == "{" and (scope or "[[nodiscard]]" in text and "class" in text):
            self.scopes.append(Scope(self.doc, "class" not in text))
            self.doc = ""
            return
        if self.is_function(text):
            above = " ".join(s.doc for s in self.scopes)
            line = self.text.count("\n", 0, self.start) + 1
            self.group.append(Function(line, text, self.doc, above))
        elif char == ";" and not self.group:
            self.doc = ""
        if char == "{":
            self.skip_body()

    def is_function(self, text):
        head = re.sub(r"operator\S*?(?=\()", "operator", text).split("(")[0]
        return ("(" in text and "=" not in head and "~" not in head
                and all(scope.public for scope in self.scopes)
                and not re.match(r"(friend|typedef|using|static_assert)\b", text)
                and not re.search(r"= (default|delete)$", text))

    def skip_body(self):
        depth = 1
        while depth and self.place < len(self.text):
            match = self.TOKEN.match(self.text, self.place)
            self.place = match.end()
            depth += (match[0] == "{") - (match[0] == "}")


def signature(text):
    """Returns a declaration without default values and initialisers."""
    text = re.sub(r"\) : .*", ")", text)
    return re.sub(r" = (\{\}|[^,)]*)", "", text)


def topics(function):
    """Yields the topics of its comment: (topic, whether its own comment must have it)."""
    text = signature(function.text)
    if re.search(r"^(static )?(mtp_status|Status|Result<.*>) ", text):
        yield "errors", True
    if re.search(VIEW, text.split("operator")[0]):
        yield "ownership", re.search(
            r"^const char|\bconst (char|int32_t|float) \*\*|^(static )?Result<std::span",
            text) is not None
    elif re.search(HELD, text):
        yield "ownership", False
    if re.search(ARRAY, text):
        yield "shapes", False
    if re.search(NUMBER, text):
        yield "units", False
    yield "threads", False


def check(text):
    """Yields (line, message) of each function whose comment lacks a topic."""
    for function in Reader(text).read():
        name = re.search(r"(operator\S+?|[\w~]+) ?\(", signature(function.text))
        if not function.doc.strip():
            yield function.line, f"expected a comment of '{name[1]}'"
            continue
        doc = " ".join(function.doc.split())
        above = " ".join(function.above.split())
        for topic, itself in topics(function):
            said = re.search(WORDS[topic], doc)
            label = rf"\b{topic.capitalize()}:"
            if not said and (itself or not re.search(label, above)):
                yield function.line, f"expected the {topic} of '{name[1]}'"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                        else pathlib.Path(__file__).parents[2])
    found = [(path, place) for path in public_headers(root)
             for place in check(path.read_text(encoding="utf-8"))]
    for path, (line, message) in found:
        print(f"{path}:{line}: {message}")
    return 1 if found else 0


def public_headers(root):
    return sorted(root.glob("runtime/include/mtp/*.h"))


if __name__ == "__main__":
    sys.exit(main())
