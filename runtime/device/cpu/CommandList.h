//===- CommandList.h - A program with addresses in it -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H
#define MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H

#include "runtime/device/CommandTimes.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/KernelImage.h"
#include "runtime/device/cpu/WorkerPool.h"

#include <vector>

namespace mtp {

/// One call, all addresses resolved.
struct ResolvedCommand {
  KernelFunction kernel;
  /// Index of its first buffer in CommandList::buffers.
  uint32_t firstBuffer;
  /// Whether worker 0 does all tasks.
  bool solo;
  /// Whether workers must meet before the next command.
  bool barrierAfter;
  const int64_t *params;
  int64_t tasks;
};

/// A program, ready to be walked by all workers.
struct CommandList {
  std::vector<ResolvedCommand> commands;
  std::vector<void *> buffers;
};

/// Runs a list on all workers. `scratch` has one block per worker, `stride`
/// bytes apart. With `times`, stores when each worker ran each command.
void runCommands(const CommandList &list, WorkerPool &pool, uint8_t *scratch,
                 uint64_t stride, CommandTimes *times = nullptr);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H
