"""Adds a function to a model's text that returns the logits of the target and of
every module, row by row: `@forward(tokens of the target, of module 1, ...,
slots, positions)`. It applies the same functions as the round, with the same names of
weights and caches; only the shapes are static."""
import re

FUNCTION = re.compile(r"  func\.func private @(\w+)\(.*?\n  \}\n", re.S)
MODULE_USE = re.compile(r'mtp\.apply @module\(.*?\) (weights "\S+" cache @\w+\[\d+\])')
TARGET = re.compile(r"@target\(.*?-> \(tensor<\?x(\d+)xf32>, tensor<\?x(\d+)xf32>\)")


def static_functions(text, rows):
    names = "|".join(FUNCTION.findall(text))
    for match in FUNCTION.finditer(text):
        body = match[0].replace("tensor<?x", f"tensor<{rows}x")
        body = re.sub(rf"@({names})\(", r"@\1_rows(", body)
        # The claim is checked at its own place.
        yield re.sub(r" attributes \{mtp\.wiring.*?\} \{", " {", body)


def add_forward(text, rows):
    vocabulary, width = TARGET.search(text).groups()
    logits, hidden = f"tensor<{rows}x{vocabulary}xf32>", f"tensor<{rows}x{width}xf32>"
    ids = f"tensor<{rows}xi32>"
    uses = MODULE_USE.findall(text)
    lines = [f"    %rows = mtp.make_rows %slots, %positions : {ids}",
             f"    %l0, %h0 = mtp.apply @target_rows(%t0, %rows) : ({ids}, !mtp.rows)"
             f" -> ({logits}, {hidden})"]
    for d, use in enumerate(uses, 1):
        lines.append(f"    %l{d}, %h{d} = mtp.apply @module_rows(%t{d}, %h{d - 1}, %rows) {use} :"
                     f" ({ids}, {hidden}, !mtp.rows) -> ({logits}, {hidden})")
    depths = range(len(uses) + 1)
    types = ", ".join(logits for _ in depths)
    lines.append(f"    return {', '.join(f'%l{d}' for d in depths)} : {types}")
    arguments = ", ".join([f"%t{d}: {ids}" for d in depths]
                          + [f"%slots: {ids}", f"%positions: {ids}"])
    function = f"  func.func @forward({arguments}) -> ({types}) {{\n" + "\n".join(lines) + "\n  }\n"
    at = text.index("  mtp.round ")
    return text[:at] + "".join(static_functions(text, rows)) + function + text[at:]
