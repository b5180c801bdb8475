"""demo.py DEMO WORK: runs a copy of tools/demo whose other programs print what they get."""
import os, pathlib, shutil, subprocess, sys

DEMO, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
SAYS = '#!/bin/sh\necho "$(basename "$0") $*"\n'
PROGRAMS = {"tools/setup": SAYS, "tools/build": SAYS,
            "models/published/fetch.py": "#!/bin/sh\necho model.gguf\n",
            "build/bin/mtp-run": SAYS + "cat\n", "build/bin/mtp-serve": SAYS + "cat\n"}
WEIGHTS = WORK / "models/drafters/smollm2/weights"
START = (f"model.gguf --drafter {WEIGHTS} --import --method hass --before lookup:3,5 -k 4 "
         f"--compile --draft-vocab '{WEIGHTS}/token_counts.txt,size=8192' -k auto")

shutil.rmtree(WORK, ignore_errors=True)
for name, text in PROGRAMS.items():
    path = WORK / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
shutil.copy(DEMO, WORK / "tools/demo")


def run(*arguments, closed=False):
    """Returns exit status and last lines of the demo, with standard input empty or closed."""
    command = ["sh", "-c", 'exec "$0" "$@" <&-'] if closed else []
    done = subprocess.run(
        [*command, WORK / "tools/demo", *arguments], stdin=subprocess.DEVNULL, timeout=60,
        env={**os.environ, "MTP_BUILD_DIR": str(WORK / "build")}, capture_output=True, text=True,
        check=False)
    lines = done.stdout.splitlines()
    tool = next((i for i, line in enumerate(lines) if line.startswith("mtp-")), 0)
    return done.returncode, lines[tool:], done.stderr


def check(got, expected):
    if got != expected:
        sys.exit(f"expected {expected!r}, got {got!r}")


CHAT = f"mtp-run {START} --chat -n 400 --temperature 0.7 --top-p 0.9 --stats"
TIPS = "Give me three tips for a good night's sleep."
for is_closed in (False, True):
    check(run("--chat", closed=is_closed), (0, [CHAT, TIPS], ""))
    check(run("--chat", "Who?", closed=is_closed), (0, [CHAT, "Who?"], ""))
    check(run("--serve", closed=is_closed), (0, [f"mtp-serve {START}"], ""))
