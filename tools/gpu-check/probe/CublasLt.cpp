//===- CublasLt.cpp - The library's best algorithm for skinny products ----===//

#include "Gpu.h"
#include "Lt.h"
#include "Parts.h"

#include <algorithm>
#include <functional>

using namespace mtp::gpu_check;

/// Returns a graph of the work that `enqueue` adds to the stream, or null if
/// the work is refused.
static CUgraphExec capture(const std::function<bool()> &enqueue) {
  Graph graph;
  CHECK(cu.cuStreamBeginCaptureToGraph(machine.stream, graph.get(), nullptr,
                                       nullptr, 0,
                                       CU_STREAM_CAPTURE_MODE_RELAXED));
  bool good = enqueue();
  CUgraph same = nullptr;
  CUresult result = cu.cuStreamEndCapture(machine.stream, &same);
  CUgraphExec exec = nullptr;
  if (!good || result != CUDA_SUCCESS ||
      graph.tryInstantiate(exec) != CUDA_SUCCESS)
    exec = nullptr;
  synchronize();
  CHECK(cu.cuGraphDestroy(graph.get()));
  return exec;
}

void mtp::gpu_check::runCublasLt() {
  if (!cu.cuStreamBeginCaptureToGraph) {
    report("skipped", std::string("the driver captures no streams"));
    return;
  }
  if (!loadLt()) {
    report("skipped", std::string("no cuBLASLt library was found"));
    return;
  }
  const size_t poolBytes = size_t(6) << 30;
  CUdeviceptr pool = allocateFilled(poolBytes, 3),
              x = allocateFilled(4 << 20, 4), y = allocate(size_t(32) << 20),
              workspace = allocate(LtProduct::kWorkspace);
  double start = now();
  for (const Entry &e : readManifest("shape"))
    for (int tokens : {1, 2, 4, 8, 16, 32}) {
      std::string name = e.text("name") + ", rows " + std::to_string(tokens);
      if (now() - start > 150) {
        report("stopped for time before", name);
        return;
      }
      int rows = int(e.number("rows")), inputs = int(e.number("inputs"));
      size_t bytes = size_t(rows) * inputs * 2;
      LtProduct product(rows, inputs, tokens);
      int length = int(std::clamp<size_t>((size_t(1) << 30) / bytes, 4, 40));
      double best = 0, first = 0;
      for (const auto &algorithm : product.algorithms(10)) {
        size_t next = 0;
        CUgraphExec exec = capture([&] {
          for (int i = 0; i < length; ++i) {
            next = next + bytes > poolBytes ? 0 : next;
            if (!product.run(algorithm, pool + next, x, y, workspace))
              return false;
            next += bytes;
          }
          return true;
        });
        if (!exec)
          continue;
        double us = timeGraph(exec, 5, 15) / length;
        CHECK(cu.cuGraphExecDestroy(exec));
        best = best == 0 ? us : std::min(best, us);
        first = first == 0 ? us : first;
      }
      report(name + " us, best", best);
      report(name + " us, first of the heuristic", first);
    }
}
