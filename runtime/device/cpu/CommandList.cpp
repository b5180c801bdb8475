//===- CommandList.cpp - A program with addresses in it -------------------===//

#include "runtime/device/cpu/CommandList.h"

#include <chrono>

using namespace mtp;

namespace {
struct Walk {
  const CommandList &list;
  WorkerPool &pool;
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

/// Every worker walks the whole list by itself and takes its share of each
/// command; nobody hands out work. One function for timed runs and one for all
/// others, so that times cost those nothing.
template <bool isTimed>
static void walk(void *context, uint32_t worker) {
  Walk &w = *static_cast<Walk *>(context);
  int64_t workers = w.pool.size();
  uint8_t *scratch = w.scratch ? w.scratch + worker * w.stride : nullptr;
  CommandTime *time = isTimed ? w.times->store(worker) : nullptr;
  uint64_t last = isTimed ? now() : 0;
  for (const ResolvedCommand &command : w.list.commands) {
    int64_t sharers = command.solo ? 1 : workers;
    int64_t quota = command.tasks / sharers, rest = command.tasks % sharers;
    int64_t begin = quota * worker + std::min<int64_t>(worker, rest);
    int64_t end = begin + quota + (worker < rest ? 1 : 0);
    if (begin < end && worker < sharers)
      command.kernel(w.list.buffers.data() + command.firstBuffer,
                     command.params, begin, end, scratch);
    // A command begins where the last one let go: two looks at the clock each.
    if constexpr (isTimed) {
      time->begin = last;
      time->end = last = now();
    }
    if (command.barrierAfter && workers > 1) {
      w.pool.barrier().wait();
      if constexpr (isTimed)
        last = now();
    }
    if constexpr (isTimed)
      time++->released = last;
  }
}

void mtp::runCommands(const CommandList &list, WorkerPool &pool,
                      uint8_t *scratch, uint64_t stride, CommandTimes *times) {
  if (times)
    times->reset(pool.size(), list.commands.size());
  Walk context{list, pool, scratch, stride, times};
  pool.run(times ? walk<true> : walk<false>, &context);
}
