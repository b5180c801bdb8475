//===- GraphNodes.h - What a caller says of a node --------------*- C++ -*-===//

#ifndef TEST_GPUSIM_GRAPHNODES_H
#define TEST_GPUSIM_GRAPHNODES_H

#include "Graph.h"

namespace mtp::gpusim {

/// Checks a node's parameters, padding included, and makes a node of them.
CUresult readNode(Graph &graph, const CUgraphNodeParams &params, Node &node);
CUresult readKernel(const CUDA_KERNEL_NODE_PARAMS_v3 &params, KernelWork &work);

/// Checks the edges to a node: from nodes of the same graph, each once, and
/// programmatic ones between kernels alone.
CUresult readEdges(const Graph &graph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *edges, size_t count, Node &node);

/// Hands the bodies of a conditional node to the caller.
void giveBodies(CUgraphNodeParams &params, Node &node);

/// Whether each condition that was made has its node.
CUresult checkConditions(const Graph &graph);

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_GRAPHNODES_H
