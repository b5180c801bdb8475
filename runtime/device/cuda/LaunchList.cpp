//===- LaunchList.cpp - A program as launches, and as a graph -------------===//

#include "runtime/device/cuda/LaunchList.h"

#include <cstring>

using namespace mtp;

std::vector<void *> KernelLaunch::pointers() {
  std::vector<void *> all;
  for (uint64_t &argument : arguments)
    all.push_back(&argument);
  return all;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static CUgraphNodeParams nodeOf(const KernelLaunch &launch, void **arguments) {
  // The driver refuses parameters whose unused bytes are not zero.
  CUgraphNodeParams params;
  std::memset(&params, 0, sizeof(params));
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = launch.function;
  params.kernel.gridDimX = launch.blocks;
  params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = launch.threads;
  params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  params.kernel.sharedMemBytes = launch.sharedBytes;
  params.kernel.kernelParams = arguments;
  return params;
}

/// Adds a kernel behind `last`, or with nothing before it where that is null,
/// and makes it the last one.
Status CudaGraph::addKernel(CUgraph graph, KernelLaunch &launch,
                            CUgraphNode &last) {
  if (launch.blocks == 0)
    return okStatus();
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  std::vector<void *> arguments = launch.pointers();
  CUgraphNodeParams params = nodeOf(launch, arguments.data());
  CUgraphNode node = nullptr;
  const DriverApi &driver = context->driver();
  MTP_RETURN_IF_ERROR(driver.check(
      driver.cuGraphAddNode(&node, graph, last ? &last : nullptr,
                            last ? &edge : nullptr, last ? 1 : 0, &params),
      "cuGraphAddNode"));
  last = node;
  ++nodeCount;
  return okStatus();
}

/// Adds a loop that runs once at least. Returns its body.
Result<CUgraph> CudaGraph::addLoop(CUgraph graph, CUgraphNode before,
                                   uint64_t &condition) {
  const DriverApi &driver = context->driver();
  CUgraphConditionalHandle handle = 0;
  MTP_RETURN_IF_ERROR(driver.check(
      driver.cuGraphConditionalHandleCreate(&handle, graph, context->current(),
                                            /*defaultLaunchValue=*/1,
                                            CU_GRAPH_COND_ASSIGN_DEFAULT),
      "cuGraphConditionalHandleCreate"));
  CUgraphNodeParams params;
  std::memset(&params, 0, sizeof(params));
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  params.conditional.size = 1;
  params.conditional.ctx = context->current();
  CUgraphNode node = nullptr;
  MTP_RETURN_IF_ERROR(driver.check(
      driver.cuGraphAddNode(&node, graph, &before, nullptr, 1, &params),
      "cuGraphAddNode of a loop"));
  ++nodeCount;
  condition = handle;
  return params.conditional.phGraph_out[0];
}

Status CudaGraph::addParts(CUgraph graph, GraphParts &parts) {
  CUgraphNode last = nullptr;
  MTP_RETURN_IF_ERROR(addKernel(graph, parts.deliver, last));
  if (parts.nextRound) {
    MTP_ASSIGN_OR_RETURN(
        graph, addLoop(graph, last, parts.nextRound->arguments.back()));
    last = nullptr;
  }
  for (KernelLaunch &launch : parts.program)
    MTP_RETURN_IF_ERROR(addKernel(graph, launch, last));
  return parts.nextRound ? addKernel(graph, *parts.nextRound, last)
                         : okStatus();
}

Result<std::unique_ptr<CudaGraph>>
CudaGraph::build(std::shared_ptr<CudaContext> context, GraphParts parts) {
  const DriverApi &driver = context->driver();
  std::unique_ptr<CudaGraph> result(new CudaGraph(context));
  CUgraph graph = nullptr;
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuGraphCreate(&graph, 0), "cuGraphCreate"));
  Status status = result->addParts(graph, parts);
  if (status.isOk())
    status =
        driver.check(driver.cuGraphInstantiate(&result->instance, graph, 0),
                     "cuGraphInstantiate");
  // The instance has all that it needs.
  driver.cuGraphDestroy(graph);
  MTP_RETURN_IF_ERROR(status);
  return result;
}

CudaGraph::~CudaGraph() {
  if (instance && context->enter().isOk())
    context->driver().cuGraphExecDestroy(instance);
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

const CudaGraph *GraphCache::find(uint64_t key) {
  auto found = entries.find(key);
  if (found == entries.end())
    return nullptr;
  order.splice(order.begin(), order, found->second);
  return found->second->graph.get();
}

const CudaGraph *GraphCache::add(uint64_t key,
                                 std::unique_ptr<CudaGraph> graph) {
  nodeCount += graph->nodes();
  while (!order.empty() && nodeCount > mostNodes) {
    nodeCount -= order.back().graph->nodes();
    entries.erase(order.back().key);
    order.pop_back();
  }
  order.push_front({key, std::move(graph)});
  entries[key] = order.begin();
  return order.front().graph.get();
}
