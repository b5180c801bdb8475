//===- Load.cpp - Images that the driver loads ----------------------------===//

#include "Gpu.h"
#include "Parts.h"

#include <algorithm>

using namespace mtp::gpu_check;

/// Loads an image, and runs a loop of 1000 iterations with its kernel.
static void tryLoad(const std::string &what, std::vector<char> image,
                    const std::string &kernel) {
  CUmodule module = nullptr;
  char log[512] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  double start = now();
  CUresult result =
      cu.cuModuleLoadDataEx(&module, image.data(), 2, options, values);
  report(what + ": load", std::string(nameOf(result)));
  report(what + ": load ms", (now() - start) * 1e3);
  if (result != CUDA_SUCCESS) {
    std::string text(log);
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::replace(text.begin(), text.end(), '"', '\'');
    report(what + ": log", text);
    return;
  }
  CUfunction f = nullptr;
  CHECK(cu.cuModuleGetFunction(&f, module, kernel.c_str()));
  CUdeviceptr counter = allocate(8);
  CHECK(cu.cuMemsetD8Async(counter, 0, 8, machine.stream));
  Graph graph;
  CUgraphConditionalHandle handle = graph.handle(1);
  Graph body(graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE));
  body.kernel(f, 1, 32, 0, {handle, counter, 1000});
  CUgraphExec exec = nullptr;
  result = graph.tryInstantiate(exec);
  report(what + ": graph with WHILE", std::string(nameOf(result)));
  if (result != CUDA_SUCCESS)
    return;
  CHECK(cu.cuGraphLaunch(exec, machine.stream));
  synchronize();
  double turns = double(download<uint64_t>(counter, 1)[0]);
  expect(what + ": 1000 iterations", turns == 1000, turns);
}

static std::vector<char> withVersion(std::vector<char> ptx,
                                     const std::string &version) {
  std::string text(ptx.data());
  size_t at = text.find(".version ");
  text.replace(at, text.find('\n', at) - at, ".version " + version);
  ptx.assign(text.begin(), text.end());
  ptx.push_back(0);
  return ptx;
}

void mtp::gpu_check::runLoad() {
  tryLoad("own cubin", readFile("loop_end.cubin"), "loop_end");
  tryLoad("own PTX 9.0", readFile("loop_end.ptx"), "loop_end");
  tryLoad("nvcc cubin", readFile("machine.cubin"), "set_while");
  for (const char *version : {"8.0", "8.5", "8.8", "9.1"})
    tryLoad(std::string("own PTX relabelled ") + version,
            withVersion(readFile("loop_end.ptx"), version), "loop_end");
}
