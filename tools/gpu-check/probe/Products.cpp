//===- Products.cpp - A model's products in chains ------------------------===//
//
// Kernels of an artifact, one by one: each in a graph of its own, over weights
// that are in no cache.
//
//===----------------------------------------------------------------------===//

#include "Gpu.h"
#include "Parts.h"

#include <algorithm>
#include <sstream>

using namespace mtp::gpu_check;

namespace {
/// Memory far larger than L2, from which weights are taken one after another.
struct Pool {
  explicit Pool(size_t bytes) : begin(allocateFilled(bytes, 3)), bytes(bytes) {}
  CUdeviceptr take(size_t size) {
    size = (size + 4095) / 4096 * 4096;
    if (next + size > bytes)
      next = 0;
    CUdeviceptr at = begin + next;
    next += size;
    return at;
  }
  /// Returns the GB/s of a copy within the memory, both directions.
  double copyRate() const {
    size_t half = std::min(size_t(4) << 30, bytes / 2);
    double us = timeStream(
        [&] {
          CHECK(cu.cuMemcpyDtoDAsync(begin + bytes - half, begin, half,
                                     machine.stream));
        },
        9, 400);
    return 2.0 * double(half) / us / 1e3;
  }

  CUdeviceptr begin;
  size_t bytes, next = 0;
};

/// A product as the manifest describes it.
struct Product {
  explicit Product(const Entry &entry)
      : name(entry.text("name")), weight(size_t(entry.number("weight"))),
        weightBytes(size_t(entry.number("bytes"))),
        tasks(entry.number("tasks")), group(entry.number("group")),
        threads(unsigned(entry.number("threads"))),
        shared(size_t(entry.number("shared"))),
        takesActive(entry.number("live") != 0) {
    kernel = function(entry.text("image"), entry.text("symbol"), shared);
    std::istringstream sizes(entry.text("buffers"));
    for (std::string size; std::getline(sizes, size, ',');)
      buffers.push_back(size_t(std::stoull(size)));
  }
  unsigned blocks(int rows) const {
    return unsigned(group ? tasks * ((rows + group - 1) / group) : tasks);
  }

  std::string name;
  /// Size of each buffer in bytes at the maximum number of rows, and the
  /// weight's index.
  std::vector<size_t> buffers;
  size_t weight, weightBytes;
  int64_t tasks, group;
  unsigned threads;
  size_t shared;
  /// True if the number of active rows follows the buffers.
  bool takesActive;
  CUfunction kernel = nullptr;
};
} // namespace

/// Returns the microseconds of one product in a chain of `length`.
static double timeProduct(const Product &product, Pool &pool,
                          const std::vector<CUdeviceptr> &buffers, int rows,
                          int length) {
  Graph graph;
  for (int i = 0; i < length; ++i) {
    Arguments arguments(buffers.begin(), buffers.end());
    arguments[product.weight] = pool.take(product.weightBytes);
    if (product.takesActive)
      arguments.push_back(0); // all rows are active
    arguments.push_back(uint64_t(rows));
    graph.kernel(product.kernel, product.blocks(rows), product.threads,
                 product.shared, arguments, Edge::Programmatic);
  }
  CUgraphExec exec = graph.instantiate();
  double us = timeGraph(exec, 9, 40) / length;
  CHECK(cu.cuGraphExecDestroy(exec));
  CHECK(cu.cuGraphDestroy(graph.get()));
  return us;
}

void mtp::gpu_check::runProducts() {
  std::vector<Entry> run = readManifest("chain");
  Pool pool(size_t(run[0].number("pool")));
  int most = int(run[0].number("length"));
  double copy = pool.copyRate();
  report("copy GB/s, both directions", copy);
  for (const Entry &entry : readManifest("product")) {
    Product product(entry);
    std::vector<CUdeviceptr> buffers;
    for (size_t i = 0; i < product.buffers.size(); ++i)
      buffers.push_back(
          i == product.weight ? 0 : allocateFilled(product.buffers[i], i));
    size_t fitting = (size_t(2) << 30) / product.weightBytes;
    int length = int(std::clamp<size_t>(fitting, 4, 60));
    for (int rows : {1, 2, 4, 8, 16, 32}) {
      double us =
          timeProduct(product, pool, buffers, rows, std::min(length, most));
      std::string name = product.name + ", rows " + std::to_string(rows);
      report(name + ": us", us);
      report(name + ": share", double(product.weightBytes) / us / 1e3 / copy);
    }
    for (CUdeviceptr buffer : buffers)
      if (buffer)
        CHECK(cu.cuMemFree(buffer));
  }
  report("copy GB/s at the end", pool.copyRate());
}
