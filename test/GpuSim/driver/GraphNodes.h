//===- GraphNodes.h - Parameters of graph nodes -----------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_GRAPHNODES_H
#define MTP_TEST_GPUSIM_DRIVER_GRAPHNODES_H

#include "Graph.h"

namespace mtp::gpusim {

/// Checks a node's parameters, including padding, and fills in a node.
CUresult readNode(Graph &graph, const CUgraphNodeParams &params, Node &node);
CUresult readKernel(const CUDA_KERNEL_NODE_PARAMS_v3 &params, KernelWork &work);

/// Checks the edges to a node. They must come from nodes of the graph, each one
/// once, and programmatic edges must be between kernels.
CUresult readEdges(const Graph &graph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *edges, size_t count, Node &node);

/// Gives the bodies of a conditional node to the caller.
void giveBodies(CUgraphNodeParams &params, Node &node);

/// Checks that each created condition has its node.
CUresult checkConditions(const Graph &graph);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_GRAPHNODES_H
