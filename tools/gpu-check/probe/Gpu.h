//===- Gpu.h - Memory, modules, graphs and times for the probes -*- C++ -*-===//
//
// Objects are freed only if a probe requests it: a part is a process.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_GPU_CHECK_PROBE_GPU_H
#define MTP_TOOLS_GPU_CHECK_PROBE_GPU_H

#include "Driver.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace mtp::gpu_check {

/// Objects that all parts need: the primary context, a stream, and the places
/// of kernels and libraries.
struct Machine {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::string folder;   // with the kernels
  std::string cublasLt; // path of the library, or empty
  int processors = 0;

  void start(std::string folder);
};

extern Machine machine;

/// Prints one line of the results: {"name": ..., "value": ...}.
void report(const std::string &name, double value);
void report(const std::string &name, const std::string &value);
/// Reports a condition that must hold; `found` is the observed value.
void expect(const std::string &name, bool good, double found);

std::vector<char> readFile(const std::string &name);

CUdeviceptr allocate(size_t bytes);
/// Allocates memory filled with random bf16 numbers of size 0.5 to 1.
CUdeviceptr allocateFilled(size_t bytes, uint64_t seed);
template <typename T>
CUdeviceptr upload(const std::vector<T> &data) {
  CUdeviceptr to = allocate(data.size() * sizeof(T));
  CHECK(cu.cuMemcpyHtoD(to, data.data(), data.size() * sizeof(T)));
  return to;
}
template <typename T>
std::vector<T> download(CUdeviceptr from, size_t count) {
  std::vector<T> data(count);
  CHECK(cu.cuMemcpyDtoH(data.data(), from, count * sizeof(T)));
  return data;
}
void synchronize();

/// Returns a kernel of a cubin, and allows its dynamic shared memory.
CUfunction function(const std::string &cubin, const std::string &name,
                    size_t shared = 0);
/// Returns a kernel of machine.cu.
CUfunction machineKernel(const std::string &name);

/// All parameters of the probes' kernels are 64 bits wide.
using Arguments = std::vector<uint64_t>;

void launch(CUfunction f, unsigned grid, unsigned block, size_t shared,
            Arguments arguments);

enum class Edge { Ordinary, Programmatic };

/// A graph that is built as a chain, unless a node's predecessors are given.
class Graph {
public:
  explicit Graph(CUgraph existing = nullptr);

  CUgraphNode kernel(CUfunction f, unsigned grid, unsigned block, size_t shared,
                     Arguments arguments, Edge edge = Edge::Ordinary);
  /// Adds a kernel after the given nodes, by ordinary edges. The chain
  /// continues from it.
  CUgraphNode kernelAfter(std::vector<CUgraphNode> nodes, CUfunction f,
                          unsigned grid, unsigned block, Arguments arguments);
  CUgraphNode clear(CUdeviceptr at, size_t bytes);
  /// Adds a conditional node and returns its body.
  CUgraph conditional(CUgraphConditionalHandle handle,
                      CUgraphConditionalNodeType type);
  CUgraphConditionalHandle handle(unsigned initial);

  CUgraph get() const { return graph; }
  CUgraphNode last() const { return previous; }
  /// Ends the process if the graph is refused.
  CUgraphExec instantiate() const;
  CUresult tryInstantiate(CUgraphExec &exec) const;
  /// Returns the last refusal of a node, else CUDA_SUCCESS.
  CUresult status() const { return worst; }

private:
  void add(CUgraphNodeParams &params, Edge edge);

  CUgraph graph = nullptr;
  CUgraphNode previous = nullptr;
  bool previousIsKernel = false;
  CUresult worst = CUDA_SUCCESS;
};

/// Returns the median time of a launch in microseconds, measured with events.
double timeGraph(CUgraphExec exec, int repetitions, double limitMs = 300);

/// Times the work that `enqueue` adds to the stream.
template <typename F>
double timeStream(F enqueue, int repetitions, double limitMs = 300);

struct Timer {
  Timer();
  void begin();
  /// Waits for the stream and returns the microseconds since `begin`.
  double end();
  CUevent events[2];
};

double median(std::vector<double> values);

template <typename F>
double timeStream(F enqueue, int repetitions, double limitMs) {
  Timer timer;
  enqueue();
  enqueue();
  synchronize();
  std::vector<double> times;
  double spent = 0;
  for (int i = 0; i < repetitions && (spent < limitMs * 1000 || i < 3); ++i) {
    timer.begin();
    enqueue();
    times.push_back(timer.end());
    spent += times.back();
  }
  return median(times);
}

/// Returns seconds of the host's clock.
double now();

/// A line of the manifest that `--prepare` writes: a word, and key=value.
struct Entry {
  std::string what;
  std::vector<std::pair<std::string, std::string>> fields;

  const std::string &text(const std::string &key) const;
  int64_t number(const std::string &key) const;
};
std::vector<Entry> readManifest(const std::string &what);

} // namespace mtp::gpu_check

#endif // MTP_TOOLS_GPU_CHECK_PROBE_GPU_H
