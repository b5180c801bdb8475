//===- DriverGraph.cpp - Building, instantiating and launching graphs -----===//

#include "Driver.h"

#include "Graph.h"
#include "GraphNodes.h"
#include "Stream.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cstring>

using namespace mtp::gpusim;

/// Device memory of a node of a graph, about as measured on an H100.
static constexpr size_t kNodeBytes = 3 << 10;

static Handles<GraphExec> &execs() {
  static auto *all = new Handles<GraphExec>;
  return *all;
}

static CUresult noGraph(const char *name) {
  return refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live graph", name);
}

MTP_API cuGraphCreate(CUgraph *handle, unsigned flags) {
  Entry entry("cuGraphCreate");
  if (entry.refusedOrFull())
    return entry.result();
  if (flags)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuGraphCreate: expected flags 0, got %u", flags);
  *handle = reinterpret_cast<CUgraph>(graphs().add(std::make_unique<Graph>()));
  return CUDA_SUCCESS;
}

MTP_API cuGraphDestroy(CUgraph handle) {
  Entry entry("cuGraphDestroy");
  if (entry.refused())
    return entry.result();
  // A body belongs to its node, and the caller must not destroy it.
  return graphs().remove(handle) ? CUDA_SUCCESS : noGraph("cuGraphDestroy");
}

MTP_API cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  Entry entry("cuGraphGetNodes");
  if (entry.refused())
    return entry.result();
  Graph *graph = findGraph(handle);
  if (!graph)
    return noGraph("cuGraphGetNodes");
  for (size_t i = 0; nodes && i < *count; ++i)
    nodes[i] = i < graph->nodes.size()
                   ? reinterpret_cast<CUgraphNode>(graph->nodes[i].get())
                   : nullptr;
  if (!nodes || *count > graph->nodes.size())
    *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

MTP_API cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle,
                                       CUgraph graphHandle, CUcontext context,
                                       unsigned initial, unsigned flags) {
  Entry entry("cuGraphConditionalHandleCreate");
  if (entry.refused())
    return entry.result();
  Graph *graph = findGraph(graphHandle);
  if (!graph)
    return noGraph("cuGraphConditionalHandleCreate");
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  if (context && context != current)
    return refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "cuGraphConditionalHandleCreate: expected the current "
                  "context, got another");
  if (flags & ~unsigned(CU_GRAPH_COND_ASSIGN_DEFAULT))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuGraphConditionalHandleCreate: expected flags 0 or 1, got "
                  "%u",
                  flags);
  // Never reused: a handle of another graph is detected.
  static uint64_t last = 0;
  *handle = ++last;
  Condition &condition = graph->conditions[last];
  condition.initial = initial;
  condition.hasInitial = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
  return CUDA_SUCCESS;
}

MTP_API cuGraphAddNode(CUgraphNode *result, CUgraph handle,
                       const CUgraphNode *dependencies,
                       const CUgraphEdgeData *edges, size_t count,
                       CUgraphNodeParams *params) {
  Entry entry("cuGraphAddNode");
  if (entry.refusedOrFull())
    return entry.result();
  Graph *graph = findGraph(handle);
  if (!graph)
    return noGraph("cuGraphAddNode");
  auto node = std::make_unique<Node>();
  if (CUresult failed = readNode(*graph, *params, *node))
    return failed;
  if (CUresult failed = readEdges(*graph, dependencies, edges, count, *node))
    return failed;
  node->handle = node.get();
  for (const std::shared_ptr<Graph> &inner : node->graphs)
    inner->owner = graph;
  giveBodies(*params, *node);
  *result = reinterpret_cast<CUgraphNode>(node.get());
  graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

MTP_API cuGraphInstantiate(CUgraphExec *result, CUgraph handle,
                           unsigned long long flags) {
  Entry entry("cuGraphInstantiate");
  if (entry.refusedOrFull())
    return entry.result();
  Graph *graph = graphs().find(handle);
  if (!graph)
    return noGraph("cuGraphInstantiate");
  if (flags)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuGraphInstantiate: flags %#llx are not simulated", flags);
  if (graph->hasConditionals() && graph->instances)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuGraphInstantiate: expected one instance at a time of a "
                  "graph with conditional nodes, got a second");
  if (CUresult failed = checkConditions(*graph))
    return failed;
  ++graph->instances;
  auto exec = std::make_unique<GraphExec>(GraphExec{
      copyGraph(*graph, nullptr), graph, 0, simulator().memory.device()});
  *result = reinterpret_cast<CUgraphExec>(execs().add(std::move(exec)));
  return CUDA_SUCCESS;
}

static GraphExec *activeExec(const char *name, CUgraphExec handle) {
  GraphExec *exec = execs().find(handle);
  if (exec && exec->device != simulator().memory.device())
    exec = nullptr;
  if (!exec)
    refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live instance of a graph",
           name);
  return exec;
}

MTP_API cuGraphExecDestroy(CUgraphExec handle) {
  Entry entry("cuGraphExecDestroy");
  if (entry.refused())
    return entry.result();
  GraphExec *exec = activeExec("cuGraphExecDestroy", handle);
  if (!exec)
    return CUDA_ERROR_INVALID_HANDLE;
  // Graphs keep their addresses when they are destroyed.
  --exec->source->instances;
  simulator().memory.giveBack(exec->bytes);
  execs().remove(handle);
  return CUDA_SUCCESS;
}

/// Uploads a graph, unless it has been uploaded. The first launch calls this.
static CUresult upload(const char *name, GraphExec &exec) {
  size_t bytes = exec.graph->allNodes() * kNodeBytes;
  if (exec.bytes || simulator().memory.charge(bytes)) {
    exec.bytes = bytes;
    return CUDA_SUCCESS;
  }
  return refuse(CUDA_ERROR_OUT_OF_MEMORY,
                "%s: expected at most %zu bytes, which are free, got %zu of a "
                "graph",
                name, simulator().memory.unused(), bytes);
}

MTP_API cuGraphUpload(CUgraphExec handle, CUstream streamHandle) {
  Entry entry("cuGraphUpload");
  if (entry.refusedOrFull())
    return entry.result();
  GraphExec *exec = activeExec("cuGraphUpload", handle);
  if (!exec)
    return CUDA_ERROR_INVALID_HANDLE;
  return findStream(streamHandle)
             ? upload("cuGraphUpload", *exec)
             : refuse(CUDA_ERROR_INVALID_HANDLE,
                      "cuGraphUpload: expected a live stream");
}

MTP_API cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  Entry entry("cuGraphLaunch");
  if (entry.refusedOrFull())
    return entry.result();
  GraphExec *exec = activeExec("cuGraphLaunch", handle);
  if (!exec)
    return CUDA_ERROR_INVALID_HANDLE;
  Stream *stream = findStream(streamHandle);
  if (!stream)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuGraphLaunch: expected a live stream");
  if (CUresult failed = upload("cuGraphLaunch", *exec))
    return failed;
  // Keeps the nodes as they are now: a later update makes another graph.
  std::shared_ptr<Graph> graph = exec->graph;
  return enqueue(*stream, {[graph] { return runGraph(*graph); }});
}

MTP_API cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                       const CUDA_KERNEL_NODE_PARAMS *given) {
  Entry entry("cuGraphExecKernelNodeSetParams");
  if (entry.refused())
    return entry.result();
  GraphExec *exec = activeExec("cuGraphExecKernelNodeSetParams", handle);
  if (!exec)
    return CUDA_ERROR_INVALID_HANDLE;
  CUDA_KERNEL_NODE_PARAMS_v3 params = {};
  std::memcpy(&params, given, sizeof *given);
  KernelWork work;
  if (CUresult failed = readKernel(params, work))
    return failed;
  std::shared_ptr<Graph> changed = copyGraph(*exec->graph, nullptr);
  for (std::unique_ptr<Node> &copy : changed->nodes)
    if (copy->handle == node && copy->type == CU_GRAPH_NODE_TYPE_KERNEL) {
      copy->kernel = work;
      exec->graph = changed;
      return CUDA_SUCCESS;
    }
  return refuse(CUDA_ERROR_INVALID_VALUE,
                "cuGraphExecKernelNodeSetParams: expected a kernel node of the "
                "graph itself: of bodies it is not known whether it works");
}

/// Returns the reason why an instance cannot become another graph.
static CUgraphExecUpdateResult compare(const Graph &now, const Graph &next) {
  if (now.nodes.size() != next.nodes.size())
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < now.nodes.size(); ++i) {
    const Node &a = *now.nodes[i], &b = *next.nodes[i];
    if (a.type != b.type)
      return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (a.edges != b.edges || a.graphs.size() != b.graphs.size())
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (a.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
      return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    for (size_t g = 0; g < a.graphs.size(); ++g)
      if (auto different = compare(*a.graphs[g], *b.graphs[g]))
        return different;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

MTP_API cuGraphExecUpdate(CUgraphExec handle, CUgraph graphHandle,
                          CUgraphExecUpdateResultInfo *info) {
  Entry entry("cuGraphExecUpdate");
  if (entry.refused())
    return entry.result();
  GraphExec *exec = activeExec("cuGraphExecUpdate", handle);
  Graph *graph = graphs().find(graphHandle);
  if (!exec || !graph)
    return exec ? noGraph("cuGraphExecUpdate") : CUDA_ERROR_INVALID_HANDLE;
  *info = {};
  info->result = compare(*exec->graph, *graph);
  if (info->result == CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
    return refuse(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                  "cuGraphExecUpdate: graphs with conditional nodes are not "
                  "simulated here");
  if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return refuse(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                  "cuGraphExecUpdate: expected the same nodes and edges, got "
                  "others (result %d)",
                  int(info->result));
  std::shared_ptr<Graph> next = copyGraph(*graph, nullptr);
  for (size_t i = 0; i < next->nodes.size(); ++i)
    next->nodes[i]->handle = exec->graph->nodes[i]->handle;
  exec->graph = next;
  return CUDA_SUCCESS;
}
