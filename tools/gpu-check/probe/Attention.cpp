//===- Attention.cpp - Decode attention over pages ------------------------===//

#include "Emulation.h"
#include "Gpu.h"
#include "Parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace mtp::gpu_check;

static const size_t kPage = 64, kHead = 128, kHeads = 8;

namespace {
struct Kernels {
  Kernels(const Entry &e, const std::string &combineName)
      : rows(size_t(e.number("rows"))), group(size_t(e.number("group"))),
        split(size_t(e.number("split"))), shared(size_t(e.number("shared"))),
        threads(unsigned(32 * e.number("warps"))),
        fused(e.number("fused") != 0) {
    part = function(e.text("name") + ".cubin", e.text("name"), shared);
    combine = function(combineName + ".cubin", combineName);
  }
  size_t rows, group, split, shared;
  unsigned threads;
  bool fused;
  CUfunction part = nullptr, combine = nullptr;
};

struct Cache {
  CUdeviceptr queries = 0, keys = 0, values = 0, table = 0, parts = 0,
              output = 0, counters = 0;
  size_t slots = 0, pages = 0; // pages of a slot
};
} // namespace

static void enqueue(Graph &graph, const Kernels &k, const Cache &c,
                    size_t length) {
  size_t splits = (length + k.split - 1) / k.split;
  graph.kernel(k.part, unsigned(c.slots * kHeads * splits), k.threads, k.shared,
               {c.queries, c.keys, c.values, c.table, c.pages, length, c.parts,
                c.counters, c.output},
               Edge::Programmatic);
  if (k.fused)
    return;
  graph.kernel(k.combine, unsigned(c.slots * kHeads * k.rows * k.group), kHead,
               0, {c.parts, c.output, splits}, Edge::Programmatic);
}

static void allocateRest(Cache &c, size_t length, size_t split) {
  size_t splits = (length + split - 1) / split;
  c.parts = allocate(c.slots * kHeads * splits * 16 * (kHead + 2) * 4);
  c.output = allocate(c.slots * kHeads * 16 * kHead * 4);
  c.counters = upload(std::vector<uint32_t>(c.slots * kHeads));
}

static std::vector<uint32_t> shuffledTable(size_t pages) {
  std::vector<uint32_t> table(pages);
  for (size_t i = 0; i < pages; ++i)
    table[i] = uint32_t(i);
  std::shuffle(table.begin(), table.end(), std::mt19937(7));
  return table;
}

/// Small, against sums in double; and each row of a window against the same row
/// alone.
static void correctness(const Kernels &wide, const Kernels &single) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  Cache c;
  c.slots = 2;
  const size_t length = 1300;
  c.pages = (length + kPage - 1) / kPage;
  size_t pages = c.slots * c.pages, page = kHeads * kPage * kHead;
  std::vector<uint16_t> q(c.slots * kHeads * 16 * kHead), k(pages * page),
      v(pages * page);
  for (auto *data : {&q, &k, &v})
    for (uint16_t &x : *data)
      x = toBf16(normal(generator));
  std::vector<uint32_t> table = shuffledTable(pages);
  c.queries = upload(q), c.keys = upload(k), c.values = upload(v),
  c.table = upload(table);
  allocateRest(c, length, wide.split);
  auto run = [&](const Kernels &kernels, size_t tokens) {
    Graph graph;
    enqueue(graph, kernels, c, tokens);
    CHECK(cu.cuGraphLaunch(graph.instantiate(), machine.stream));
    synchronize();
    return download<float>(c.output, c.slots * kHeads * 16 * kHead);
  };
  std::vector<float> y = run(wide, length);
  double worst = 0, size = 0;
  for (size_t slot = 0; slot < c.slots; ++slot)
    for (size_t head = 0; head < kHeads; ++head)
      for (size_t row = 0; row < wide.rows * wide.group; ++row) {
        size_t first = ((slot * kHeads + head) * 16 + row) * kHead;
        size_t seen = length - wide.rows + 1 + row / wide.group;
        std::vector<double> scores(seen), out(kHead);
        double top = -1e300, sum = 0;
        auto at = [&](size_t t) {
          return (table[slot * c.pages + t / kPage] * kHeads + head) * kPage *
                 kHead;
        };
        for (size_t t = 0; t < seen; ++t) {
          for (size_t d = 0; d < kHead; ++d)
            scores[t] += double(fromBf16(q[first + d])) *
                         fromBf16(k[at(t) + t % kPage * kHead + d]);
          scores[t] /= std::sqrt(double(kHead));
          top = std::max(top, scores[t]);
        }
        for (size_t t = 0; t < seen; ++t) {
          double p = std::exp(scores[t] - top);
          sum += p;
          for (size_t d = 0; d < kHead; ++d)
            out[d] += p * fromBf16(v[at(t) + d * kPage + t % kPage]);
        }
        for (size_t d = 0; d < kHead; ++d) {
          double error = std::fabs(out[d] / sum - y[first + d]);
          worst = error <= worst ? worst : std::isnan(error) ? INFINITY : error;
          size = std::max(size, std::fabs(out[d] / sum));
        }
      }
  report("largest error over largest output", worst / size);
  // Row r of the window as the only row of a shorter context.
  size_t differ = 0;
  for (size_t r = 0; r < wide.rows; ++r) {
    std::vector<uint16_t> alone = q;
    for (size_t i = 0; i < c.slots * kHeads; ++i)
      for (size_t j = 0; j < wide.group * kHead; ++j)
        alone[i * 16 * kHead + j] = q[(i * 16 + r * wide.group) * kHead + j];
    CHECK(cu.cuMemcpyHtoD(c.queries, alone.data(), alone.size() * 2));
    std::vector<float> one = run(single, length - wide.rows + 1 + r);
    for (size_t i = 0; i < c.slots * kHeads; ++i)
      for (size_t j = 0; j < wide.group * kHead; ++j)
        differ +=
            std::memcmp(&one[i * 16 * kHead + j],
                        &y[(i * 16 + r * wide.group) * kHead + j], 4) != 0;
  }
  report("outputs of a window of 4 that differ from rows alone",
         double(differ));
}

void mtp::gpu_check::runAttention() {
  std::vector<Entry> entries = readManifest("attention");
  if (entries.empty())
    return;
  auto combineOf = [](const Entry &e) {
    return "combine_" + std::to_string(e.number("rows") * e.number("group"));
  };
  for (const Entry &wide : entries)
    for (const Entry &single : entries)
      if (wide.number("rows") == 4 && single.number("rows") == 1 &&
          wide.text("name").substr(wide.text("name").find("_split")) ==
              single.text("name").substr(single.text("name").find("_split"))) {
        report("checked", wide.text("name"));
        correctness(Kernels(wide, combineOf(wide)),
                    Kernels(single, combineOf(single)));
      }

  const size_t pageBytes = kHeads * kPage * kHead * 2,
               pages = (size_t(64) * 4096) / kPage;
  Cache c;
  c.keys = allocateFilled(pages * pageBytes, 1);
  c.values = allocateFilled(pages * pageBytes, 2);
  c.queries = allocateFilled(64 * kHeads * 16 * kHead * 2, 3);
  c.table = upload(shuffledTable(pages));
  c.parts = allocate(size_t(512) << 20);
  c.output = allocate(64 * kHeads * 16 * kHead * 4);
  c.counters = upload(std::vector<uint32_t>(64 * kHeads));
  double copy = timeStream(
      [&] {
        CHECK(cu.cuMemcpyDtoDAsync(c.values, c.keys, pages * pageBytes,
                                   machine.stream));
      },
      9);
  copy = 2.0 * pages * pageBytes / copy / 1e3;
  report("copy GB/s of 0.5 GB, both directions", copy);
  const struct {
    size_t slots, length;
  } points[] = {{64, 4096}, {8, 32768}, {1, 512},
                {1, 4096},  {1, 32768}, {8, 512}};
  for (const Entry &e : entries) {
    Kernels kernels(e, combineOf(e));
    for (const auto &point : points) {
      c.slots = point.slots;
      c.pages = point.length / kPage;
      Graph graph;
      // Small contexts come from other pages each time, so that L2 is cold.
      size_t bytes = point.slots * c.pages * pageBytes * 2;
      size_t turns = std::clamp<size_t>((size_t(1) << 30) / bytes, 1, 40);
      Cache turn = c;
      for (size_t i = 0; i < turns; ++i) {
        turn.table = c.table + i * point.slots * c.pages * 4;
        enqueue(graph, kernels, turn, point.length);
      }
      double us = timeGraph(graph.instantiate(), 9, 60) / turns;
      std::string name = e.text("name") + ", slots " +
                         std::to_string(point.slots) + ", context " +
                         std::to_string(point.length);
      report(name + ": us", us);
      report(name + ": share", bytes / us / 1e3 / copy);
    }
  }
}
