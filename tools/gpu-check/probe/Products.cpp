//===- Products.cpp - Skinny products alone, in chains, in models ---------===//

#include "Gpu.h"
#include "Layout.h"
#include "Parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

using namespace mtp::gpu_check;

/// GB/s of a copy of 4 GB, both directions, in this very process.
static double copyRate(CUdeviceptr pool, size_t poolBytes) {
  size_t bytes = std::min<size_t>(size_t(4) << 30, poolBytes / 2);
  double us = timeStream(
      [&] {
        CHECK(cu.cuMemcpyDtoDAsync(pool + poolBytes - bytes, pool, bytes,
                                   machine.stream));
      },
      9, 400);
  return 2.0 * bytes / us / 1e3;
}

namespace {
/// Weights taken one after another out of memory far larger than L2, and three
/// buffers of activations: a product reads one and writes the next.
struct Stage {
  CUdeviceptr pool = 0;
  size_t poolBytes = 0, next = 0;
  CUdeviceptr activations[3] = {}, scales = 0;

  explicit Stage(size_t bytes) : poolBytes(bytes) {
    pool = allocateFilled(bytes, 3);
    for (CUdeviceptr &a : activations)
      a = allocateFilled(size_t(40) << 20, 4);
    scales = allocateFilled(size_t(4) << 20, 5);
  }
  CUdeviceptr take(size_t bytes) {
    bytes = (bytes + 4095) / 4096 * 4096;
    if (next + bytes > poolBytes)
      next = 0;
    CUdeviceptr at = pool + next;
    next += bytes;
    return at;
  }
};

struct Kernel {
  explicit Kernel(const Entry &e)
      : name(e.text("name")), bytes(size_t(e.number("bytes"))),
        shared(size_t(e.number("shared"))), grid(unsigned(e.number("grid"))),
        block(unsigned(32 * e.number("warps"))) {
    f = function(name + ".cubin", name, shared);
  }
  void add(Graph &graph, Stage &stage, int i, Edge edge) const {
    graph.kernel(f, grid, block, shared,
                 {stage.take(bytes), stage.activations[i % 3],
                  stage.activations[(i + 1) % 3], stage.scales},
                 edge);
  }
  std::string name;
  size_t bytes, shared;
  unsigned grid, block;
  CUfunction f = nullptr;
};
} // namespace

void mtp::gpu_check::runProducts() {
  Stage stage(size_t(6) << 30);
  double copy = copyRate(stage.pool, stage.poolBytes);
  report("copy GB/s, both directions", copy);
  double start = now();
  for (const Entry &e : readManifest("product")) {
    if (now() - start > 150) {
      report("stopped for time before", e.text("name"));
      break;
    }
    Kernel kernel(e);
    int length =
        int(std::clamp<size_t>((size_t(2) << 30) / kernel.bytes, 6, 60));
    for (Edge edge : {Edge::Ordinary, Edge::Programmatic}) {
      Graph graph;
      for (int i = 0; i < length; ++i)
        kernel.add(graph, stage, i, edge);
      CUgraphExec exec = graph.instantiate();
      double us = timeGraph(exec, 9, 40) / length;
      CHECK(cu.cuGraphExecDestroy(exec));
      CHECK(cu.cuGraphDestroy(graph.get()));
      const char *what = edge == Edge::Ordinary ? " ordinary" : " programmatic";
      report(kernel.name + what + " us", us);
      report(kernel.name + what + " share", kernel.bytes / us / 1e3 / copy);
    }
  }
  report("copy GB/s at the end", copyRate(stage.pool, stage.poolBytes));
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at <= text.size() && !text.empty()) {
    size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

/// A product of a row of the persistent kernel's table.
struct Row {
  uint64_t weights, input, output, steps, groups;
  float scale;
  uint32_t unused[5];
};
static_assert(sizeof(Row) == 64);

namespace {
/// Decode attention of a layer at a context of 512, between its first and its
/// second product.
struct LayerAttention {
  static constexpr size_t kContext = 512, kPages = kContext / 64,
                          kPageBytes = 8 * 64 * 128 * 2;
  CUfunction part = nullptr, combine = nullptr;
  size_t shared = 0, rows = 0, splits = 0;
  CUdeviceptr table = 0, parts = 0, counters = 0;

  explicit LayerAttention(const Entry &e)
      : shared(size_t(e.number("shared"))), rows(size_t(e.number("used"))),
        splits(kContext / size_t(e.number("split"))) {
    part = function(e.text("name") + ".cubin", e.text("name"), shared);
    std::string name = "combine_" + std::to_string(rows);
    combine = function(name + ".cubin", name);
    table = upload(std::vector<uint32_t>{5, 2, 7, 0, 1, 6, 3, 4});
    parts = allocate(8 * splits * 16 * 130 * 4);
    counters = upload(std::vector<uint32_t>(8));
  }
  /// Two nodes; the queries are the products' numbers, the keys and values a
  /// layer's own. The products go on from their own activations: what counts
  /// here is time.
  void add(Graph &graph, Stage &stage, int i) const {
    CUdeviceptr keys = stage.take(kPages * kPageBytes),
                values = stage.take(kPages * kPageBytes);
    graph.kernel(part, unsigned(8 * splits), 128, shared,
                 {stage.activations[(i + 1) % 3], keys, values, table, kPages,
                  kContext, parts, counters, parts},
                 Edge::Programmatic);
    graph.kernel(
        combine, unsigned(8 * rows), 128, 0,
        {parts, stage.activations[(i + 2) % 3] + (size_t(20) << 20), splits},
        Edge::Programmatic);
  }
};

struct Model {
  std::string name;
  std::vector<const Entry *> products; // all of them, in order
  int64_t perLayer = 0, layers = 0;
  size_t bytes = 0;
};
} // namespace

static Model makeModel(const Entry &e,
                       const std::map<std::string, Entry> &known) {
  Model model;
  model.name = e.text("name");
  auto add = [&](const std::string &name) {
    model.products.push_back(&known.at(name));
    model.bytes += size_t(known.at(name).number("bytes"));
  };
  model.layers = e.number("layers");
  for (int64_t layer = 0; layer < model.layers; ++layer)
    for (const std::string &name : split(e.text("products")))
      add(name);
  model.perLayer = int64_t(model.products.size()) / model.layers;
  for (const std::string &name : split(e.text("head")))
    add(name);
  return model;
}

/// What the last of `count` products writes if the first starts from the same
/// activations as ever.
static std::vector<uint16_t> runOnce(CUgraphExec exec, Stage &stage,
                                     int count) {
  for (CUdeviceptr a : stage.activations)
    launch(machineKernel("fill"), 132, 256, 0, {a, (size_t(40) << 20) / 4, 4});
  CHECK(cu.cuGraphLaunch(exec, machine.stream));
  synchronize();
  return download<uint16_t>(stage.activations[count % 3], 1 << 14);
}

namespace {
/// Nodes that do nothing much, as a model has them between its products: two
/// after the first product of a layer, or one after each.
enum class Small { None, TwoPerLayer, AfterEach };
} // namespace

/// The chain as a graph.
static double timeModel(const Model &model, Stage &stage, Edge edge,
                        Small small, std::vector<uint16_t> *result = nullptr,
                        const LayerAttention *attention = nullptr) {
  Graph graph;
  stage.next = 0;
  CUfunction node = machineKernel("node_read");
  CUdeviceptr slots = allocateFilled(1 << 20, 7),
              more = allocateFilled(1 << 20, 8);
  int i = 0;
  for (const Entry *e : model.products) {
    Kernel(*e).add(graph, stage, i++, edge);
    bool first = (i - 1) % model.perLayer == 0 &&
                 (i - 1) / model.perLayer < model.layers;
    if (attention && first)
      attention->add(graph, stage, i - 1);
    int nodes = small == Small::AfterEach              ? 1
                : small == Small::TwoPerLayer && first ? 2
                                                       : 0;
    for (int j = 0; j < nodes; ++j)
      graph.kernel(node, 132, 256, 0, {slots, more}, edge);
  }
  CUgraphExec exec = graph.instantiate();
  double us = timeGraph(exec, 9, 400);
  if (result)
    *result = runOnce(exec, stage, i);
  CHECK(cu.cuGraphExecDestroy(exec));
  return us;
}

static double timePersistent(const Model &model, const Entry &kernel,
                             Stage &stage, std::vector<uint16_t> *result) {
  std::vector<Row> rows;
  stage.next = 0;
  size_t warps = size_t(kernel.number("warps")),
         unroll = size_t(kernel.number("unroll")),
         height = size_t(kernel.number("height"));
  int i = 0;
  for (const Entry *e : model.products) {
    Row row = {};
    row.weights = stage.take(size_t(e->number("bytes")));
    row.input = stage.activations[i % 3];
    row.output = stage.activations[(i + 1) % 3];
    row.steps = size_t(e->number("inputs")) / 32 / warps / unroll;
    row.groups = size_t(e->number("rows")) / 16 / height;
    row.scale = std::strtof(e->text("scale").c_str(), nullptr);
    rows.push_back(row);
    ++i;
  }
  // Where the issuing side stands when all loads have been issued.
  Row end = rows.back();
  end.groups = uint64_t(1) << 40;
  rows.push_back(end);
  CUdeviceptr table = upload(rows), counters = allocate(rows.size() * 128);
  size_t shared = size_t(kernel.number("shared"));
  CUfunction f =
      function(kernel.text("name") + ".cubin", kernel.text("name"), shared);
  Graph graph;
  graph.clear(counters, rows.size() * 128);
  graph.kernel(f, unsigned(kernel.number("grid")), unsigned(32 * warps), shared,
               {table, counters, rows.size() - 1});
  CUgraphExec exec = graph.instantiate();
  double us = timeGraph(exec, 9, 400);
  if (result)
    *result = runOnce(exec, stage, i);
  CHECK(cu.cuGraphExecDestroy(exec));
  return us;
}

void mtp::gpu_check::runModels() {
  std::map<std::string, Entry> known;
  for (const Entry &e : readManifest("product"))
    known[e.text("name")] = e;
  for (const Entry &e : readManifest("modelproduct"))
    known[e.text("name")] = e;
  std::vector<Entry> models = readManifest("model");
  size_t largest = 0;
  for (const Entry &e : models)
    largest =
        std::max(largest, makeModel(e, known).bytes + (size_t(256) << 20));
  Stage stage(std::max(largest, size_t(8) << 30));
  double copy = copyRate(stage.pool, stage.poolBytes);
  report("copy GB/s, both directions", copy);
  double start = now();
  for (const Entry &e : models) {
    Model model = makeModel(e, known);
    if (now() - start > 100) {
      report("stopped for time before", model.name);
      break;
    }
    report(model.name + " GB", model.bytes / 1e9);
    auto tell = [&](const std::string &how, double us) {
      report(model.name + ", " + how + ": us", us);
      report(model.name + ", " + how + ": share",
             model.bytes / us / 1e3 / copy);
    };
    std::vector<uint16_t> chain, one;
    tell("programmatic",
         timeModel(model, stage, Edge::Programmatic, Small::None, &chain));
    tell("ordinary", timeModel(model, stage, Edge::Ordinary, Small::None));
    tell("programmatic, two small nodes a layer",
         timeModel(model, stage, Edge::Programmatic, Small::TwoPerLayer));
    tell("programmatic, a small node after each",
         timeModel(model, stage, Edge::Programmatic, Small::AfterEach));
    for (const Entry &a : readManifest("attention")) {
      if (a.text("name") != e.text("attention"))
        continue;
      LayerAttention attention(a);
      double us = timeModel(model, stage, Edge::Programmatic, Small::None,
                            nullptr, &attention);
      size_t bytes = model.bytes + size_t(model.layers) * 2 *
                                       LayerAttention::kPages *
                                       LayerAttention::kPageBytes;
      std::string how = ", programmatic, attention over 512 tokens";
      report(model.name + how + ": us", us);
      report(model.name + how + ": share", bytes / us / 1e3 / copy);
    }
    for (const std::string &name : split(e.text("persistent")))
      for (const Entry &kernel : readManifest("persistent")) {
        if (kernel.text("name") != name)
          continue;
        tell("persistent, " + name, timePersistent(model, kernel, stage, &one));
        size_t differ = 0;
        for (size_t i = 0; i < one.size(); ++i)
          differ += one[i] != chain[i];
        report(model.name + ", persistent, " + name +
                   ": outputs unlike the chain's",
               double(differ));
      }
  }
  report("copy GB/s at the end", copyRate(stage.pool, stage.poolBytes));
}
