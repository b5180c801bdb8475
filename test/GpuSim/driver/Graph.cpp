//===- Graph.cpp - Graphs during their construction -----------------------===//

#include "Graph.h"

using namespace mtp::gpusim;

Handles<Graph> &mtp::gpusim::graphs() {
  static auto *all = new Handles<Graph>;
  return *all;
}

/// Bodies live as long as the node that owns them.
static std::map<const void *, std::weak_ptr<Graph>> &bodies() {
  static auto *all = new std::map<const void *, std::weak_ptr<Graph>>;
  return *all;
}

void mtp::gpusim::addBody(const std::shared_ptr<Graph> &body) {
  bodies()[body.get()] = body;
}

Graph *mtp::gpusim::findGraph(CUgraph handle) {
  if (Graph *graph = graphs().find(handle))
    return graph;
  auto found = bodies().find(handle);
  if (found == bodies().end())
    return nullptr;
  std::shared_ptr<Graph> body = found->second.lock();
  // A body of a graph that was destroyed is kept with the graph, and is stale,
  // too.
  if (!body || !graphs().find(body->root()))
    return nullptr;
  return body.get();
}

bool Graph::hasConditionals() const {
  for (const std::unique_ptr<Node> &node : nodes)
    if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
      return true;
  return false;
}

size_t Graph::allNodes() const {
  size_t count = nodes.size();
  for (const std::unique_ptr<Node> &node : nodes)
    for (const std::shared_ptr<Graph> &inner : node->graphs)
      count += inner->allNodes();
  return count;
}

std::shared_ptr<Graph> mtp::gpusim::copyGraph(const Graph &graph,
                                              Graph *owner) {
  auto copy = std::make_shared<Graph>();
  copy->conditions = graph.conditions;
  copy->owner = owner;
  for (const std::unique_ptr<Node> &node : graph.nodes) {
    copy->nodes.push_back(std::make_unique<Node>(*node));
    for (std::shared_ptr<Graph> &inner : copy->nodes.back()->graphs)
      inner = copyGraph(*inner, copy.get());
  }
  return copy;
}

std::string mtp::gpusim::describe(const Graph &graph, size_t index) {
  const Node &node = *graph.nodes[index];
  std::string text = "node " + std::to_string(index);
  if (node.type == kLibraryNode)
    return text + ", a product of the library,";
  switch (node.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return text + ", kernel '" + node.kernel.function->kernel->name + "',";
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return text + ", a copy,";
  case CU_GRAPH_NODE_TYPE_MEMSET:
    return text + ", a fill,";
  case CU_GRAPH_NODE_TYPE_GRAPH:
    return text + ", a child graph,";
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    return text + ", a conditional,";
  default:
    return text;
  }
}
