#!/usr/bin/env python3
"""Compiles a model with one wiring at a time gone wrong and sees that each is
caught.

  check_wirings.py TOOLS WORK [MUTANT]...

TOOLS holds mtpc, mtp-run, ...; WORK is emptied. Prints which check caught each mutant,
of those that are named or of all of wirings.py; fails if one passes all of them.
"""
import concurrent.futures, os, shutil, subprocess, sys, time

from checks import ROWS, Caught, Oracle, check, run
from forward import add_forward
from wirings import WIRINGS, mutate

MODEL = "dsv3-chain-mtp2"
ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle")


def compile_model(tools, work, name, text):
    source = os.path.join(work, name + ".mlir")
    with open(source, "w") as f:
        f.write(add_forward(text, ROWS))
    artifact = os.path.join(work, name + ".bin")
    run(tools + "/mtpc", source, "-o", artifact)
    return artifact


def choose(names, known):
    """The mutants that the command line names, or all."""
    for name in names:
        if name not in known:
            sys.exit(f"expected a mutant of {', '.join(map(repr, known))}, got '{name}'")
    return names or list(known)


def main():
    chosen = choose(sys.argv[3:], WIRINGS)
    tools, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    subprocess.run([sys.executable, ORACLE + "/tiny.py", MODEL, "-o", work + "/hf"], check=True)
    run(tools + "/mtp-import", work + "/hf", "-o", work + "/imported.mlir", "--k=3",
        "--max-context=128")
    with open(work + "/imported.mlir") as f:
        text = f.read()
    oracle = Oracle(f"{ORACLE}/expected/{MODEL}.f32.json")
    # Caught here means that the model is wrong to begin with.
    right = check(tools, compile_model(tools, work, "right", text), oracle)

    def judge(index, name):
        artifact = None
        try:
            artifact = compile_model(tools, work, f"mutant{index}", mutate(text, WIRINGS[name]))
            check(tools, artifact, oracle, right)
        except Caught as caught:
            return str(caught)
        finally:
            if artifact:
                os.unlink(artifact)
        return None

    missed, start = 0, time.time()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = {name: pool.submit(judge, i, name) for i, name in enumerate(chosen)}
        for name, verdict in verdicts.items():
            by = verdict.result()
            missed += by is None
            print(f"{name:56} {by or 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught, {time.time() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
