# Configuration of lit. Paths come from lit.site.cfg.py, which CMake writes.

import importlib.util
import os
import shutil
import sys

import lit.formats

config.name = "mtpc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "Inputs", "README.md", "consumer"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mtp_obj_root, "test")

# Our tools first, then FileCheck, not and split-file of our LLVM.
tool_dirs = [os.path.join(config.mtp_obj_root, "bin")]
config.environment["PATH"] = os.pathsep.join(
    tool_dirs + [config.llvm_tools_dir, os.environ.get("PATH", "")])

config.substitutions.append(("%src_root", config.mtp_src_root))
config.substitutions.append(("%obj_root", config.mtp_obj_root))
# Makes artifacts of the end-to-end tests by name, unless they exist already.
made = os.path.join(config.mtp_obj_root, "test", "E2E", "artifacts")
config.substitutions.append(("%{artifacts}", " ".join([
    sys.executable, "-B", os.path.join(config.mtp_src_root, "test", "E2E", "artifacts.py"),
    "--tools", tool_dirs[0], "--source", config.mtp_src_root, "--out", made, "--only"])))
config.substitutions.append(("%{made}", made))
# Tests share compiled kernels (test/CMakeLists.txt sets it for the others).
config.environment["MTPC_KERNEL_CACHE"] = os.path.join(config.test_exec_root, "kernels")

if config.build_compiler:
    config.available_features.add("compiler")
if config.build_server:
    config.available_features.add("server")
# Concurrent streams of the server's test, their duration, and idle connections.
for name, value in [("STREAMS", "20"), ("SECONDS", "5"), ("IDLE", "500")]:
    config.environment[f"MTP_SERVE_{name}"] = os.environ.get(f"MTP_SERVE_{name}", value)
# Number of trees to test: every method with every number of nodes, or some of them.
config.environment["MTP_TREES"] = os.environ.get("MTP_TREES", "some")

# The PTX assembler, if it is installed; a test that needs it says so.
cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
if os.path.exists(os.path.join(cuda, "bin", "ptxas")):
    config.available_features.add("ptxas")
elif os.environ.get("MTP_REQUIRE_CUDA"):
    lit_config.fatal(f"expected ptxas under {cuda} (MTP_REQUIRE_CUDA), found none")
else:
    lit_config.note(f"no ptxas under {cuda}: tests that need it are skipped")
config.substitutions.append(("%{cuda}", cuda))

# The driver without a GPU, if its headers were found when it was built.
cudasim = os.path.join(config.mtp_obj_root, "test", "GpuSim", "libmtp_cudasim.so")
if os.path.exists(cudasim):
    config.available_features.add("cudasim")
    if config.has_cublaslt:
        config.available_features.add("cublaslt")
config.substitutions.append(("%{cudasim}", cudasim))
config.substitutions.append(("%{python}", sys.executable))

# A browser, for the server's page.
if shutil.which("chromedriver") and shutil.which("chromium"):
    config.available_features.add("chromedriver")
elif os.environ.get("MTP_REQUIRE_BROWSER"):
    lit_config.fatal("expected chromium and chromedriver (MTP_REQUIRE_BROWSER), found none")
else:
    lit_config.note("no chromium and chromedriver: tests of the server's page are skipped")

# pip, which fetches published models.
if importlib.util.find_spec("pip"):
    config.available_features.add("pip")

# PyTorch, for comparisons in tools/gpu-check.
torch = os.environ.get("MTP_TORCH_PYTHON")
if torch or importlib.util.find_spec("torch"):
    config.available_features.add("torch")
config.substitutions.append(("%{torch}", torch or sys.executable))

# The openai package, whose client tests mtp-serve.
sys.path.append(os.path.dirname(__file__))
import packages

openai = os.environ.get("MTP_OPENAI_PYTHON")
if openai or packages.find("openai"):
    config.available_features.add("openai")
elif os.environ.get("MTP_REQUIRE_PACKAGES"):
    lit_config.fatal("expected the openai package (MTP_REQUIRE_PACKAGES), found none")
else:
    lit_config.note("no openai package: the test of its client is skipped")
# The anthropic package, likewise.
if packages.find("anthropic"):
    config.available_features.add("anthropic")
elif os.environ.get("MTP_REQUIRE_PACKAGES"):
    lit_config.fatal("expected the anthropic package (MTP_REQUIRE_PACKAGES), found none")
else:
    lit_config.note("no anthropic package: the test of its client is skipped")
config.substitutions.append(
    ("%{anthropic}", f"env PYTHONPATH={packages.folder()} {sys.executable}"))
config.substitutions.append(
    ("%{openai}", openai or f"env PYTHONPATH={packages.folder()} {sys.executable}"))

# Ray Serve, which takes a minute and 2 GB of memory: only in tools/check --long.
ray = os.environ.get("MTP_RAY_PYTHON")
if os.environ.get("MTP_SERVE_RAY") and (ray or importlib.util.find_spec("ray")):
    config.available_features.add("ray")
config.substitutions.append(("%{ray}", ray or sys.executable))
