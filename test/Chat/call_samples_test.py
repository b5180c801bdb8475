"""call_samples_test.py PROGRAM: checks the arguments of random calls, in all formats and by 40
schemas, with a validator that shares no code with the grammars."""
import collections, json, pathlib, subprocess, sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "Tools/Inputs/serve")]
from json_check import errors_of

SCHEMAS = TESTS / "Published/schemas.json"
# Formats whose arguments are no JSON object, and names that they cannot write.
TEXT = {"pythonic", "qwen3-coder", "glm-4.5", "minimax-m2", "seed-oss", "deepseek-v3.2"}


def main():
    schemas = json.loads(SCHEMAS.read_text())
    done = subprocess.run([sys.argv[1], SCHEMAS, "12"], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"expected calls only, got {done.stderr.decode()}")
    counts, refused = collections.Counter(), collections.defaultdict(set)
    for line in map(json.loads, done.stdout.rstrip(b"\n").split(b"\n")):
        one = schemas[line["schema"]]
        if "refused" in line:
            refused[one["name"]].add(line["format"])
            continue
        errors = errors_of(one["schema"], line["arguments"])
        if errors:
            sys.exit(f"{line['format']}, {one['name']}: {line['arguments']}: {errors}")
        counts[line["format"], one["name"]] += 1
    formats = {name for name, _ in counts}
    if len(formats) != 16:
        sys.exit(f"expected calls in 16 formats, got {formats}")
    for one in schemas:
        name, schema = one["name"], one["schema"]
        values = [value for value in schema.get("enum", [])]
        is_object = schema.get("type") == "object" or (
            "$ref" in schema or {"anyOf", "oneOf"} & schema.keys())
        expected = set() if is_object and not values else formats
        if name == "unicode names":
            expected = TEXT
        if refused[name] != expected:
            sys.exit(f"{name}: expected to be refused in {expected}, got {refused[name]}")
        for form in formats - expected:
            if not counts[form, name]:
                sys.exit(f"{name}: expected calls in {form}, got none")
    print(f"{sum(counts.values())} calls in {len(formats)} formats match their schemas")


main()
