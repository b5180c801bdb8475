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

/// A command with resolved addresses.
struct KernelLaunch {
  /// Product of the library, which is called instead of a kernel.
  GemmProduct *gemm = nullptr;
  CUfunction function = nullptr;
  /// If zero, nothing is launched.
  uint32_t blocks = 0;
  uint32_t threads = 0, sharedBytes = 0;
  /// Addresses of the buffers; the address of the number of active rows if the
  /// kernel takes it; then the params.
  std::vector<uint64_t> arguments;

  /// Returns the pointers that the driver needs. They are valid until
  /// `arguments` changes.
  std::vector<void *> pointers();
  /// Returns the addresses of a product of the library.
  GemmBuffers gemmBuffers() const;
};

/// A program for one n, in the order of its commands.
using LaunchList = std::vector<KernelLaunch>;

/// Parts of a graph.
struct GraphParts {
  /// Launch before the program: delivers the mailbox.
  KernelLaunch deliver;
  LaunchList program;
  /// Launch after the program, if the program may repeat. The last of its
  /// arguments becomes the handle of the condition.
  std::optional<KernelLaunch> nextRound;
};

/// A program for one n, ready to be launched.
class CudaGraph {
public:
  /// Makes a node of each launch. A programmatic edge from the previous node
  /// lets a kernel begin while the previous one runs, up to its wait. All
  /// kernels wait, so code after a wait runs after all earlier nodes. A program
  /// that may repeat is the body of a WHILE node. Products of the library are
  /// captured through `stream`, and edges to and from their nodes are full. The
  /// graph allocates its device memory here. If memory is short, returns
  /// ResourceExhausted and changes nothing.
  static Result<std::unique_ptr<CudaGraph>>
  build(const std::shared_ptr<CudaContext> &context, GraphParts parts,
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

/// Graphs that were launched recently or are expected. A limit on their nodes
/// limits their memory. A graph that was dropped is built again. The graph with
/// the least age counter is dropped first. A launch sets the graph's counter to
/// the cache's age plus one, and more for an expected graph. The age is the
/// counter of the last dropped graph. So rarely launched graphs are dropped; if
/// none is expected, the least recently used ones.
class GraphCache {
public:
  /// Limit for all graphs of an executable together, unless one graph exceeds
  /// it.
  static constexpr size_t kMostNodes = kMostGraphNodes;

  explicit GraphCache(size_t mostNodes = kMostNodes) : mostNodes(mostNodes) {}

  /// Notes the share of launches that the graph of a key is expected to have.
  void expect(uint64_t key, double share) { shares[key] = share; }
  /// Returns the graph of a key and marks it as the last one used. Returns null
  /// if there is none.
  const CudaGraph *find(uint64_t key);
  const CudaGraph *add(uint64_t key, std::unique_ptr<CudaGraph> graph);
  /// Drops the half of the graphs with the least counters, rounded up, but not
  /// the last one used if `keepLast` is set. Returns false if there is nothing
  /// to drop. No graph may be running.
  bool shrink(bool keepLast);
  size_t nodes() const { return nodeCount; }
  size_t graphs() const { return order.size(); }

private:
  struct Entry {
    uint64_t key;
    std::unique_ptr<CudaGraph> graph;
    double counter;
  };
  double counterOf(uint64_t key) const;
  void dropLeast(bool keepLast);
  size_t mostNodes, nodeCount = 0;
  /// Ordered by use, the last one used first.
  std::list<Entry> order;
  std::unordered_map<uint64_t, std::list<Entry>::iterator> entries;
  /// By key, expected shares of launches.
  std::unordered_map<uint64_t, double> shares;
  double age = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_LAUNCHLIST_H
