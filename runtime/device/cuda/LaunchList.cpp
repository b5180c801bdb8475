//===- LaunchList.cpp - A program as launches, and as a graph -------------===//

#include "runtime/device/cuda/LaunchList.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cstring>

using namespace mtp;

std::vector<void *> KernelLaunch::pointers() {
  std::vector<void *> all;
  for (uint64_t &argument : arguments)
    all.push_back(&argument);
  return all;
}

GemmBuffers KernelLaunch::gemmBuffers() const {
  return {arguments[0], arguments[1], arguments[2], arguments[3]};
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

namespace {
/// Adds nodes to a graph, each after all earlier ones.
class Chain {
public:
  Chain(const DriverApi &driver, CUgraph graph, CUstream stream)
      : driver(driver), graph(graph), stream(stream) {}

  /// Adds a launch at the end, or nothing if the launch has no blocks.
  Status add(KernelLaunch &launch) {
    if (launch.blocks == 0)
      return okStatus();
    ++count;
    return launch.gemm ? capture(launch) : launchKernel(launch);
  }
  /// Nodes that have no successor yet.
  const std::vector<CUgraphNode> &ends() const { return last; }
  /// Returns the number of launches that were added.
  size_t size() const { return count; }

private:
  Status launchKernel(KernelLaunch &launch);
  Status capture(const KernelLaunch &launch);
  Status takeEnds();

  const DriverApi &driver;
  CUgraph graph;
  CUstream stream;
  std::vector<CUgraphNode> last;
  size_t count = 0;
  bool lastIsKernel = false;
};
} // namespace

Status Chain::launchKernel(KernelLaunch &launch) {
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  std::vector<void *> arguments = launch.pointers();
  CUgraphNodeParams params = nodeOf(launch, arguments.data());
  CUgraphNode node = nullptr;
  MTP_RETURN_IF_ERROR(driver.check(
      driver.cuGraphAddNode(&node, graph, last.empty() ? nullptr : last.data(),
                            lastIsKernel ? &edge : nullptr, last.size(),
                            &params),
      "cuGraphAddNode"));
  last = {node};
  lastIsKernel = true;
  return okStatus();
}

/// Takes the nodes of a capture that have no successor yet.
Status Chain::takeEnds() {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph into = nullptr;
  const CUgraphNode *leaves = nullptr;
  const CUgraphEdgeData *edges = nullptr;
  size_t count = 0;
  MTP_RETURN_IF_ERROR(driver.check(
      driver.cuStreamGetCaptureInfo(stream, &status, nullptr, &into, &leaves,
                                    &edges, &count),
      "cuStreamGetCaptureInfo"));
  last.assign(leaves, leaves + count);
  lastIsKernel = false;
  return okStatus();
}

/// Adds a library call. The library's kernels do not wait as kernels of plans
/// do, so full edges order them.
Status Chain::capture(const KernelLaunch &launch) {
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuStreamBeginCaptureToGraph(
                       stream, graph, last.empty() ? nullptr : last.data(),
                       nullptr, last.size(), CU_STREAM_CAPTURE_MODE_RELAXED),
                   "cuStreamBeginCaptureToGraph"));
  Status status = launch.gemm->enqueue(launch.gemmBuffers(), stream);
  if (status.isOk())
    status = takeEnds();
  // Must also run after an error, or the stream would accept no more work.
  CUgraph into = nullptr;
  Status ended = driver.check(driver.cuStreamEndCapture(stream, &into),
                              "cuStreamEndCapture");
  return status.isOk() ? ended : status;
}

/// Adds a loop that runs at least once. Returns its body.
Result<CUgraph> CudaGraph::addLoop(CUgraph graph,
                                   const std::vector<CUgraphNode> &before,
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
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuGraphAddNode(&node, graph, before.data(), nullptr,
                                         before.size(), &params),
                   "cuGraphAddNode of a loop"));
  ++nodeCount;
  condition = handle;
  return params.conditional.phGraph_out[0];
}

Status CudaGraph::addParts(CUgraph graph, GraphParts &parts, CUstream stream) {
  const DriverApi &driver = context->driver();
  Chain head(driver, graph, stream);
  MTP_RETURN_IF_ERROR(head.add(parts.deliver));
  if (!parts.nextRound) {
    for (KernelLaunch &launch : parts.program)
      MTP_RETURN_IF_ERROR(head.add(launch));
    nodeCount += head.size();
    return okStatus();
  }
  MTP_ASSIGN_OR_RETURN(
      CUgraph body,
      addLoop(graph, head.ends(), parts.nextRound->arguments.back()));
  Chain round(driver, body, stream);
  for (KernelLaunch &launch : parts.program)
    MTP_RETURN_IF_ERROR(round.add(launch));
  MTP_RETURN_IF_ERROR(round.add(*parts.nextRound));
  nodeCount += head.size() + round.size();
  return okStatus();
}

Result<std::unique_ptr<CudaGraph>>
CudaGraph::build(const std::shared_ptr<CudaContext> &context, GraphParts parts,
                 CUstream stream) {
  const DriverApi &driver = context->driver();
  std::unique_ptr<CudaGraph> result(new CudaGraph(context));
  CUgraph graph = nullptr;
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuGraphCreate(&graph, 0), "cuGraphCreate"));
  Status status = result->addParts(graph, parts, stream);
  if (status.isOk())
    status =
        driver.check(driver.cuGraphInstantiate(&result->instance, graph, 0),
                     "cuGraphInstantiate");
  // Otherwise the first launch would upload the graph, and its error would say
  // less.
  if (status.isOk())
    status = driver.check(
        driver.cuGraphUpload(result->instance, stream),
        strCat("the upload of a graph of ", result->nodeCount, " nodes, about ",
               result->nodeCount * kGraphNodeBytes, " bytes"));
  // The instance does not need the graph.
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

/// Launches of an expected graph for each launch of another graph: about the
/// number of graphs that the limit has room for.
static constexpr double kExpectedWeight = 64;

double GraphCache::counterOf(uint64_t key) const {
  auto share = shares.find(key);
  return age + 1 +
         (share == shares.end() ? 0 : kExpectedWeight * share->second);
}

const CudaGraph *GraphCache::find(uint64_t key) {
  auto found = entries.find(key);
  if (found == entries.end())
    return nullptr;
  order.splice(order.begin(), order, found->second);
  found->second->counter = counterOf(key);
  return found->second->graph.get();
}

/// Drops the graph with the least counter; of several, the one that was used
/// first. The last one used stays if `keepLast` is set.
void GraphCache::dropLeast(bool keepLast) {
  auto least = std::prev(order.end());
  for (auto next = least; next != order.begin();) {
    --next;
    bool mayGo = !keepLast || next != order.begin();
    if (mayGo && next->counter < least->counter)
      least = next;
  }
  age = std::max(age, least->counter);
  nodeCount -= least->graph->nodes();
  entries.erase(least->key);
  order.erase(least);
}

bool GraphCache::shrink(bool keepLast) {
  size_t all = order.size(), most = all - std::min<size_t>(all, keepLast);
  size_t count = std::min((all + 1) / 2, most);
  for (size_t i = 0; i < count; ++i)
    dropLeast(keepLast);
  return count != 0;
}

const CudaGraph *GraphCache::add(uint64_t key,
                                 std::unique_ptr<CudaGraph> graph) {
  nodeCount += graph->nodes();
  while (!order.empty() && nodeCount > mostNodes)
    dropLeast(/*keepLast=*/false);
  order.push_front({key, std::move(graph), counterOf(key)});
  entries[key] = order.begin();
  return order.front().graph.get();
}
