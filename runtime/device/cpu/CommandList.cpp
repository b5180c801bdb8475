//===- CommandList.cpp - A program with resolved addresses ----------------===//

#include "runtime/device/cpu/CommandList.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <chrono>

using namespace mtp;

namespace {
struct Walk {
  const CommandList &list;
  uint32_t workers;
  uint8_t *scratch;
  uint64_t stride;
  /// Null for a run that is not timed.
  CommandTimes *times;
};
} // namespace

static uint64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

void CommandList::divide(uint32_t workers) {
  stages.clear();
  shares.clear();
  for (uint32_t begin = 0, end; begin < commands.size(); begin = end) {
    uint32_t most = 1;
    for (end = begin; end < commands.size();) {
      const ResolvedCommand &command = commands[end++];
      if (!command.solo)
        most = uint32_t(
            std::clamp<int64_t>(command.tasks, int64_t(most), workers));
      // A single worker needs no barriers.
      if (command.barrierAfter && workers > 1)
        break;
    }
    stages.push_back({begin, end});
    shares.push_back(most);
  }
}

/// Returns the first task of share `share` of `sharers` shares.
static int64_t firstTask(int64_t tasks, int64_t sharers, int64_t share) {
  int64_t quota = tasks / sharers, rest = tasks % sharers;
  return quota * share + std::min(share, rest);
}

namespace {
/// A command with its active rows. Their number is known when its stage begins,
/// or to the single thread that packs them and runs the command.
class ActiveCommand {
public:
  /// Reads the number of active rows only if the thread has a share.
  ActiveCommand(const ResolvedCommand &command, bool hasShare)
      : params(command.params), tasks(command.tasks) {
    if (!command.live || !hasShare)
      return;
    int64_t rows = std::clamp<int64_t>(*command.live, 0, command.params[0]);
    if (rows == command.params[0])
      return;
    std::copy_n(command.params, command.shape.params, own);
    own[0] = rows;
    params = own;
    tasks = rows ? command.shape.at(rows) : 0;
  }
  ActiveCommand(const ActiveCommand &) = delete;

  const int64_t *params;
  int64_t tasks;

private:
  int64_t own[kMostActiveParams];
};
} // namespace

/// Runs shares of the commands of a stage. Timed runs have a function of their
/// own, so that other runs pay nothing for it.
template <bool isTimed>
static void runShares(void *context, uint32_t stage, uint32_t beginShare,
                      uint32_t endShare, uint32_t runner) {
  Walk &w = *static_cast<Walk *>(context);
  uint8_t *scratch = w.scratch ? w.scratch + runner * w.stride : nullptr;
  CommandList::Stage range = w.list.stages[stage];
  uint64_t last = isTimed ? now() : 0;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const ResolvedCommand &command = w.list.commands[i];
    int64_t sharers = command.solo ? 1 : w.workers;
    ActiveCommand live(command, beginShare < sharers);
    int64_t begin =
        firstTask(live.tasks, sharers, std::min<int64_t>(beginShare, sharers));
    int64_t end =
        firstTask(live.tasks, sharers, std::min<int64_t>(endShare, sharers));
    if (begin < end)
      command.kernel(w.list.buffers.data() + command.firstBuffer, live.params,
                     begin, end, scratch);
    // A command begins when the previous one ended, so each needs one read of
    // the clock. Shares that run as one piece are timed as the first share.
    if constexpr (isTimed) {
      uint64_t time = now();
      w.times->store(beginShare)[i] = {last, time, time};
      last = time;
      for (uint32_t share = beginShare + 1; share < endShare; ++share)
        w.times->store(share)[i] = {last, last, last};
    }
  }
}

/// Fills in the times of shares without tasks, and the times at which barriers
/// released workers. A worker is released when its next share begins.
static void addWaits(const CommandList &list, CommandTimes &times,
                     uint64_t start) {
  for (uint32_t worker = 0; worker < times.workers(); ++worker) {
    CommandTime *of = times.store(worker);
    uint64_t last = start;
    for (size_t s = 0; s < list.stages.size(); ++s) {
      CommandList::Stage range = list.stages[s];
      if (worker >= list.shares[s])
        std::fill(of + range.begin, of + range.end,
                  CommandTime{last, last, last});
      CommandTime &final = of[range.end - 1];
      bool goesOn = s + 1 < list.stages.size() && worker < list.shares[s + 1];
      uint64_t released = goesOn ? of[range.end].begin : final.end;
      for (uint32_t other = 0; other < list.shares[s]; ++other)
        released = std::max(released, times.store(other)[range.end - 1].end);
      last = final.released = released;
    }
  }
}

void mtp::runCommands(const CommandList &list, WorkerPool &pool,
                      uint8_t *scratch, uint64_t stride, CommandTimes *times) {
  Walk context{list, pool.size(), scratch, stride, times};
  if (!times)
    return pool.run({list.shares, runShares<false>, &context});
  times->reset(pool.size(), list.commands.size());
  uint64_t start = now();
  pool.run({list.shares, runShares<true>, &context});
  addWaits(list, *times, start);
}
