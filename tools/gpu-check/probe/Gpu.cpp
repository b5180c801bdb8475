//===- Gpu.cpp - Memory, modules, graphs and times for the probes ---------===//

#include "Gpu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>

using namespace mtp::gpu_check;

Machine mtp::gpu_check::machine;

void Machine::start(std::string where) {
  folder = std::move(where);
  cu = Driver::load();
  CHECK(cu.cuInit(0));
  CHECK(cu.cuDeviceGet(&device, 0));
  CHECK(cu.cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cu.cuCtxSetCurrent(context));
  CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cu.cuDeviceGetAttribute(
      &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
}

static void printLine(const std::string &name, const std::string &value) {
  std::printf("{\"name\": \"%s\", \"value\": %s}\n", name.c_str(),
              value.c_str());
  std::fflush(stdout);
}

static std::string asText(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

void mtp::gpu_check::report(const std::string &name, double value) {
  // JSON has no infinity and no NaN.
  printLine(name, value - value == 0 ? asText(value) : "null");
}

void mtp::gpu_check::report(const std::string &name, const std::string &value) {
  printLine(name, "\"" + value + "\"");
}

void mtp::gpu_check::expect(const std::string &name, bool good, double found) {
  std::string value = good ? "yes" : "NO: " + asText(found);
  std::printf("{\"name\": \"%s\", \"value\": \"%s\", \"check\": %s}\n",
              name.c_str(), value.c_str(), good ? "true" : "false");
  std::fflush(stdout);
}

std::vector<char> mtp::gpu_check::readFile(const std::string &name) {
  std::ifstream in(machine.folder + "/" + name, std::ios::binary);
  std::vector<char> data((std::istreambuf_iterator<char>(in)), {});
  if (data.empty()) {
    std::fprintf(stderr, "error: cannot read %s/%s\n", machine.folder.c_str(),
                 name.c_str());
    std::exit(3);
  }
  data.push_back(0);
  return data;
}

CUdeviceptr mtp::gpu_check::allocate(size_t bytes) {
  CUdeviceptr at = 0;
  CHECK(cu.cuMemAlloc(&at, std::max<size_t>(bytes, 256)));
  return at;
}

CUdeviceptr mtp::gpu_check::allocateFilled(size_t bytes, uint64_t seed) {
  CUdeviceptr at = allocate(bytes);
  // The first part comes from the host, and the rest is copies of it.
  size_t done = std::min<size_t>(bytes, 1 << 20);
  std::vector<uint32_t> words(done / 4 + 1);
  std::mt19937_64 random(seed);
  for (uint32_t &word : words)
    word = (uint32_t(random()) & 0x807f807fu) | 0x3f003f00u;
  CHECK(cu.cuMemcpyHtoD(at, words.data(), done));
  for (size_t more; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    CHECK(cu.cuMemcpyDtoDAsync(at + done, at, more, machine.stream));
  }
  synchronize();
  return at;
}

void mtp::gpu_check::synchronize() {
  CHECK(cu.cuStreamSynchronize(machine.stream));
}

CUfunction mtp::gpu_check::function(const std::string &cubin,
                                    const std::string &name, size_t shared) {
  static std::map<std::string, CUmodule> modules;
  CUmodule &module = modules[cubin];
  if (!module)
    CHECK(cu.cuModuleLoadData(&module, readFile(cubin).data()));
  CUfunction f = nullptr;
  CHECK(cu.cuModuleGetFunction(&f, module, name.c_str()));
  if (shared > 48 * 1024)
    CHECK(cu.cuFuncSetAttribute(f,
                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                static_cast<int>(shared)));
  // Percentage of an SM's memory for shared memory instead of L1. By default
  // the driver decides for each kernel.
  if (const char *carveout = std::getenv("GPU_CHECK_CARVEOUT"))
    CHECK(cu.cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        std::atoi(carveout)));
  return f;
}

CUfunction mtp::gpu_check::machineKernel(const std::string &name) {
  return function("machine.cubin", name, 100 * 1024);
}

static std::vector<void *> pointersTo(Arguments &arguments) {
  std::vector<void *> pointers;
  for (uint64_t &argument : arguments)
    pointers.push_back(&argument);
  return pointers;
}

void mtp::gpu_check::launch(CUfunction f, unsigned grid, unsigned block,
                            size_t shared, Arguments arguments) {
  CHECK(cu.cuLaunchKernel(f, grid, 1, 1, block, 1, 1,
                          static_cast<unsigned>(shared), machine.stream,
                          pointersTo(arguments).data(), nullptr));
}

Graph::Graph(CUgraph existing) : graph(existing) {
  if (!graph)
    CHECK(cu.cuGraphCreate(&graph, 0));
}

void Graph::add(CUgraphNodeParams &params, Edge edge) {
  CUgraphEdgeData data = {};
  bool kernel = params.type == CU_GRAPH_NODE_TYPE_KERNEL;
  if (edge == Edge::Programmatic && kernel && previousIsKernel) {
    data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  }
  CUgraphNode node = nullptr;
  CUresult result =
      cu.cuGraphAddNode(&node, graph, previous ? &previous : nullptr,
                        previous ? &data : nullptr, previous ? 1 : 0, &params);
  if (result != CUDA_SUCCESS) {
    worst = result;
    return;
  }
  previous = node;
  previousIsKernel = kernel;
}

static CUgraphNodeParams kernelParams(CUfunction f, unsigned grid,
                                      unsigned block, size_t shared,
                                      void **arguments) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = f;
  params.kernel.gridDimX = grid;
  params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = block;
  params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  params.kernel.sharedMemBytes = static_cast<unsigned>(shared);
  params.kernel.kernelParams = arguments;
  return params;
}

CUgraphNode Graph::kernel(CUfunction f, unsigned grid, unsigned block,
                          size_t shared, Arguments arguments, Edge edge) {
  std::vector<void *> pointers = pointersTo(arguments);
  CUgraphNodeParams params =
      kernelParams(f, grid, block, shared, pointers.data());
  add(params, edge);
  return previous;
}

CUgraphNode Graph::kernelAfter(std::vector<CUgraphNode> nodes, CUfunction f,
                               unsigned grid, unsigned block,
                               Arguments arguments) {
  std::vector<void *> pointers = pointersTo(arguments);
  CUgraphNodeParams params = kernelParams(f, grid, block, 0, pointers.data());
  CHECK(cu.cuGraphAddNode(&previous, graph, nodes.data(), nullptr, nodes.size(),
                          &params));
  previousIsKernel = true;
  return previous;
}

CUgraphNode Graph::clear(CUdeviceptr at, size_t bytes) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.dst = at;
  params.memset.elementSize = 4;
  params.memset.width = bytes / 4;
  params.memset.height = 1;
  params.memset.ctx = machine.context;
  add(params, Edge::Ordinary);
  return previous;
}

CUgraphConditionalHandle Graph::handle(unsigned initial) {
  CUgraphConditionalHandle handle = 0;
  CHECK(cu.cuGraphConditionalHandleCreate(
      &handle, graph, machine.context, initial, CU_GRAPH_COND_ASSIGN_DEFAULT));
  return handle;
}

CUgraph Graph::conditional(CUgraphConditionalHandle handle,
                           CUgraphConditionalNodeType type) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = 1;
  params.conditional.ctx = machine.context;
  add(params, Edge::Ordinary);
  return worst == CUDA_SUCCESS ? params.conditional.phGraph_out[0] : nullptr;
}

CUresult Graph::tryInstantiate(CUgraphExec &exec) const {
  CUresult result = cu.cuGraphInstantiate(&exec, graph, 0);
  return result == CUDA_SUCCESS ? cu.cuGraphUpload(exec, machine.stream)
                                : result;
}

CUgraphExec Graph::instantiate() const {
  CHECK(worst);
  CUgraphExec exec = nullptr;
  CHECK(tryInstantiate(exec));
  synchronize();
  return exec;
}

Timer::Timer() {
  for (CUevent &event : events)
    CHECK(cu.cuEventCreate(&event, CU_EVENT_DEFAULT));
}

void Timer::begin() { CHECK(cu.cuEventRecord(events[0], machine.stream)); }

double Timer::end() {
  CHECK(cu.cuEventRecord(events[1], machine.stream));
  CHECK(cu.cuEventSynchronize(events[1]));
  float ms = 0;
  CHECK(cu.cuEventElapsedTime(&ms, events[0], events[1]));
  return ms * 1000.0;
}

double mtp::gpu_check::median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double mtp::gpu_check::timeGraph(CUgraphExec exec, int repetitions,
                                 double limitMs) {
  return timeStream([&] { CHECK(cu.cuGraphLaunch(exec, machine.stream)); },
                    repetitions, limitMs);
}

double mtp::gpu_check::now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const std::string &Entry::text(const std::string &key) const {
  static const std::string none;
  for (const auto &field : fields)
    if (field.first == key)
      return field.second;
  return none;
}

int64_t Entry::number(const std::string &key) const {
  return std::atoll(text(key).c_str());
}

std::vector<Entry> mtp::gpu_check::readManifest(const std::string &what) {
  std::vector<Entry> entries;
  std::ifstream in(machine.folder + "/manifest");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Entry entry;
    words >> entry.what;
    if (entry.what != what)
      continue;
    for (std::string word; words >> word;) {
      size_t at = word.find('=');
      entry.fields.emplace_back(word.substr(0, at), word.substr(at + 1));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}
