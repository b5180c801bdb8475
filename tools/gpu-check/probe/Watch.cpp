//===- Watch.cpp - A log of driver calls and times ------------------------===//
//
// A driver library for MTP_CUDA_DRIVER with a few functions of its own. All
// others are the driver's: the library depends on libcuda.so.1, which dlsym()
// searches next. Before and after each graph it records an event. So the GPU's
// own clock tells how long the GPU worked and how long it was idle. The times
// of a launch are read after two more launches, or when the stream is
// destroyed, so nothing waits for them. The file that GPU_WATCH names gets all
// results at the end, as JSON.
//
// Calls must come from one thread at a time, as a session's do.
//
//===----------------------------------------------------------------------===//

#include <cuda.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <utility>
#include <vector>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
/// The driver's function of that name.
#define REAL(name)                                                             \
  ([] {                                                                        \
    static auto function = reinterpret_cast<decltype(&::name)>(                \
        dlsym(dlopen("libcuda.so.1", RTLD_NOW), TEXT(name)));                  \
    return function;                                                           \
  }())

namespace {
struct WatchedGraph {
  size_t nodes = 0, launches = 0;
  bool loops = false;
  double build = 0, instantiate = 0; // seconds
  /// Device memory of the graph, until its first launch has returned.
  double bytes = 0;
};

struct WatchedLaunch {
  size_t graph = 0;
  /// Number of kernels and copies that the host has issued outside of graphs
  /// since the previous launch.
  size_t others = 0;
  CUevent begin = nullptr, end = nullptr;
  /// Negative if not known.
  float milliseconds = -1, gap = -1;
};

struct Watch {
  ~Watch() { write(); }
  void write() const;
  void readTimes(size_t end);

  std::vector<WatchedGraph> graphs;
  std::vector<WatchedLaunch> launches;
  std::map<CUgraphExec, size_t> numbers;
  /// Graph that is being built.
  WatchedGraph current;
  double began = 0, freeBefore = 0;
  size_t others = 0, timed = 0;
};
} // namespace

static Watch watch;

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static double freeBytes() {
  size_t unused = 0, total = 0;
  REAL(cuMemGetInfo)(&unused, &total);
  return double(unused);
}

/// Reads the times of all launches before `end`, which have ended.
void Watch::readTimes(size_t end) {
  auto elapsed = REAL(cuEventElapsedTime);
  for (; timed < end; ++timed) {
    WatchedLaunch &launch = launches[timed];
    if (elapsed(&launch.milliseconds, launch.begin, launch.end) != CUDA_SUCCESS)
      launch.milliseconds = -1;
    if (timed > 0 && elapsed(&launch.gap, launches[timed - 1].end,
                             launch.begin) != CUDA_SUCCESS)
      launch.gap = -1;
  }
}

static void writeTime(FILE *file, const char *name, float milliseconds) {
  if (milliseconds >= 0)
    std::fprintf(file, ", \"%s\": %.3f", name, double(milliseconds) * 1e3);
}

void Watch::write() const {
  const char *path = std::getenv("GPU_WATCH");
  FILE *file = path ? std::fopen(path, "w") : nullptr;
  if (!file)
    return;
  std::fprintf(file, "{\"graphs\": [");
  for (const WatchedGraph &graph : graphs)
    std::fprintf(file,
                 "%s\n{\"nodes\": %zu, \"loops\": %s, \"launches\": %zu, "
                 "\"build_ms\": %.4f, \"instantiate_ms\": %.4f, "
                 "\"bytes\": %.0f}",
                 &graph == graphs.data() ? "" : ",", graph.nodes,
                 graph.loops ? "true" : "false", graph.launches,
                 graph.build * 1e3, graph.instantiate * 1e3, graph.bytes);
  std::fprintf(file, "],\n\"launches\": [");
  for (const WatchedLaunch &launch : launches) {
    std::fprintf(file, "%s\n{\"graph\": %zu, \"others\": %zu",
                 &launch == launches.data() ? "" : ",", launch.graph,
                 launch.others);
    writeTime(file, "us", launch.milliseconds);
    writeTime(file, "gap_us", launch.gap);
    std::fprintf(file, "}");
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

extern "C" {

CUresult CUDAAPI cuGraphCreate(CUgraph *graph, unsigned flags) {
  watch.current = {};
  watch.freeBefore = freeBytes();
  watch.began = now();
  return REAL(cuGraphCreate)(graph, flags);
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *node, CUgraph graph,
                                const CUgraphNode *before,
                                const CUgraphEdgeData *edges, size_t count,
                                CUgraphNodeParams *params) {
  ++watch.current.nodes;
  watch.current.loops |= params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  return REAL(cuGraphAddNode)(node, graph, before, edges, count, params);
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph graph,
                                    unsigned long long flags) {
  double built = now();
  CUresult result = REAL(cuGraphInstantiate)(exec, graph, flags);
  WatchedGraph made = watch.current;
  made.build = built - watch.began;
  made.instantiate = now() - built;
  made.bytes = watch.freeBefore - freeBytes();
  if (result == CUDA_SUCCESS) {
    watch.numbers[*exec] = watch.graphs.size();
    watch.graphs.push_back(made);
  }
  return result;
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream stream) {
  WatchedGraph &graph = watch.graphs[watch.numbers[exec]];
  double before = freeBytes(), begin = now();
  CUresult result = REAL(cuGraphUpload)(exec, stream);
  graph.instantiate += now() - begin;
  graph.bytes += before - freeBytes();
  return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  WatchedLaunch launch;
  launch.graph = watch.numbers[exec];
  launch.others = std::exchange(watch.others, 0);
  WatchedGraph &graph = watch.graphs[launch.graph];
  bool isFirst = graph.launches++ == 0;
  double before = isFirst ? freeBytes() : 0;
  REAL(cuEventCreate)(&launch.begin, 0);
  REAL(cuEventCreate)(&launch.end, 0);
  REAL(cuEventRecord)(launch.begin, stream);
  CUresult result = REAL(cuGraphLaunch)(exec, stream);
  REAL(cuEventRecord)(launch.end, stream);
  if (isFirst)
    graph.bytes += before - freeBytes();
  watch.launches.push_back(launch);
  if (watch.launches.size() >= 3)
    watch.readTimes(watch.launches.size() - 2);
  return result;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  if (REAL(cuStreamSynchronize)(stream) == CUDA_SUCCESS)
    watch.readTimes(watch.launches.size());
  return REAL(cuStreamDestroy)(stream);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gridX,
                                unsigned gridY, unsigned gridZ, unsigned blockX,
                                unsigned blockY, unsigned blockZ,
                                unsigned shared, CUstream stream,
                                void **arguments, void **extra) {
  ++watch.others;
  return REAL(cuLaunchKernel)(function, gridX, gridY, gridZ, blockX, blockY,
                              blockZ, shared, stream, arguments, extra);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from,
                                   size_t bytes, CUstream stream) {
  ++watch.others;
  return REAL(cuMemcpyHtoDAsync)(to, from, bytes, stream);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
  ++watch.others;
  return REAL(cuMemcpyDtoHAsync)(to, from, bytes, stream);
}
}
