#!/usr/bin/env python3
"""Compiles a model with one wrong wiring at a time and checks that each is caught.

  check_wirings.py TOOLS WORK [MUTANT]...

TOOLS holds mtpc, mtp-run, ...; WORK is emptied. Prints which check caught each
mutant, for the named mutants or for all of wirings.py. Fails if a mutant passes all checks.
"""
import concurrent.futures, os, shutil, subprocess, sys, time

from checks import ROWS, Caught, Oracle, check, run
from forward import add_forward
from wirings import HYBRID_WIRINGS, WIRINGS, mutate

MODELS = {"dsv3-chain-mtp2": WIRINGS, "qwen35-mtp1": HYBRID_WIRINGS}
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


class Case:
    """A model, its oracle, and its results with the correct wiring."""

    def __init__(self, tools, work, name):
        self.tools, self.work = tools, os.path.join(work, name)
        os.makedirs(self.work)
        subprocess.run([sys.executable, ORACLE + "/tiny.py", name, "-o", self.work + "/hf"],
                       check=True)
        run(tools + "/mtp-import", self.work + "/hf", "-o", self.work + "/imported.mlir", "--k=3",
            "--max-context=128")
        with open(self.work + "/imported.mlir") as f:
            self.text = f.read()
        self.oracle = Oracle(f"{ORACLE}/expected/{name}.f32.json")
        # A failure here means that the unchanged model is wrong.
        self.right = check(tools, compile_model(tools, self.work, "right", self.text), self.oracle)

    def judge(self, index, edits):
        """Returns the check that caught the mutant, or None."""
        artifact = None
        try:
            artifact = compile_model(self.tools, self.work, f"mutant{index}",
                                     mutate(self.text, edits))
            check(self.tools, artifact, self.oracle, self.right)
        except Caught as caught:
            return str(caught)
        finally:
            if artifact:
                os.unlink(artifact)
        return None


def main():
    known = {name: (model, edits) for model, wirings in MODELS.items()
             for name, edits in wirings.items()}
    chosen = choose(sys.argv[3:], known)
    tools, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    models = dict.fromkeys(known[name][0] for name in chosen)
    cases = {model: Case(tools, work, model) for model in models}
    missed, start = 0, time.time()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = {name: pool.submit(cases[known[name][0]].judge, i, known[name][1])
                    for i, name in enumerate(chosen)}
        for name, verdict in verdicts.items():
            by = verdict.result()
            missed += by is None
            print(f"{name:56} {by or 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught, {time.time() - start:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
