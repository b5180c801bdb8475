//===- GraphRun.cpp - Runs graphs -----------------------------------------===//
//
// Nodes run one after another, in an order that the edges allow and the seed
// picks. A kernel with a programmatic edge begins just before its predecessor
// does anything, which is as early as possible. It runs up to its
// griddepcontrol.wait, and performs its early reads then.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Graph.h"
#include "Stream.h"
#include "test/GpuSim/machine/Conditions.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cstring>

using namespace mtp::gpusim;

namespace {
struct Value {
  uint32_t value;
  bool isSet;
};

/// Values of the conditions while a graph runs.
std::map<uint64_t, Value> *values = nullptr;

class Run {
public:
  explicit Run(const Graph &graph)
      : graph(graph), touched(graph.nodes.size()), done(graph.nodes.size()),
        launches(graph.nodes.size()) {}

  /// Adds the bytes that the nodes touched to `sum`, unless it is null.
  CUresult run(Touched *sum);

private:
  bool isReady(size_t node) const;
  bool mayBeginEarly(size_t node) const;
  CUresult runNode(size_t node);
  CUresult runKernel(size_t node);
  CUresult runConditional(size_t node);
  CUresult begin(size_t node);
  CUresult beginSuccessors(size_t node);

  const Graph &graph;
  std::vector<Touched> touched;
  std::vector<bool> done;
  std::vector<std::unique_ptr<Launch>> launches;
};
} // namespace

static void registerConditions(const Graph &graph) {
  for (const auto &[handle, condition] : graph.conditions)
    (*values)[handle] = {condition.initial, condition.hasInitial};
  for (const std::unique_ptr<Node> &node : graph.nodes)
    for (const std::shared_ptr<Graph> &inner : node->graphs)
      registerConditions(*inner);
}

/// Test function that runs after each kernel.
static std::function<void(const KernelRun &)> kernelHook;

void mtp::gpusim::setKernelHook(std::function<void(const KernelRun &)> hook) {
  kernelHook = std::move(hook);
}

namespace {
/// A kernel that has run.
class DoneKernel final : public KernelRun {
public:
  DoneKernel(const KernelWork &work, const Touched &touched)
      : work(work), touched(touched) {}

  std::string_view name() const override { return work.function->kernel->name; }
  size_t arguments() const override {
    return work.function->kernel->paramCount;
  }
  uint64_t argument(size_t index) const override {
    uint64_t value = 0;
    std::memcpy(&value, work.parameters->pointers()[index], sizeof value);
    return value;
  }
  bool hasRead(uint64_t address, size_t bytes) const override {
    return touched.early.has(address, bytes) ||
           touched.reads.has(address, bytes);
  }
  bool hasWritten(uint64_t address, size_t bytes) const override {
    return touched.writes.has(address, bytes);
  }

private:
  const KernelWork &work;
  const Touched &touched;
};
} // namespace

/// Test function that runs between two turns of a loop, as the host does while
/// a device goes on.
static TurnHook turnHook;

void mtp::gpusim::setTurnHook(TurnHook hook) { turnHook = std::move(hook); }

bool mtp::gpusim::setCondition(uint64_t handle, uint32_t value) {
  if (!values || !values->count(handle))
    return false;
  (*values)[handle] = {value, true};
  return true;
}

CUresult mtp::gpusim::runGraph(const Graph &graph) {
  std::map<uint64_t, Value> current;
  values = &current;
  registerConditions(graph);
  simulator().graphRun = simulator().nextGraphRun();
  CUresult result = Run(graph).run(nullptr);
  simulator().graphRun = 0;
  values = nullptr;
  return result;
}

bool Run::isReady(size_t node) const {
  for (const Edge &edge : graph.nodes[node]->edges)
    if (!done[edge.from])
      return false;
  return !done[node];
}

/// Returns true if all predecessors of a node have ended or, over a
/// programmatic edge, have begun.
bool Run::mayBeginEarly(size_t node) const {
  for (const Edge &edge : graph.nodes[node]->edges)
    if (!done[edge.from] && !(edge.programmatic && launches[edge.from]))
      return false;
  return !launches[node] && !done[node];
}

CUresult Run::begin(size_t node) {
  const Node &what = *graph.nodes[node];
  bool programmatic = false;
  for (const Edge &edge : what.edges)
    programmatic |= edge.programmatic;
  launches[node] = std::make_unique<Launch>(
      *what.kernel.function->kernel, what.kernel.shape, *what.kernel.parameters,
      &touched[node], programmatic);
  if (programmatic && !launches[node]->runEarly())
    return loseDevice(launches[node]->fault());
  return CUDA_SUCCESS;
}

CUresult Run::beginSuccessors(size_t node) {
  for (size_t i = node + 1; i < graph.nodes.size(); ++i)
    for (const Edge &edge : graph.nodes[i]->edges)
      if (edge.from == node && edge.programmatic && mayBeginEarly(i))
        if (CUresult failed = begin(i))
          return failed;
  return CUDA_SUCCESS;
}

CUresult Run::runKernel(size_t node) {
  if (!launches[node])
    if (CUresult failed = begin(node))
      return failed;
  if (CUresult failed = beginSuccessors(node))
    return failed;
  if (!launches[node]->finish())
    return loseDevice(launches[node]->fault());
  launches[node].reset();
  if (kernelHook)
    kernelHook(DoneKernel(graph.nodes[node]->kernel, touched[node]));
  return CUDA_SUCCESS;
}

CUresult Run::runConditional(size_t node) {
  const Node &what = *graph.nodes[node];
  const Value &value = (*values)[what.condition];
  bool loops = what.conditional == CU_GRAPH_COND_TYPE_WHILE, isAgain = false;
  int64_t turns = 0;
  do {
    if (!value.isSet)
      return loseDevice(describe(graph, node) +
                        ": expected its condition to be set, by a default or "
                        "a kernel before it");
    size_t body = value.value ? 0 : 1;
    if (body >= what.graphs.size())
      return CUDA_SUCCESS;
    if (loops && turns++ == simulator().injected.turns)
      return kHangs;
    // Each turn has its own scratch memory. The first turn may get contents.
    if (isAgain)
      simulator().graphRun = simulator().nextGraphRun();
    isAgain = true;
    if (CUresult failed = Run(*what.graphs[body]).run(&touched[node]))
      return failed;
    if (loops && turnHook)
      turnHook();
  } while (loops);
  return CUDA_SUCCESS;
}

CUresult Run::runNode(size_t node) {
  const Node &what = *graph.nodes[node];
  if (what.type == kLibraryNode) {
    if (what.gemm.run(&touched[node]) == CUDA_SUCCESS)
      return CUDA_SUCCESS;
    return loseDevice(lastMessage());
  }
  switch (what.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return runKernel(node);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return what.copy.run(&touched[node]);
  case CU_GRAPH_NODE_TYPE_MEMSET:
    return what.fill.run(&touched[node]);
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return Run(*what.graphs[0]).run(&touched[node]);
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    return runConditional(node);
  default:
    // An empty node. Other types are refused when they are added.
    return CUDA_SUCCESS;
  }
}

CUresult Run::run(Touched *sum) {
  for (size_t ran = 0; ran < graph.nodes.size(); ++ran) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (isReady(i))
        ready.push_back(i);
    size_t node = ready[simulator().random(ready.size())];
    if (CUresult failed = runNode(node))
      return failed;
    done[node] = true;
  }
  std::string hazard = findHazard(graph, touched);
  if (!hazard.empty())
    return loseDevice(hazard);
  for (const Touched &one : touched)
    if (sum) {
      sum->reads.merge(one.early);
      sum->reads.merge(one.reads);
      sum->writes.merge(one.writes);
    }
  return CUDA_SUCCESS;
}
