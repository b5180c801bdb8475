"""A validator of JSON Schema for tests, written from the specification. It knows the keywords that
the server supports, and fails for others. If Python has jsonschema, both must agree."""
import datetime, ipaddress, json, re, sys, uuid

try:
    import jsonschema
except ImportError:
    jsonschema = None

TYPES = {"null": type(None), "boolean": bool, "string": str, "object": dict, "array": list}
NEUTRAL = {"$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples"}


def matches_type(value, name):
    if name in ("integer", "number"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and (name == "number" or value == int(value))
    return isinstance(value, TYPES[name])


def same(a, b):
    """Equal as JSON: true is not 1."""
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def host(text):
    label = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    if not re.fullmatch(rf"{label}(\.{label})*", text):
        raise ValueError(text)


def mail(text):
    # Quotes may be around anything.
    if not re.fullmatch(r"(\".*\"|[^@\s]+)@[^@\s]+", text):
        raise ValueError(text)


def uri(text):
    if not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\s<>\"{}|\\^`]*", text):
        raise ValueError(text)


def time(text):
    match = re.fullmatch(r"(\d\d:\d\d:)(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", text)
    # A minute can have a leap second.
    datetime.datetime.strptime(match[1] + ("59" if match[2] == "60" else match[2]), "%H:%M:%S")


def date_time(text):
    datetime.date.fromisoformat(text[:10])
    if text[10] not in "Tt ":
        raise ValueError(text)
    time(text[11:])


FORMATS = {"date": datetime.date.fromisoformat, "time": time, "date-time": date_time,
           "ipv4": ipaddress.IPv4Address, "ipv6": ipaddress.IPv6Address, "uuid": uuid.UUID,
           "hostname": host, "email": mail, "uri": uri}


def has_format(text, name):
    try:
        FORMATS[name](text)
        return True
    except (ValueError, TypeError):
        return False


class Checker:
    def __init__(self, root):
        self.root = root

    def errors(self, schema, value, path=""):
        """Yields why a value does not match."""
        if isinstance(schema, bool):
            if not schema:
                yield f"{path}: no value may be here"
            return
        for key, given in schema.items():
            if key not in NEUTRAL and not self.matches(key, given, schema, value):
                yield f"{path}: {key} {json.dumps(given)} forbids {json.dumps(value)}"
        if isinstance(value, dict):
            for key, item in value.items():
                below = schema.get("properties", {}).get(key, schema.get("additionalProperties",
                                                                         True))
                yield from self.errors(below, item, f"{path}/{key}")
        if isinstance(value, list):
            first = schema.get("prefixItems", [])
            for i, item in enumerate(value):
                below = first[i] if i < len(first) else schema.get("items", True)
                yield from self.errors(below, item, f"{path}/{i}")

    def fits(self, schema, value):
        return not any(True for _ in self.errors(schema, value))

    def resolve(self, pointer):
        at = self.root
        for part in pointer.split("/")[1:]:
            at = at[part.replace("~1", "/").replace("~0", "~")]
        return at

    def matches(self, key, given, schema, value):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_text, is_list = isinstance(value, str), isinstance(value, list)
        rules = {
            "type": lambda: any(matches_type(value, name)
                                for name in ([given] if isinstance(given, str) else given)),
            "enum": lambda: any(same(value, one) for one in given),
            "const": lambda: same(value, given),
            "required": lambda: not isinstance(value, dict) or all(k in value for k in given),
            "minItems": lambda: not is_list or len(value) >= given,
            "maxItems": lambda: not is_list or len(value) <= given,
            "minLength": lambda: not is_text or len(value) >= given,
            "maxLength": lambda: not is_text or len(value) <= given,
            "pattern": lambda: not is_text or re.search(given, value),
            "format": lambda: not is_text or has_format(value, given),
            "minimum": lambda: not is_number or value >= given,
            "maximum": lambda: not is_number or value <= given,
            "exclusiveMinimum": lambda: not is_number or value > given,
            "exclusiveMaximum": lambda: not is_number or value < given,
            "anyOf": lambda: any(self.fits(one, value) for one in given),
            "oneOf": lambda: sum(self.fits(one, value) for one in given) == 1,
            "allOf": lambda: all(self.fits(one, value) for one in given),
            "$ref": lambda: self.fits(self.resolve(given), value),
        }
        # errors() checks what is below these.
        if key in ("properties", "additionalProperties", "items", "prefixItems"):
            return True
        return rules[key]()


def errors_of(schema, value):
    """Returns why a value does not match a schema."""
    errors = list(Checker(schema).errors(schema, value))
    if jsonschema:
        others = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
        if others and not errors:
            sys.exit(f"jsonschema refuses {value!r} by {schema}: {others[0].message}")
        formats_only = all(" format " in error or "format" in error for error in errors)
        if errors and not others and not formats_only:
            sys.exit(f"jsonschema accepts {value!r} by {schema}: {errors[0]}")
    return errors


def test():
    cases = [({"type": "integer"}, [1, 1.0, -2], [True, "1", 1.5, None]),
             ({"enum": [1, "a", None]}, [1, "a", None], [True, 2, "b"]),
             ({"properties": {"a": {"const": [1]}}, "required": ["a"]}, [{"a": [1]}, 3],
              [{}, {"a": [True]}]),
             ({"prefixItems": [{"type": "null"}], "items": {"minimum": 2}, "maxItems": 2},
              [[None, 2], []], [[1], [None, 1], [None, 2, 3]]),
             ({"pattern": "^a", "minLength": 2}, ["ab", 1], ["a", "ba"]),
             ({"additionalProperties": False, "properties": {"a": {}}}, [{"a": 1}], [{"b": 1}]),
             ({"oneOf": [{"type": "string"}, {"type": "number", "maximum": 3}]}, ["a", 1],
              [5, None]),
             ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"},
                                                    "type": "array"}}}, [[], [[]]], [[1]]),
             ({"allOf": [{"exclusiveMinimum": 1}, {"exclusiveMaximum": 2}]}, [1.5], [1, 2]),
             ({"format": "date"}, ["2026-11-29"], ["2026-13-01", "x"])]
    for schema, right, wrong in cases:
        for value in right:
            if errors_of(schema, value):
                sys.exit(f"{schema} must accept {value!r}: {errors_of(schema, value)}")
        for value in wrong:
            if not errors_of(schema, value):
                sys.exit(f"{schema} must refuse {value!r}")


if __name__ == "__main__":
    test()
    print("the validator is right")
