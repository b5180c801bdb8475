//===- GraphHazards.cpp - Dependences that a graph does not declare -------===//
//
// A node begins (S), passes its griddepcontrol.wait (W) and ends (E). A full
// edge a -> b means that a ends before b begins. A programmatic edge means that
// a begins before b begins, and ends before b's wait. A chain of programmatic
// edges orders ends and waits: a node ends after its own wait, and so after the
// ends that the wait waits for. It does not order a node's begin.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

using namespace mtp::gpusim;

namespace {
/// A set of a graph's nodes.
class NodeSet {
public:
  explicit NodeSet(size_t nodes) : words((nodes + 63) / 64) {}

  void add(size_t node) { words[node / 64] |= uint64_t(1) << node % 64; }
  void include(const NodeSet &other) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] |= other.words[i];
  }
  bool operator[](size_t node) const {
    return words[node / 64] >> node % 64 & 1;
  }

private:
  std::vector<uint64_t> words;
};

/// For each node, the nodes that end before it begins, and before its wait.
struct Order {
  explicit Order(const Graph &graph) {
    for (const std::unique_ptr<Node> &node : graph.nodes) {
      NodeSet begin(graph.nodes.size());
      for (const Edge &edge : node->edges) {
        // A full edge waits for the end of the node, and so for everything that
        // the node's wait waited for.
        begin.include(edge.programmatic ? beforeBegin[edge.from]
                                        : beforeWait[edge.from]);
        if (!edge.programmatic)
          begin.add(edge.from);
      }
      NodeSet wait = begin;
      for (const Edge &edge : node->edges)
        if (edge.programmatic) {
          wait.include(beforeWait[edge.from]);
          wait.add(edge.from);
        }
      beforeBegin.push_back(std::move(begin));
      beforeWait.push_back(std::move(wait));
    }
  }

  std::vector<NodeSet> beforeBegin, beforeWait;
};

/// Looks for bytes that `writer` writes and `other` touches.
class Search {
public:
  Search(const Graph &graph, const std::vector<Touched> &touched)
      : graph(graph), touched(touched), order(graph) {}

  std::string pair(size_t writer, size_t other) const {
    const TouchedSet &writes = touched[writer].writes;
    // Writes come after the wait of the writer.
    bool after = order.beforeWait[writer][other];
    std::string place;
    if (!order.beforeBegin[other][writer] && !after) {
      place = writes.overlap(touched[other].early);
      if (!place.empty())
        return text(writer, other, place,
                    "reads ahead of its griddepcontrol.wait");
    }
    if (order.beforeWait[other][writer] || after)
      return "";
    place = writes.overlap(touched[other].reads);
    if (!place.empty())
      return text(writer, other, place, "reads");
    place = writes.overlap(touched[other].writes);
    return place.empty() ? "" : text(writer, other, place, "writes");
  }

private:
  std::string text(size_t writer, size_t other, const std::string &place,
                   const char *verb) const {
    return "graph: " + describe(graph, writer) + " writes " + place +
           ", which " + describe(graph, other) + " " + verb +
           ", and no edge orders the two";
  }

  const Graph &graph;
  const std::vector<Touched> &touched;
  Order order;
};
} // namespace

std::string mtp::gpusim::findHazard(const Graph &graph,
                                    const std::vector<Touched> &touched) {
  Search search(graph, touched);
  for (size_t writer = 0; writer < touched.size(); ++writer)
    for (size_t other = 0; other < touched.size(); ++other)
      if (writer != other && !touched[writer].writes.empty()) {
        std::string found = search.pair(writer, other);
        if (!found.empty())
          return found;
      }
  return "";
}
