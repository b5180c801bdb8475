//===- Gpu.h - Memory, modules, graphs and times for the probes -*- C++ -*-===//
//
// No object here is ever freed unless a probe asks for it: a part is a process.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_GPU_CHECK_GPU_H
#define MTP_GPU_CHECK_GPU_H

#include "Driver.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace mtp::gpu_check {

/// What all parts need: the primary context, a stream, and where the kernels
/// and libraries lie.
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

/// One line of the results: {"name": ..., "value": ...}.
void report(const std::string &name, double value);
void report(const std::string &name, const std::string &value);
/// Something that must hold; `found` says what was seen.
void expect(const std::string &name, bool good, double found);

std::vector<char> readFile(const std::string &name);

CUdeviceptr allocate(size_t bytes);
/// Random bf16 numbers of size 0.5 to 1 everywhere.
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

/// A kernel of a cubin; its dynamic shared memory is allowed.
CUfunction function(const std::string &cubin, const std::string &name,
                    size_t shared = 0);
/// A kernel of machine.cu.
CUfunction machineKernel(const std::string &name);

/// All parameters of the probes' kernels are 64 bits wide.
using Arguments = std::vector<uint64_t>;

void launch(CUfunction f, unsigned grid, unsigned block, size_t shared,
            Arguments arguments);

enum class Edge { Ordinary, Programmatic };

/// A graph that is built as a chain, unless a node is given what it follows.
class Graph {
public:
  explicit Graph(CUgraph existing = nullptr);

  CUgraphNode kernel(CUfunction f, unsigned grid, unsigned block, size_t shared,
                     Arguments arguments, Edge edge = Edge::Ordinary);
  /// After the given nodes, by ordinary edges; the chain goes on from here.
  CUgraphNode kernelAfter(std::vector<CUgraphNode> nodes, CUfunction f,
                          unsigned grid, unsigned block, Arguments arguments);
  CUgraphNode clear(CUdeviceptr at, size_t bytes);
  /// A conditional node; gives its body.
  CUgraph conditional(CUgraphConditionalHandle handle,
                      CUgraphConditionalNodeType type);
  CUgraphConditionalHandle handle(unsigned initial);

  CUgraph get() const { return graph; }
  CUgraphNode last() const { return previous; }
  /// Ends the process if the graph is refused.
  CUgraphExec instantiate() const;
  CUresult tryInstantiate(CUgraphExec &exec) const;
  /// The last refusal of a node, else CUDA_SUCCESS.
  CUresult status() const { return worst; }

private:
  void add(CUgraphNodeParams &params, Edge edge);

  CUgraph graph = nullptr;
  CUgraphNode previous = nullptr;
  bool previousIsKernel = false;
  CUresult worst = CUDA_SUCCESS;
};

/// Median time of a launch in microseconds, by events.
double timeGraph(CUgraphExec exec, int repetitions, double limitMs = 300);

/// Times whatever `enqueue` puts into the stream.
template <typename F>
double timeStream(F enqueue, int repetitions, double limitMs = 300);

struct Timer {
  Timer();
  void begin();
  /// Microseconds since `begin`, after waiting for the stream.
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

/// Seconds of the host's clock.
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

#endif // MTP_GPU_CHECK_GPU_H
