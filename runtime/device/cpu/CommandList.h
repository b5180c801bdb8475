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
  /// Whether workers must meet before the next command. Not so between two
  /// commands of one task: worker 0 runs both.
  bool barrierAfter;
  const int64_t *params;
  int64_t tasks;
};

/// A program, ready to be walked by all workers.
struct CommandList {
  std::vector<ResolvedCommand> commands;
  std::vector<void *> buffers;

  /// Sets barrierAfter of all commands. Call it when the list is complete.
  void placeBarriers();
};

/// Runs a list on all workers. `scratch` has one block per worker, `stride`
/// bytes apart. With `times`, stores when each worker ran each command.
void runCommands(const CommandList &list, WorkerPool &pool, uint8_t *scratch,
                 uint64_t stride, CommandTimes *times = nullptr);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H
