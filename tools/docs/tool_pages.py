#!/usr/bin/env python3
"""Writes a tool's completions and its manual page from its --help.

  tool_pages.py TOOL TEXT VERSION OUTPUT_DIR

TOOL is the built program. TEXT has the parts that --help lacks, in roff, section by section
([NAME], [DESCRIPTION], ...); OPTIONS and EXAMPLES come from the help. The outputs are NAME.bash,
_NAME (zsh) and NAME.1. The build runs this after every link of a tool, so that no output is older
than the flags.
"""

import os
import re
import subprocess
import sys


class Option:
    """One flag with all its names."""

    def __init__(self, names, value, text):
        self.names, self.value, self.text = names, value, text
        # <int8|int4[,group=N]>: the words to choose from.
        alternatives = re.fullmatch(r"\[?=?<?([\w-]+(?:\|[\w-]+)+)[^|]*", value)
        self.choices = alternatives[1].split("|") if alternatives else []
        self.meanings = []

    @property
    def has_value(self):
        return bool(self.value)

    @property
    def is_file(self):
        """Returns whether the value may name a file or folder."""
        return not self.choices and re.search(
            r"file|folder|dir|path|tensor|\.(bin|mlir)", self.value, re.I)


def parse_llvm(lines):
    """Parses options as LLVM's command line library prints them."""
    options = []
    for line in lines:
        choice = re.match(r"\s+=(\S+)\s+-(?:\s+(.*))?$", line)
        if choice and options:
            if choice[1] != "<empty>":
                options[-1].choices.append(choice[1])
                options[-1].meanings.append((choice[1], choice[2]))
            continue
        match = re.match(r"\s+(--?[A-Za-z][\w-]*)(\[?=?[^\s].*?|\s<[^>]*>)?\s+- (.*)$",
                         line)
        if not match:
            continue
        name, value, text = match[1], (match[2] or "").strip(), match[3].strip()
        if options and options[-1].names == [name]:
            # The same flag with a value, which is therefore optional.
            options[-1].value = "[" + value + "]"
            continue
        options.append(Option([name], value, text))
    return options


def parse_cli11(lines):
    """Parses options as CLI11 prints them."""
    options = []
    for line in lines:
        match = re.match(r"  (-[^\s]+)(?: ([^\s].*?))?(?:\s{2,}(.*))?$", line)
        if match:
            names = [re.sub(r"\{.*\}$", "", n).lstrip("!")
                     for n in match[1].split(",")]
            value = re.sub(r"\s*\.\.\.$|REQUIRED", "", match[2] or "").strip()
            option = Option(names, value, match[3] or "")
            choices = re.search(r"\{([^}]*)\}", value)
            if choices:
                option.choices = choices[1].split(",")
                option.value = "VALUE"
            options.append(option)
        elif options and re.match(r"\s{10,}\S", line):
            options[-1].text = (options[-1].text + " " + line.strip()).strip()
        elif line and not line.startswith(" ") and options:
            if not re.match(r"[A-Z].*:$", line):
                break
    return options


def read_help(tool):
    result = subprocess.run([tool, "--help"], capture_output=True, text=True,
                            check=True)
    lines = result.stdout.splitlines()
    is_llvm = any(line.startswith("OVERVIEW:") for line in lines)
    options = parse_llvm(lines) if is_llvm else parse_cli11(lines)
    if not options:
        sys.exit(f"tool_pages: error: expected options in {tool} --help")
    return options, read_examples(lines)


def read_examples(lines):
    """Returns the example commands at the end of a help text."""
    if "Examples:" not in lines:
        return []
    rest = lines[lines.index("Examples:") + 1:]
    return [line.strip() for line in rest if line.startswith("  ")]


def bash(name, options):
    function = "_" + name.replace("-", "_")
    words = [n + ("=" if o.has_value and n.startswith("--") else "")
             for o in options for n in o.names]
    cases = "".join(
        f"    {'|'.join(o.names)}) COMPREPLY=($(compgen -W \"{' '.join(o.choices)}\""
        " -- \"$current\")); return ;;\n" for o in options if o.choices)
    files = "|".join(n for o in options if o.is_file for n in o.names)
    if files:
        cases += (f"    {files}) COMPREPLY=($(compgen -f -- \"$current\"));"
                  " return ;;\n")
    return f"""# Completion of {name}'s flags, written from its --help.
{function}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=
  COMPREPLY=()
  # Bash cuts --flag=value into three words.
  if [ "$current" = "=" ]; then
    current= previous=${{COMP_WORDS[COMP_CWORD-1]}}
  elif [ "$COMP_CWORD" -gt 1 ] && [ "${{COMP_WORDS[COMP_CWORD-1]}}" = "=" ]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  elif [ "$COMP_CWORD" -gt 0 ]; then
    previous=${{COMP_WORDS[COMP_CWORD-1]}}
  fi
  case $previous in
{cases}  esac
  case $current in
    -*)
      COMPREPLY=($(compgen -W "{' '.join(words)}" -- "$current"))
      case ${{COMPREPLY[0]:-}} in *=) compopt -o nospace ;; esac ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F {function} {name}
"""


def zsh(name, options):
    def quoted(text):
        return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")

    lines = []
    for option in options:
        action = ""
        if option.choices:
            action = f":value:({' '.join(option.choices)})"
        elif option.has_value:
            action = ":value:" + ("_files" if option.is_file else "")
        for spelling in option.names:
            equals = "=" if option.has_value and spelling.startswith("--") else ""
            lines.append(f"  '*{spelling}{equals}[{quoted(option.text)}]{action}'")
    body = " \\\n".join(lines)
    return f"""#compdef {name}
# Completion of {name}'s flags, written from its --help.
_arguments \\
{body} \\
  '*:file:_files'
"""


def roff(text):
    """Text as roff prints it as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def manual_options(options):
    lines = [".SH OPTIONS"]
    for option in options:
        value = option.value
        spellings = []
        for spelling in option.names:
            shown = f"\\fB{roff(spelling)}\\fR"
            if value:
                joint = "" if value[0] in "=[" else (
                    "=" if spelling.startswith("--") else " ")
                shown += joint + f"\\fI{roff(value)}\\fR"
            spellings.append(shown)
        lines += [".TP", ", ".join(spellings), roff(option.text) or "\\&"]
        for word, meaning in option.meanings:
            lines += [".br", f"\\fI{roff(word)}\\fR: {roff(meaning or word)}"]
    return "\n".join(lines)


def read_sections(path):
    """[(title, roff)] of a text in sections."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^\[([A-Z ]+)\]\n", file.read(), flags=re.M)
    if parts[0].strip() or len(parts) < 3:
        sys.exit(f"tool_pages: error: {path}: expected sections such as [NAME]")
    return [(parts[i], parts[i + 1].strip()) for i in range(1, len(parts), 2)]


def manual(name, options, examples, sections, version):
    pages = [f'.TH {name.upper()} 1 "" "mtpc {version}" "mtpc"']
    for title, text in sections:
        if title == "SEE ALSO" and examples:
            pages += [".SH EXAMPLES", ".nf", *map(roff, examples), ".fi"]
        pages.append(f".SH {title}\n{text}")
        if title == "DESCRIPTION":
            pages.append(manual_options(options))
    return "\n".join(pages) + "\n"


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: tool_pages.py TOOL TEXT VERSION OUTPUT_DIR")
    tool, text, version, folder = sys.argv[1:]
    name = os.path.basename(tool)
    options, examples = read_help(tool)
    os.makedirs(folder, exist_ok=True)
    for file, content in ((name + ".bash", bash(name, options)),
                          ("_" + name, zsh(name, options)),
                          (name + ".1", manual(name, options, examples,
                                               read_sections(text), version))):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as output:
            output.write(content)


if __name__ == "__main__":
    main()
