//===- CommandList.h - A program with resolved addresses --------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H
#define MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H

#include "runtime/device/CommandTimes.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/KernelImage.h"
#include "runtime/device/cpu/WorkerPool.h"

#include <algorithm>
#include <vector>

namespace mtp {

/// The number of tasks of a command as a function of its rows.
struct TasksOfRows {
  /// Zero: the number of tasks does not depend on the rows.
  int64_t rowsPerGroup = 0;
  int64_t tasks = 0;
  /// Maximum number of tasks; zero: no limit.
  int64_t most = 0;
  uint32_t params = 0;

  int64_t at(int64_t rows) const {
    int64_t groups =
        rowsPerGroup ? (rows + rowsPerGroup - 1) / rowsPerGroup : 1;
    return most ? std::min(groups * tasks, most) : groups * tasks;
  }
};

/// One call, all addresses resolved.
struct ResolvedCommand {
  KernelFunction kernel;
  /// Index of its first buffer in CommandList::buffers.
  uint32_t firstBuffer;
  /// Whether worker 0 does all tasks.
  bool solo;
  /// Whether there is a barrier before the next command.
  bool barrierAfter;
  const int64_t *params;
  int64_t tasks;
  /// Number of active rows; params[0] is the number of all rows. Null: all rows
  /// are active.
  const int32_t *live = nullptr;
  /// For a command with `live`: the number of tasks by rows.
  TasksOfRows shape = {};
};

/// A program, ready to be run by all workers.
struct CommandList {
  std::vector<ResolvedCommand> commands;
  std::vector<void *> buffers;
  /// Storage of the commands' params.
  std::vector<int64_t> params;

  /// The commands between two barriers; divide() also gives each stage its
  /// number of shares.
  struct Stage {
    uint32_t begin, end;
  };
  std::vector<Stage> stages;
  std::vector<uint32_t> shares;

  /// Groups the commands into stages for `workers` workers. Call it before a
  /// run, and again after commands have changed.
  void divide(uint32_t workers);
};

/// Runs a list that is divided for the pool's number of workers. `scratch` has
/// one block per worker, `stride` bytes apart. With `times`, stores when each
/// worker's share of each command ran.
void runCommands(const CommandList &list, WorkerPool &pool, uint8_t *scratch,
                 uint64_t stride, CommandTimes *times = nullptr);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_COMMANDLIST_H
