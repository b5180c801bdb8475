//===- GraphNodes.cpp - Parameters of graph nodes -------------------------===//

#include "GraphNodes.h"

#include "Driver.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cstring>

using namespace mtp::gpusim;

static CUresult invalid(const std::string &text) {
  return refuse(CUDA_ERROR_INVALID_VALUE, "cuGraphAddNode: %s", text.c_str());
}

/// Returns true if unused parameters are zero. The parameters have room for
/// every type of node, and a later driver may give unused bytes a meaning.
static bool hasZeroPadding(const CUgraphNodeParams &params, size_t used) {
  auto *bytes = reinterpret_cast<const char *>(&params);
  size_t first = offsetof(CUgraphNodeParams, reserved1);
  for (size_t i = sizeof params.type; i < sizeof params; ++i)
    if ((i < first || i >= first + used) && bytes[i])
      return false;
  return true;
}

/// Returns whether a context is the current one. Null means the current one;
/// there is no other.
static bool isCurrent(CUcontext context) {
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  return !context || context == current;
}

CUresult mtp::gpusim::readKernel(const CUDA_KERNEL_NODE_PARAMS_v3 &params,
                                 KernelWork &work) {
  if (!params.func && params.kern)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "kernel node: CUkernel is not simulated, CUfunction is");
  const Function *function = findFunction(params.func);
  if (!function)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "kernel node: expected a live function");
  if (params.extra || (function->kernel->paramCount && !params.kernelParams))
    return invalid("expected parameters as an array of pointers, and no extra "
                   "ones");
  work.function = function;
  work.shape = {{params.gridDimX, params.gridDimY, params.gridDimZ},
                {params.blockDimX, params.blockDimY, params.blockDimZ},
                params.sharedMemBytes};
  std::string wrong =
      checkShape(*function->kernel, work.shape, function->maxDynamic);
  if (!wrong.empty())
    return invalid(wrong);
  work.parameters =
      std::make_shared<Parameters>(*function->kernel, params.kernelParams);
  return CUDA_SUCCESS;
}

static CUresult readFill(const CUDA_MEMSET_NODE_PARAMS_v2 &params, Fill &fill) {
  if (params.height != 1 ||
      (params.elementSize != 1 && params.elementSize != 4))
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "memset node: one row of elements of 1 or 4 bytes is "
                  "simulated, got %zu rows of elements of %u",
                  params.height, params.elementSize);
  if (!isCurrent(params.ctx))
    return refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "memset node: expected the current context");
  fill = {uintptr_t(params.dst), params.value, params.elementSize,
          params.width};
  return CUDA_SUCCESS;
}

/// Returns true if an address is in device memory or pinned memory.
static bool isDeviceMemory(uintptr_t address, size_t bytes) {
  return simulator().memory.find(address, bytes) != nullptr;
}

static CUresult readCopy(const Graph &graph,
                         const CUDA_MEMCPY_NODE_PARAMS &params, Copy &copy) {
  const CUDA_MEMCPY3D &how = params.copyParams;
  if (params.flags || params.reserved || !isCurrent(params.copyCtx))
    return invalid("memcpy node: expected flags 0 and the current context");
  if (how.Height != 1 || how.Depth != 1 || how.srcXInBytes || how.srcY ||
      how.srcZ || how.dstXInBytes || how.dstY || how.dstZ)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "memcpy node: one row from the start of each side is "
                  "simulated");
  bool fromHost = how.srcMemoryType == CU_MEMORYTYPE_HOST;
  bool toHost = how.dstMemoryType == CU_MEMORYTYPE_HOST;
  if ((!fromHost && how.srcMemoryType != CU_MEMORYTYPE_DEVICE) ||
      (!toHost && how.dstMemoryType != CU_MEMORYTYPE_DEVICE) ||
      (fromHost && toHost))
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "memcpy node: copies between the host and the device, and "
                  "on the device, are simulated");
  uintptr_t from = fromHost ? reinterpret_cast<uintptr_t>(how.srcHost)
                            : uintptr_t(how.srcDevice);
  uintptr_t to = toHost ? reinterpret_cast<uintptr_t>(how.dstHost)
                        : uintptr_t(how.dstDevice);
  copy = {to, from, how.WidthInBytes, !toHost, !fromHost, nullptr};
  if (graph.owner &&
      (!isDeviceMemory(from, copy.bytes) || !isDeviceMemory(to, copy.bytes)))
    return invalid("expected device or pinned memory in a copy of a "
                   "conditional node's body");
  return CUDA_SUCCESS;
}

static CUresult readChild(const CUDA_CHILD_GRAPH_NODE_PARAMS &params,
                          Node &node) {
  Graph *child = graphs().find(params.graph);
  if (!child)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "child node: expected a live graph");
  if (params.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "child node: clones are simulated, ownership %d is not",
                  int(params.ownership));
  if (child->hasConditionals())
    return invalid("expected a child graph without conditional nodes");
  node.graphs.push_back(copyGraph(*child, nullptr));
  return CUDA_SUCCESS;
}

/// Returns the condition of a handle in the graph or in an enclosing graph.
static Condition *findCondition(Graph *graph, uint64_t handle) {
  for (; graph; graph = graph->owner) {
    auto found = graph->conditions.find(handle);
    if (found != graph->conditions.end())
      return &found->second;
  }
  return nullptr;
}

static CUresult readConditional(Graph &graph,
                                const CUDA_CONDITIONAL_NODE_PARAMS &params,
                                Node &node) {
  Condition *condition = findCondition(&graph, params.handle);
  if (!condition)
    return invalid("expected a condition's handle of this graph, or of one "
                   "that it is a body of");
  if (condition->used)
    return invalid("expected a handle for each conditional node, got one that "
                   "another node has");
  bool isWhile = params.type == CU_GRAPH_COND_TYPE_WHILE;
  if (!isWhile && params.type != CU_GRAPH_COND_TYPE_IF)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "conditional node: IF and WHILE are simulated, type %d is "
                  "not",
                  int(params.type));
  if (params.size < 1 || params.size > (isWhile ? 1u : 2u))
    return invalid("expected one body, or two of an IF, got " +
                   std::to_string(params.size));
  if (!isCurrent(params.ctx))
    return refuse(CUDA_ERROR_INVALID_CONTEXT,
                  "conditional node: expected the current context");
  condition->used = true;
  node.conditional = params.type;
  node.condition = params.handle;
  for (unsigned i = 0; i < params.size; ++i) {
    node.graphs.push_back(std::make_shared<Graph>());
    addBody(node.graphs.back());
  }
  return CUDA_SUCCESS;
}

/// Returns the number of bytes of the union that a type of node uses, or 0 if
/// the type is not simulated.
static size_t usedBytes(CUgraphNodeType type) {
  switch (type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return sizeof(CUDA_KERNEL_NODE_PARAMS_v3);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return sizeof(CUDA_MEMCPY_NODE_PARAMS);
  case CU_GRAPH_NODE_TYPE_MEMSET:
    return sizeof(CUDA_MEMSET_NODE_PARAMS_v2);
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS);
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    return sizeof(CUDA_CONDITIONAL_NODE_PARAMS);
  default:
    return 0;
  }
}

CUresult mtp::gpusim::readNode(Graph &graph, const CUgraphNodeParams &params,
                               Node &node) {
  node.type = params.type;
  size_t used = usedBytes(params.type);
  if (!used && params.type != CU_GRAPH_NODE_TYPE_EMPTY) {
    if (graph.owner)
      return invalid("expected kernels, copies, fills, child graphs, "
                     "conditionals and empty nodes in a conditional node's "
                     "body, got type " +
                     std::to_string(int(params.type)));
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuGraphAddNode: nodes of type %d are not simulated",
                  int(params.type));
  }
  if (!hasZeroPadding(params, used))
    return invalid("expected zero in all bytes of the parameters that the "
                   "type of node does not use");
  switch (params.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return readKernel(params.kernel, node.kernel);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return readCopy(graph, params.memcpy, node.copy);
  case CU_GRAPH_NODE_TYPE_MEMSET:
    return readFill(params.memset, node.fill);
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return readChild(params.graph, node);
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    return readConditional(graph, params.conditional, node);
  default:
    return CUDA_SUCCESS;
  }
}

static CUresult checkEdge(const CUgraphEdgeData &data, const Node &from,
                          const Node &to) {
  static const CUgraphEdgeData zero = {};
  if (std::memcmp(data.reserved, zero.reserved, sizeof data.reserved) != 0)
    return invalid("expected zero in the reserved bytes of an edge");
  if (data.to_port)
    return invalid("expected port 0 at an edge's end, got " +
                   std::to_string(data.to_port));
  bool programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  if (!programmatic)
    return data.type || data.from_port
               ? invalid("expected port 0 and type 0, or port 1 and type 1 "
                         "(programmatic) at an edge's start")
               : CUDA_SUCCESS;
  if (data.from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC)
    return invalid("expected port 1 at a programmatic edge's start, got " +
                   std::to_string(data.from_port));
  if (from.type != CU_GRAPH_NODE_TYPE_KERNEL ||
      to.type != CU_GRAPH_NODE_TYPE_KERNEL)
    return invalid("expected kernels at both ends of a programmatic edge");
  return CUDA_SUCCESS;
}

CUresult mtp::gpusim::readEdges(const Graph &graph,
                                const CUgraphNode *dependencies,
                                const CUgraphEdgeData *edges, size_t count,
                                Node &node) {
  for (size_t i = 0; i < count; ++i) {
    size_t from = 0;
    while (from < graph.nodes.size() &&
           reinterpret_cast<CUgraphNode>(graph.nodes[from].get()) !=
               dependencies[i])
      ++from;
    if (from == graph.nodes.size())
      return invalid("expected dependences on nodes of the same graph");
    for (const Edge &edge : node.edges)
      if (edge.from == from)
        return invalid("expected one edge from a node, got two");
    bool programmatic = false;
    if (edges) {
      if (CUresult failed = checkEdge(edges[i], *graph.nodes[from], node))
        return failed;
      programmatic = edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    node.edges.push_back({from, programmatic});
  }
  return CUDA_SUCCESS;
}

void mtp::gpusim::giveBodies(CUgraphNodeParams &params, Node &node) {
  if (node.type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return;
  node.bodies.clear();
  for (const std::shared_ptr<Graph> &graph : node.graphs)
    node.bodies.push_back(reinterpret_cast<CUgraph>(graph.get()));
  params.conditional.phGraph_out = node.bodies.data();
}

CUresult mtp::gpusim::checkConditions(const Graph &graph) {
  for (const auto &[handle, condition] : graph.conditions)
    if (!condition.used)
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "cuGraphInstantiate: expected a node for each condition, "
                    "got none for handle %llu",
                    (unsigned long long)handle);
  for (const std::unique_ptr<Node> &node : graph.nodes)
    for (const std::shared_ptr<Graph> &inner : node->graphs)
      if (CUresult failed = checkConditions(*inner))
        return failed;
  return CUDA_SUCCESS;
}
