//===- Ring.cpp - A ring that one kernel writes and another releases ------===//
//
// One kernel writes a round's tokens to pinned memory. A later one, on another
// processor and after a programmatic edge, tells the host that they are there.
// By PTX's definition its fence covers the stores of the first kernel.
//
//===----------------------------------------------------------------------===//

#include "Gpu.h"
#include "Parts.h"

#include <algorithm>
#include <atomic>

using namespace mtp::gpu_check;

namespace {
constexpr uint64_t kEntries = 1 << 14, kWords = 32;
constexpr unsigned kBlocks = 132;

struct Seen {
  uint64_t rounds = 0;
  /// Number of entries that belonged to an earlier round, and number of entries
  /// that belonged to a later one because the host was slow.
  uint64_t stale = 0, overrun = 0;
  double seconds = 0;
};

struct Pinned {
  uint64_t count;
  uint64_t unused[31];
  uint64_t ring[kEntries * kWords];
};
} // namespace

static void look(Pinned &pinned, uint64_t round, Seen &seen) {
  const uint64_t *entry = pinned.ring + round % kEntries * kWords;
  uint64_t least = UINT64_MAX, most = 0;
  for (uint64_t i = 0; i < kWords; ++i) {
    uint64_t word = std::atomic_ref(const_cast<uint64_t &>(entry[i]))
                        .load(std::memory_order_relaxed);
    least = std::min(least, word);
    most = std::max(most, word);
  }
  seen.stale += least < round + 1;
  seen.overrun += most > round + 1;
}

/// Runs `limit` rounds in a loop on the device, and checks each entry as soon
/// as it is announced.
static Seen run(Pinned &pinned, uint64_t limit, bool waits) {
  pinned.count = 0;
  std::fill_n(pinned.ring, kEntries * kWords, 0);
  CUdeviceptr turns = allocate(8);
  CHECK(cu.cuMemsetD8Async(turns, 0, 8, machine.stream));
  Graph graph;
  CUgraphConditionalHandle handle = graph.handle(1);
  Graph body(graph.conditional(handle, CU_GRAPH_COND_TYPE_WHILE));
  // Addresses are the same for both, as always with unified addressing.
  body.kernel(machineKernel("ring_write"), kBlocks, kWords, 0,
              {reinterpret_cast<uint64_t>(pinned.ring), kEntries, turns},
              Edge::Programmatic);
  body.kernel(
      machineKernel("ring_release"), 1, 1, 0,
      {handle, turns, reinterpret_cast<uint64_t>(&pinned.count), limit, waits},
      Edge::Programmatic);
  CUgraphExec exec = graph.instantiate();
  Seen seen;
  double start = now();
  CHECK(cu.cuGraphLaunch(exec, machine.stream));
  while (seen.rounds < limit && now() - start < 10) {
    uint64_t there =
        std::atomic_ref(pinned.count).load(std::memory_order_acquire);
    for (; seen.rounds < std::min(there, limit); ++seen.rounds)
      look(pinned, seen.rounds, seen);
  }
  seen.seconds = now() - start;
  synchronize();
  return seen;
}

void mtp::gpu_check::runRing() {
  void *memory = nullptr;
  CHECK(cu.cuMemHostAlloc(&memory, sizeof(Pinned), CU_MEMHOSTALLOC_DEVICEMAP));
  Pinned &pinned = *static_cast<Pinned *>(memory);
  const uint64_t limit = 1000000;
  Seen seen = run(pinned, limit, /*waits=*/true);
  report("rounds that the host looked at", double(seen.rounds));
  report("rounds that it came too late for", double(seen.overrun));
  report("us of a round", seen.seconds * 1e6 / double(seen.rounds));
  expect("all rounds were there", seen.rounds == limit, double(seen.rounds));
  expect("no stale entry", seen.stale == 0, double(seen.stale));
  // The control shows that a stale entry is detected.
  Seen control = run(pinned, limit / 10, /*waits=*/false);
  expect("stale entries if no kernel waits (control)", control.stale > 0,
         double(control.stale));
}
