//===- Graph.h - Graphs, as they are built and as they run ------*- C++ -*-===//

#ifndef TEST_GPUSIM_GRAPH_H
#define TEST_GPUSIM_GRAPH_H

#include "Copy.h"
#include "Gemm.h"
#include "Handles.h"
#include "Launch.h"
#include "Module.h"
#include <cuda.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mtp::gpusim {

struct Graph;

/// A dependence of a node on one before it. A programmatic one lets the node
/// begin at once, and holds it back at its griddepcontrol.wait.
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

/// The type of a node that a library's call was captured to. On a device these
/// are kernels, of which nobody but the library knows how they begin: edges of
/// theirs are full ones.
inline constexpr auto kLibraryNode = CUgraphNodeType(15);

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::vector<Edge> edges;
  KernelWork kernel;
  Copy copy{};
  Fill fill{};
  Gemm gemm;
  /// The child's graph, or the bodies of a conditional.
  std::vector<std::shared_ptr<Graph>> graphs;
  /// What a caller was given of them. The driver owns the array, which lives as
  /// long as the node.
  std::vector<CUgraph> bodies;
  CUgraphConditionalNodeType conditional = CU_GRAPH_COND_TYPE_IF;
  uint64_t condition = 0;
  /// The handle that the node had where it was built: of an instantiated
  /// graph it finds the copy.
  const void *handle = nullptr;
};

/// A value that a conditional node looks at.
struct Condition {
  uint32_t initial = 0;
  bool hasInitial = false;
  bool used = false;
};

struct Graph {
  /// In the order in which they were added; an edge leads to a later one.
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<uint64_t, Condition> conditions;
  /// Of a conditional node's body: the graph that has the node.
  Graph *owner = nullptr;
  /// Live instances of a graph with conditional nodes: one at a time.
  unsigned instances = 0;

  bool hasConditionals() const;
  /// With those of inner graphs.
  size_t allNodes() const;
  const Graph *root() const { return owner ? owner->root() : this; }
};

/// A graph that can be launched: a copy of its nodes, deep.
struct GraphExec {
  std::shared_ptr<Graph> graph;
  Graph *source;
  /// What it takes of the device; 0 until it is uploaded.
  size_t bytes = 0;
  int device = 0;
};

Handles<Graph> &graphs();
/// Bodies of conditional nodes, which their nodes own.
Graph *findGraph(CUgraph handle);
void addBody(const std::shared_ptr<Graph> &body);

/// A deep copy; kernels' parameters, which nobody changes, are shared.
std::shared_ptr<Graph> copyGraph(const Graph &graph, Graph *owner);

/// Runs an instantiated graph once.
CUresult runGraph(const Graph &graph);

/// "node 3, kernel 'k'".
std::string describe(const Graph &graph, size_t node);

/// Whether bytes that nodes touched meet where no edge orders them; the text
/// of the first place, or empty.
std::string findHazard(const Graph &graph, const std::vector<Touched> &touched);

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_GRAPH_H
