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
/// For each node, the nodes that end before it begins, and before its wait.
struct Order {
  explicit Order(const Graph &graph)
      : beforeBegin(graph.nodes.size()), beforeWait(graph.nodes.size()) {
    size_t count = graph.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      beforeBegin[i].resize(count);
      for (const Edge &edge : graph.nodes[i]->edges) {
        // A full edge waits for the end of the node, and so for everything that
        // the node's wait waited for.
        include(beforeBegin[i], edge.programmatic ? beforeBegin[edge.from]
                                                  : beforeWait[edge.from]);
        if (!edge.programmatic)
          beforeBegin[i][edge.from] = true;
      }
      beforeWait[i] = beforeBegin[i];
      for (const Edge &edge : graph.nodes[i]->edges)
        if (edge.programmatic) {
          include(beforeWait[i], beforeWait[edge.from]);
          beforeWait[i][edge.from] = true;
        }
    }
  }

  static void include(std::vector<bool> &set, const std::vector<bool> &other) {
    for (size_t i = 0; i < set.size(); ++i)
      if (other[i])
        set[i] = true;
  }

  std::vector<std::vector<bool>> beforeBegin, beforeWait;
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
