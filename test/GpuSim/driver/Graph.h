//===- Graph.h - Graphs, as they are built and as they run ------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_GRAPH_H
#define MTP_TEST_GPUSIM_DRIVER_GRAPH_H

#include "Copy.h"
#include "Gemm.h"
#include "Handles.h"
#include "Module.h"
#include "test/GpuSim/threads/Launch.h"
#include <cuda.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mtp::gpusim {

struct Graph;

/// Dependence of a node on an earlier one. A programmatic edge lets the node
/// begin at once, and blocks it at its griddepcontrol.wait.
struct Edge {
  size_t from;
  bool programmatic;

  bool operator==(const Edge &) const = default;
};

struct KernelWork {
  const Function *function = nullptr;
  LaunchShape shape;
  std::shared_ptr<const Parameters> parameters;
};

/// Type of a node for a captured library call. On a device such nodes are
/// kernels, and only the library knows how they begin. So their edges are full
/// ones.
inline constexpr auto kLibraryNode = CUgraphNodeType(15);

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::vector<Edge> edges;
  KernelWork kernel;
  Copy copy{};
  Fill fill{};
  Gemm gemm;
  /// The child's graph, or the bodies of a conditional node.
  std::vector<std::shared_ptr<Graph>> graphs;
  /// Handles of the bodies that the caller gets. The driver owns the array,
  /// which lives as long as the node.
  std::vector<CUgraph> bodies;
  CUgraphConditionalNodeType conditional = CU_GRAPH_COND_TYPE_IF;
  uint64_t condition = 0;
  /// Handle of the node in the original graph. In an instantiated graph, it
  /// identifies the copy.
  const void *handle = nullptr;
};

/// Value that a conditional node tests.
struct Condition {
  uint32_t initial = 0;
  bool hasInitial = false;
  bool used = false;
};

struct Graph {
  /// Nodes in the order of creation. An edge leads to a later node.
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<uint64_t, Condition> conditions;
  /// The graph that contains the conditional node, if this graph is its body.
  Graph *owner = nullptr;
  /// Number of live instances of a graph with conditional nodes: at most one.
  unsigned instances = 0;

  bool hasConditionals() const;
  /// Returns the number of nodes, including inner graphs.
  size_t allNodes() const;
  const Graph *root() const { return owner ? owner->root() : this; }
};

/// A graph that can be launched: a deep copy of its nodes.
struct GraphExec {
  std::shared_ptr<Graph> graph;
  Graph *source;
  /// Device memory of the graph; 0 until it is uploaded.
  size_t bytes = 0;
  int device = 0;
};

Handles<Graph> &graphs();
/// Bodies of conditional nodes. The nodes own them.
Graph *findGraph(CUgraph handle);
void addBody(const std::shared_ptr<Graph> &body);

/// Returns a deep copy. Parameters of kernels never change, and are shared.
std::shared_ptr<Graph> copyGraph(const Graph &graph, Graph *owner);

/// Runs an instantiated graph once.
CUresult runGraph(const Graph &graph);

/// Describes a node, as in "node 3, kernel 'k'".
std::string describe(const Graph &graph, size_t node);

/// Looks for bytes that two nodes touch without an edge that orders the nodes.
/// Returns a description of the first place, or an empty string.
std::string findHazard(const Graph &graph, const std::vector<Touched> &touched);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_GRAPH_H
