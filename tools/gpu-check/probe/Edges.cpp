//===- Edges.cpp - Cost of nodes, loops, launches, barriers ---------------===//

#include "Gpu.h"
#include "Parts.h"

using namespace mtp::gpu_check;

namespace {
struct Chain {
  const char *name;
  const char *kernel;
  Edge edge;
  size_t shared = 0;
};
} // namespace

/// Adds a chain of `length` nodes that count, or read the output of the
/// previous node.
static void addChain(Graph &graph, const Chain &chain, unsigned grid,
                     int length, CUdeviceptr a, CUdeviceptr b) {
  CUfunction f = machineKernel(chain.kernel);
  bool reads = std::string(chain.kernel) == "node_read";
  for (int i = 0; i < length; ++i)
    graph.kernel(f, grid, 256, chain.shared,
                 reads ? Arguments{i % 2 ? a : b, i % 2 ? b : a} : Arguments{a},
                 chain.edge);
}

static double timeChain(const Chain &chain, unsigned grid, int length,
                        CUdeviceptr a, CUdeviceptr b) {
  Graph graph;
  addChain(graph, chain, grid, length, a, b);
  return timeGraph(graph.instantiate(), 15);
}

static const Chain chains[] = {
    {"ordinary", "node_plain", Edge::Ordinary},
    {"ordinary, reads", "node_read", Edge::Ordinary},
    {"programmatic, released early", "node_early", Edge::Programmatic},
    {"programmatic, released at the end", "node_late", Edge::Programmatic},
    {"programmatic, reads", "node_read", Edge::Programmatic},
    {"programmatic, reads, 100 KB", "node_read", Edge::Programmatic,
     100 * 1024},
    {"ordinary, reads, 100 KB", "node_read", Edge::Ordinary, 100 * 1024},
};

static void nodes(CUdeviceptr a, CUdeviceptr b) {
  for (const Chain &chain : chains)
    for (unsigned grid : {1u, 132u, 264u, 528u}) {
      double few = timeChain(chain, grid, 100, a, b);
      double many = timeChain(chain, grid, 1000, a, b);
      std::string name = std::string("us per node, ") + chain.name + ", " +
                         std::to_string(grid) + " blocks";
      report(name, (many - few) / 900);
      if (grid == 132)
        report(name + ", launch and 100 nodes", few);
    }
}

/// Times two parallel nodes, then one: the cost of a fork and join.
static void forks(CUdeviceptr a, CUdeviceptr b) {
  CUfunction f = machineKernel("node_plain");
  double times[2];
  for (int which = 0; which < 2; ++which) {
    Graph graph;
    graph.kernel(f, 66, 256, 0, {a});
    for (int i = 0; i < (which ? 200 : 50); ++i) {
      CUgraphNode join = graph.last();
      CUgraphNode left = graph.kernelAfter({join}, f, 66, 256, {a});
      CUgraphNode right = graph.kernelAfter({join}, f, 66, 256, {b});
      graph.kernelAfter({left, right}, f, 66, 256, {a});
    }
    times[which] = timeGraph(graph.instantiate(), 15);
  }
  report("us per fork of 2 and join, 66 blocks each",
         (times[1] - times[0]) / 150);
}

static double timeLoop(const Chain &chain, unsigned grid, int length,
                       uint64_t turns, CUdeviceptr a, CUdeviceptr b,
                       CUresult &result) {
  CUdeviceptr counter = allocate(8);
  Graph graph;
  graph.clear(counter, 8);
  CUgraphConditionalHandle handle = graph.handle(1);
  Graph body(graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE));
  addChain(body, chain, grid, length, a, b);
  body.kernel(machineKernel("set_while"), 1, 1, 0, {handle, counter, turns},
              chain.edge == Edge::Programmatic ? Edge::Ordinary : chain.edge);
  CUgraphExec exec = nullptr;
  result = body.status() != CUDA_SUCCESS ? body.status()
                                         : graph.tryInstantiate(exec);
  if (result != CUDA_SUCCESS)
    return 0;
  synchronize();
  return timeGraph(exec, 5);
}

static void loops(CUdeviceptr a, CUdeviceptr b) {
  for (const Chain &chain : {chains[1], chains[4]})
    for (int length : {0, 10, 100}) {
      CUresult result;
      double few = timeLoop(chain, 132, length, 20, a, b, result);
      double many = timeLoop(chain, 132, length, 220, a, b, result);
      std::string name = std::string("us per WHILE iteration, ") + chain.name +
                         ", nodes besides its end " + std::to_string(length);
      if (result == CUDA_SUCCESS)
        report(name, (many - few) / 200);
      else
        report(name, std::string(nameOf(result)));
    }
}

static void launches(CUdeviceptr a, CUdeviceptr b) {
  for (int length : {1, 100, 1000}) {
    Graph graph;
    addChain(graph, chains[4], 132, length, a, b);
    CUgraphExec exec = graph.instantiate();
    std::string name = ", nodes " + std::to_string(length);
    std::vector<double> host, turns;
    for (int i = 0; i < 30; ++i) {
      double start = now();
      CHECK(cu.cuGraphLaunch(exec, machine.stream));
      host.push_back((now() - start) * 1e6);
      synchronize();
      turns.push_back((now() - start) * 1e6);
    }
    report("us of the host in cuGraphLaunch" + name, median(host));
    report("us from cuGraphLaunch to cuStreamSynchronize" + name,
           median(turns));
    const int many = 20;
    double one = timeGraph(exec, 15);
    double row = timeStream(
        [&] {
          for (int i = 0; i < many; ++i)
            CHECK(cu.cuGraphLaunch(exec, machine.stream));
        },
        10);
    report("us per launch, one after another" + name, row / many);
    report("us per launch, alone by events" + name, one);
  }
  CUfunction f = machineKernel("node_plain");
  double kernels = timeStream(
      [&] {
        for (int i = 0; i < 500; ++i)
          launch(f, 132, 256, 0, {a});
      },
      10);
  report("us per kernel launched into the stream", kernels / 500);
}

static void barriers() {
  CUdeviceptr words = allocate(2100 * 128);
  for (const char *kernel : {"barrier_counter", "barrier_flags"})
    for (unsigned threads : {256u, 512u}) {
      double times[2];
      for (uint64_t which : {0, 1})
        times[which] = timeStream(
            [&] {
              CHECK(cu.cuMemsetD8Async(words, 0, 2100 * 128, machine.stream));
              launch(machineKernel(kernel), 132, threads, 0,
                     {words, which ? 2000u : 200u});
            },
            9);
      report(std::string("us per barrier, ") + kernel + ", 132 blocks of " +
                 std::to_string(threads),
             (times[1] - times[0]) / 1800);
    }
}

void mtp::gpu_check::runEdges() {
  CUdeviceptr a = allocateFilled(1 << 22, 1), b = allocateFilled(1 << 22, 2);
  nodes(a, b);
  forks(a, b);
  launches(a, b);
  barriers();
  loops(a, b);
}
