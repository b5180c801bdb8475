//===- CommandList.cpp - A program with addresses in it -------------------===//

#include "runtime/device/cpu/CommandList.h"

using namespace mtp;

void CommandList::placeBarriers() {
  for (size_t i = 0; i < commands.size(); ++i) {
    bool last = i + 1 == commands.size();
    commands[i].barrierAfter =
        !last && (commands[i].tasks > 1 || commands[i + 1].tasks > 1);
  }
}

namespace {
struct Walk {
  const CommandList &list;
  WorkerPool &pool;
  uint8_t *scratch;
  uint64_t stride;
};
} // namespace

/// Every worker walks the whole list by itself and takes its share of each
/// command; nobody hands out work.
static void walk(void *context, uint32_t worker) {
  Walk &w = *static_cast<Walk *>(context);
  int64_t workers = w.pool.size();
  uint8_t *scratch = w.scratch ? w.scratch + worker * w.stride : nullptr;
  for (const ResolvedCommand &command : w.list.commands) {
    int64_t quota = command.tasks / workers, rest = command.tasks % workers;
    int64_t begin = quota * worker + std::min<int64_t>(worker, rest);
    int64_t end = begin + quota + (worker < rest ? 1 : 0);
    if (begin < end)
      command.kernel(w.list.buffers.data() + command.firstBuffer,
                     command.params, begin, end, scratch);
    if (command.barrierAfter && workers > 1)
      w.pool.barrier().wait();
  }
}

void mtp::runCommands(const CommandList &list, WorkerPool &pool,
                      uint8_t *scratch, uint64_t stride) {
  Walk context{list, pool, scratch, stride};
  pool.run(walk, &context);
}
