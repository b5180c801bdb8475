//===- LaunchList.h - A program as launches, and as a graph -----*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_LAUNCHLIST_H
#define MTP_RUNTIME_DEVICE_CUDA_LAUNCHLIST_H

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/GemmLibrary.h"
#include "runtime/schema/DeviceLoop.h"

#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mtp {

/// A command with addresses in it.
struct KernelLaunch {
  /// Of a product of the library, which is then called in the kernel's place.
  GemmProduct *gemm = nullptr;
  CUfunction function = nullptr;
  /// Zero: nothing is launched.
  uint32_t blocks = 0;
  uint32_t threads = 0, sharedBytes = 0;
  /// The buffers' addresses, where the kernel takes it that of the number of
  /// rows that live, then the params.
  std::vector<uint64_t> arguments;

  /// What the driver wants of them; valid as long as they stay where they are.
  std::vector<void *> pointers();
  /// The addresses of a product of the library.
  GemmBuffers gemmBuffers() const;
};

/// A program for one n, in the order of its commands.
using LaunchList = std::vector<KernelLaunch>;

/// What a graph is made of.
struct GraphParts {
  /// What stands before the program.
  KernelLaunch deliver;
  LaunchList program;
  /// What stands behind it where it may follow itself; the last of its
  /// arguments becomes the handle of the condition.
  std::optional<KernelLaunch> nextRound;
};

/// A program for one n, ready to be launched.
class CudaGraph {
public:
  /// Makes a node of each launch, with a programmatic edge from the one before:
  /// it may begin while that one runs, up to its wait. All kernels wait, so
  /// that what is behind a wait is behind all nodes before. A program that may
  /// follow itself is the body of a WHILE node. Products of the library are
  /// captured through `stream`; edges to and from their nodes are full ones.
  /// What the graph takes of the device it has then: ResourceExhausted where
  /// there is not so much, and all is as before.
  static Result<std::unique_ptr<CudaGraph>>
  build(std::shared_ptr<CudaContext> context, GraphParts parts,
        CUstream stream);
  ~CudaGraph();

  CUgraphExec exec() const { return instance; }
  size_t nodes() const { return nodeCount; }

private:
  explicit CudaGraph(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  Status addParts(CUgraph graph, GraphParts &parts, CUstream stream);
  Result<CUgraph> addLoop(CUgraph graph, const std::vector<CUgraphNode> &before,
                          uint64_t &condition);

  std::shared_ptr<CudaContext> context;
  CUgraphExec instance = nullptr;
  size_t nodeCount = 0;
};

/// The graphs that were launched last. A bound on their nodes bounds their
/// memory; a graph that was given up is built again.
class GraphCache {
public:
  /// All graphs of an executable together, unless one has more.
  static constexpr size_t kMostNodes = kMostGraphNodes;

  explicit GraphCache(size_t mostNodes = kMostNodes) : mostNodes(mostNodes) {}

  /// The graph of a key, or null. It is the one used last then.
  const CudaGraph *find(uint64_t key);
  const CudaGraph *add(uint64_t key, std::unique_ptr<CudaGraph> graph);
  /// Gives up the older half of the graphs, rounded up, but for the one used
  /// last where that is kept. False where there is nothing to give up. No graph
  /// may be under way.
  bool shrink(bool keepLast);
  size_t nodes() const { return nodeCount; }
  size_t graphs() const { return order.size(); }

private:
  void dropOldest();
  struct Entry {
    uint64_t key;
    std::unique_ptr<CudaGraph> graph;
  };
  size_t mostNodes, nodeCount = 0;
  /// The one used last first.
  std::list<Entry> order;
  std::unordered_map<uint64_t, std::list<Entry>::iterator> entries;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_LAUNCHLIST_H
