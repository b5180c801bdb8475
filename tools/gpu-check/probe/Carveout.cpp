//===- Carveout.cpp - Kernels that want different shared memory -----------===//
//
// A processor's memory is split into shared memory and cache, and a processor
// must be idle to change the split. A kernel that wants another split than the
// previous one cannot begin while that one runs, and a programmatic edge gains
// nothing. So the product's kernels request one common split.
//
//===----------------------------------------------------------------------===//

#include "Gpu.h"
#include "Parts.h"

using namespace mtp::gpu_check;

namespace {
/// Sizes of a product of 33 MB, and its shared memory.
constexpr unsigned kBlocks = 264, kThreads = 512, kPairs = 60;
constexpr uint64_t kVectors = uint64_t(2) * 8 * kThreads;
constexpr size_t kShared = 37 << 10, kBytes = kBlocks * kVectors * 16;

struct Buffers {
  CUdeviceptr weights, a, b;
};
} // namespace

static void prefer(CUfunction f, int percent) {
  CHECK(cu.cuFuncSetAttribute(
      f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent));
}

/// Returns the microseconds of a product, with or without a small node after
/// it.
static double time(const Buffers &buffers, CUfunction product, CUfunction node,
                   Edge edge) {
  Graph graph;
  for (unsigned i = 0; i < kPairs; ++i) {
    graph.kernel(product, kBlocks, kThreads, kShared,
                 {buffers.weights + i * kBytes, kVectors, buffers.a, buffers.b},
                 edge);
    if (node)
      graph.kernel(node, 132, 128, 0, {buffers.b, buffers.a}, edge);
  }
  return timeGraph(graph.instantiate(), 20) / kPairs;
}

void mtp::gpu_check::runCarveout() {
  Buffers buffers = {allocateFilled(kPairs * kBytes, 1), allocate(1 << 18),
                     allocate(1 << 18)};
  CHECK(cu.cuMemsetD8Async(buffers.a, 0, 1 << 18, machine.stream));
  CHECK(cu.cuMemsetD8Async(buffers.b, 0, 1 << 18, machine.stream));
  synchronize();
  CUfunction product = function("machine.cubin", "weights_node", kShared),
             node = machineKernel("node_read");
  const struct {
    const char *name;
    int product, node;
  } divisions[] = {{"the driver's choice", -1, -1},
                   {"35 % for both", 35, 35},
                   {"50 % for both", 50, 50},
                   {"100 % and none", 100, 0}};
  for (const auto &division : divisions) {
    prefer(product, division.product);
    prefer(node, division.node);
    std::string name = std::string(division.name) + ", us of ";
    report(name + "a product",
           time(buffers, product, nullptr, Edge::Programmatic));
    report(name + "a product and a small node",
           time(buffers, product, node, Edge::Programmatic));
    report(name + "both, by full edges",
           time(buffers, product, node, Edge::Ordinary));
  }
}
