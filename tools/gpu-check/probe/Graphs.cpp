//===- Graphs.cpp - Features and costs of graphs --------------------------===//

#include "Gpu.h"
#include "Lt.h"
#include "Parts.h"

using namespace mtp::gpu_check;

static uint64_t valueOf(CUdeviceptr at) { return download<uint64_t>(at, 1)[0]; }

static CUdeviceptr counter() {
  CUdeviceptr at = allocate(8);
  CHECK(cu.cuMemsetD8Async(at, 0, 8, machine.stream));
  return at;
}

static void runOnce(CUgraphExec exec) {
  CHECK(cu.cuGraphLaunch(exec, machine.stream));
  synchronize();
}

/// Runs a loop of 10 in a loop of 7, and an IF in the inner one.
static void nested() {
  CUdeviceptr outerCount = counter(), innerCount = counter(),
              ifCount = counter();
  Graph graph;
  CUgraphConditionalHandle outer = graph.handle(1);
  Graph outerBody(graph.conditional(outer, CU_GRAPH_COND_TYPE_WHILE));
  // A handle belongs to the graph that contains its node.
  CUgraphConditionalHandle inner = outerBody.handle(1);
  outerBody.kernel(machineKernel("set_value"), 1, 1, 0, {inner, 1});
  Graph innerBody(outerBody.conditional(inner, CU_GRAPH_COND_TYPE_WHILE));
  if (outerBody.status() != CUDA_SUCCESS) {
    report("WHILE in WHILE", std::string(nameOf(outerBody.status())));
    return;
  }
  CUgraphConditionalHandle branch = innerBody.handle(0);
  innerBody.kernel(machineKernel("set_value"), 1, 1, 0, {branch, 1});
  Graph ifBody(innerBody.conditional(branch, CU_GRAPH_COND_TYPE_IF));
  report("IF in WHILE in WHILE: add", std::string(nameOf(innerBody.status())));
  if (innerBody.status() != CUDA_SUCCESS)
    return;
  ifBody.kernel(machineKernel("add_value"), 1, 1, 0, {ifCount, 3});
  innerBody.kernel(machineKernel("set_inner"), 1, 1, 0,
                   {inner, innerCount, 10});
  outerBody.kernel(machineKernel("set_while"), 1, 1, 0, {outer, outerCount, 7});
  CUgraphExec exec = nullptr;
  CUresult result = graph.tryInstantiate(exec);
  report("IF in WHILE in WHILE: instantiate", std::string(nameOf(result)));
  if (result != CUDA_SUCCESS)
    return;
  runOnce(exec);
  report("outer iterations of 7", double(valueOf(outerCount)));
  report("inner iterations of 70", double(valueOf(innerCount)));
  report("sum in the IF, of 210", double(valueOf(ifCount)));
}

static CUgraphNodeParams addParams(void **arguments) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = machineKernel("add_value");
  params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ =
      1;
  params.kernel.kernelParams = arguments;
  return params;
}

/// Sets parameters of a node in a loop's body, and updates the whole graph.
static void updates() {
  CUdeviceptr turns = counter(), sum = counter();
  auto build = [&](Graph &graph, uint64_t value) {
    CUgraphConditionalHandle handle = graph.handle(1);
    Graph body(graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE));
    CUgraphNode node =
        body.kernel(machineKernel("add_value"), 1, 1, 0, {sum, value});
    body.kernel(machineKernel("set_while"), 1, 1, 0, {handle, turns, 5});
    return node;
  };
  Graph graph;
  CUgraphNode node = build(graph, 1);
  CUgraphExec exec = graph.instantiate();
  runOnce(exec);
  report("sum before, of 5", double(valueOf(sum)));

  uint64_t values[] = {sum, 100};
  void *arguments[] = {&values[0], &values[1]};
  CUgraphNodeParams params = addParams(arguments);
  CUDA_KERNEL_NODE_PARAMS old = {};
  old.func = params.kernel.func;
  old.gridDimX = old.gridDimY = old.gridDimZ = 1;
  old.blockDimX = old.blockDimY = old.blockDimZ = 1;
  old.kernelParams = arguments;
  CUresult result = cu.cuGraphExecKernelNodeSetParams(exec, node, &old);
  report("SetParams of a body's node", std::string(nameOf(result)));
  CHECK(cu.cuMemsetD8Async(turns, 0, 8, machine.stream));
  CHECK(cu.cuMemsetD8Async(sum, 0, 8, machine.stream));
  runOnce(exec);
  report("sum after SetParams, 500 if it took", double(valueOf(sum)));

  Graph other;
  build(other, 1000);
  CUgraphExecUpdateResultInfo info = {};
  result = cu.cuGraphExecUpdate(exec, other.get(), &info);
  report("ExecUpdate of a graph with WHILE", std::string(nameOf(result)));
  report("ExecUpdate's reason", double(info.result));
  CHECK(cu.cuMemsetD8Async(turns, 0, 8, machine.stream));
  CHECK(cu.cuMemsetD8Async(sum, 0, 8, machine.stream));
  runOnce(exec);
  report("sum after ExecUpdate, 5000 if it took", double(valueOf(sum)));
}

/// Measures the time of building, and the device memory of a graph.
static void building() {
  CUdeviceptr a = allocateFilled(1 << 22, 1), b = allocateFilled(1 << 22, 2);
  CUfunction f = machineKernel("node_read");
  for (int length : {100, 1000})
    for (bool loop : {false, true}) {
      std::string name =
          std::to_string(length) + (loop ? " nodes in a WHILE" : " nodes");
      size_t free[4], total;
      synchronize();
      CHECK(cu.cuMemGetInfo(&free[0], &total));
      double times[4] = {now()};
      const int copies = 8;
      std::vector<CUgraphExec> execs;
      double build = 0, instantiate = 0, first = 0;
      for (int copy = 0; copy < copies; ++copy) {
        times[0] = now();
        Graph graph;
        CUgraphConditionalHandle handle = loop ? graph.handle(1) : 0;
        Graph body(loop ? graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE)
                        : graph.get());
        for (int i = 0; i < length; ++i)
          body.kernel(f, 132, 256, 0, {i % 2 ? a : b, i % 2 ? b : a},
                      Edge::Programmatic);
        if (loop)
          body.kernel(machineKernel("set_value"), 1, 1, 0, {handle, 0});
        times[1] = now();
        CUgraphExec exec = graph.instantiate();
        times[2] = now();
        runOnce(exec);
        times[3] = now();
        build += (times[1] - times[0]) / copies;
        instantiate += (times[2] - times[1]) / copies;
        first += (times[3] - times[2]) / copies;
      }
      CHECK(cu.cuMemGetInfo(&free[1], &total));
      report(name + ": ms to build", build * 1e3);
      report(name + ": ms to instantiate and upload", instantiate * 1e3);
      report(name + ": ms of the first launch", first * 1e3);
      report(name + ": device KB held per graph",
             (double(free[0]) - double(free[1])) / 1024 / copies);
    }
}

/// Captures cuBLASLt into a loop's body, before any other run.
static void captured() {
  if (!loadLt()) {
    report("capture", std::string("skipped: no cuBLASLt library was found"));
    return;
  }
  CUdeviceptr w = allocateFilled(4096 * 4096 * 2, 1),
              x = allocateFilled(4096 * 64, 2), y = allocate(4096 * 64),
              workspace = allocate(LtProduct::kWorkspace);
  CUdeviceptr turns = counter();
  LtProduct product(4096, 4096, 32);
  auto algorithms = product.algorithms(1);
  if (algorithms.empty()) {
    report("capture", std::string("the heuristic offers nothing"));
    return;
  }
  Graph graph;
  CUgraphConditionalHandle handle = graph.handle(1);
  CUgraph body = graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE);
  CUresult result =
      cu.cuStreamBeginCaptureToGraph(machine.stream, body, nullptr, nullptr, 0,
                                     CU_STREAM_CAPTURE_MODE_RELAXED);
  report("capture into a body, no call before: begin",
         std::string(nameOf(result)));
  if (result != CUDA_SUCCESS)
    return;
  bool good = product.run(algorithms[0], w, x, y, workspace);
  report("capture: matmul", std::string(good ? "CUDA_SUCCESS" : "refused"));
  CUstreamCaptureStatus status;
  cuuint64_t id = 0;
  const CUgraphNode *leaves = nullptr;
  const CUgraphEdgeData *edges = nullptr;
  size_t count = 0;
  result = cu.cuStreamGetCaptureInfo(machine.stream, &status, &id, nullptr,
                                     &leaves, &edges, &count);
  report("capture: info", std::string(nameOf(result)));
  std::vector<CUgraphNode> last(leaves, leaves + count);
  CUgraph same = nullptr;
  result = cu.cuStreamEndCapture(machine.stream, &same);
  report("capture: end", std::string(nameOf(result)));
  if (result != CUDA_SUCCESS)
    return;
  size_t nodes = 0;
  CHECK(cu.cuGraphGetNodes(body, nullptr, &nodes));
  report("capture: nodes", double(nodes));
  Graph rest(body);
  rest.kernelAfter(last, machineKernel("set_while"), 1, 1, {handle, turns, 6});
  CUgraphExec exec = nullptr;
  result = graph.tryInstantiate(exec);
  report("capture: instantiate", std::string(nameOf(result)));
  if (result != CUDA_SUCCESS)
    return;
  runOnce(exec);
  std::vector<uint16_t> inLoop = download<uint16_t>(y, 4096 * 32);
  CHECK(cu.cuMemsetD8Async(y, 0, 4096 * 64, machine.stream));
  product.run(algorithms[0], w, x, y, workspace);
  synchronize();
  report("capture: iterations of 6", double(valueOf(turns)));
  report(
      "capture: same bits as a plain call",
      std::string(inLoop == download<uint16_t>(y, 4096 * 32) ? "yes" : "no"));
}

/// Runs a loop on the device that publishes to pinned memory, while the host
/// watches.
static void ring() {
  void *memory = nullptr;
  CHECK(cu.cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  auto *seen = static_cast<volatile uint64_t *>(memory);
  *seen = 0;
  CUdeviceptr turns = counter(), published = counter();
  const uint64_t count = 200;
  Graph graph;
  CUgraphConditionalHandle handle = graph.handle(1);
  Graph body(graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE));
  body.kernel(machineKernel("publish"), 1, 1, 0,
              {reinterpret_cast<uint64_t>(memory), published});
  body.kernel(machineKernel("set_while"), 1, 1, 0, {handle, turns, count});
  CUgraphExec exec = graph.instantiate();
  double start = now(), first = 0;
  CHECK(cu.cuGraphLaunch(exec, machine.stream));
  uint64_t last = 0, values = 0;
  while (last < count && now() - start < 5) {
    uint64_t value = *seen;
    if (value == last)
      continue;
    first = values++ ? first : now() - start;
    last = value;
  }
  report("published from a loop of 200, values that the host saw meanwhile",
         double(values));
  report("us from launch to the first of them", first * 1e6);
  report("us from launch to the last of them", (now() - start) * 1e6);
  synchronize();
}

void mtp::gpu_check::runGraphs() {
  ring();
  nested();
  updates();
  building();
  captured();
}
