"""retry.py ARTIFACT: tests the loss of a GPU after a number of kernels. The CPU answers requests
without output, and the server ends with the status on which its unit restarts it."""
import os, sys

from serving import Server, alone, check

ARTIFACT, BODY = sys.argv[1], {"prompt": "the one", "max_tokens": 40, "seed": 3, "temperature": 1,
                               "ignore_eos": True}


def record(profile):
    """Writes a profile of the GPU."""
    with Server(ARTIFACT, "--device=cuda", "--record", profile) as server:
        server.complete(**BODY)
        server.stop()


def run(*flags):
    """Returns the answer to a request, and the server's log."""
    os.environ["MTP_SIM_FAULT"] = "60"
    with Server(ARTIFACT, "--device=cuda", *flags) as server:
        del os.environ["MTP_SIM_FAULT"]
        status, _, answer = server.ask("POST", "/v1/completions", dict(BODY, n=2))
        return status, answer, server.wait(expected=1)


status, answer, log = run()
check(status, 500, "the status without another device")
check("GPU is lost" in answer["error"]["message"], True, f"the error ({answer})")
check("the GPU is lost" in log, True, f"the log ({log})")
status, answer, log = run("--retry-on-cpu")
check(status, 200, f"the status with another device ({answer})")
texts = [alone(ARTIFACT, **dict(BODY, seed=3 + i))["text"] for i in range(2)]
check([choice["text"] for choice in answer["choices"]], texts, "texts of the CPU")
check("the GPU is lost" in log, True, f"the log ({log})")
# The profile is of the GPU's plan only.
record("gpu.profile")
status, answer, log = run("--retry-on-cpu", "--profile", "gpu.profile")
check(status, 200, f"the status with another device and a profile ({answer})")
check([choice["text"] for choice in answer["choices"]], texts, "texts of the CPU with a profile")
check("the GPU is lost" in log, True, f"the log ({log})")
print("what was given nothing is retried")
