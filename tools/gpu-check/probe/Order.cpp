//===- Order.cpp - Order of chains with programmatic edges ----------------===//

#include "Gpu.h"
#include "Parts.h"

using namespace mtp::gpu_check;

void mtp::gpu_check::runOrder() {
  const unsigned length = 600, back = 4, buffers = 5;
  const char *modes[] = {"all threads wait", "one thread of a block waits",
                         "every third node waits (control)"};
  for (unsigned grid : {132u, 264u, 528u})
    for (uint64_t mode : {0, 1, 2}) {
      CUdeviceptr data = allocate(size_t(buffers) * grid * 256 * 4);
      CUdeviceptr errors = allocate(64);
      Graph graph;
      CUfunction f = machineKernel("order");
      for (unsigned i = 0; i < length; ++i)
        graph.kernel(f, grid, 256, 0, {data, errors, i, buffers, back, mode},
                     Edge::Programmatic);
      CUgraphExec exec = graph.instantiate();
      CHECK(cu.cuMemsetD8Async(errors, 0, 64, machine.stream));
      for (int turn = 0; turn < 20; ++turn)
        CHECK(cu.cuGraphLaunch(exec, machine.stream));
      synchronize();
      std::vector<int> stale = download<int>(errors, back + 1);
      double all = 0;
      for (unsigned distance = 1; distance <= back; ++distance)
        all += stale[distance];
      std::string name =
          std::to_string(grid) + " blocks, " + modes[mode] + ": ";
      // The control shows that a stale read is detected.
      if (mode == 2)
        expect(name + "stale reads", all > 0, all);
      else
        expect(name + "no stale read", all == 0, all);
      report("reads of each, " + std::to_string(grid) + " blocks",
             20.0 * length * grid * 256 * 4);
    }
}
