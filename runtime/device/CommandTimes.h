//===- CommandTimes.h - Times of commands by worker -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_COMMANDTIMES_H
#define MTP_RUNTIME_DEVICE_COMMANDTIMES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mtp {

/// Times of one command in one worker's share, in nanoseconds. All workers use
/// one clock that never goes back.
struct CommandTime {
  /// When the worker began its share of the tasks. Without a share `begin`
  /// equals `end`.
  uint64_t begin = 0;
  uint64_t end = 0;
  /// When the worker could continue: `end`, or, if a barrier follows, the
  /// moment when the last worker reached it.
  uint64_t released = 0;

  uint64_t work() const { return end - begin; }
  uint64_t wait() const { return released - end; }
};

/// The times of one run of a program. Command i is `commands[i]` of the program
/// in its plan, which names the kernel.
class CommandTimes {
public:
  uint32_t workers() const { return workerCount; }
  size_t commands() const { return commandCount; }

  /// Returns the times of one worker, command by command.
  std::span<const CommandTime> of(uint32_t worker) const {
    return std::span(times).subspan(worker * commandCount, commandCount);
  }

  /// Makes room before a run, so that workers only store. Allocates no memory
  /// if the size is unchanged.
  void reset(uint32_t workers, size_t commands) {
    workerCount = workers;
    commandCount = commands;
    times.resize(workers * commands);
  }
  /// Returns where a worker stores its times.
  CommandTime *store(uint32_t worker) {
    return times.data() + worker * commandCount;
  }

private:
  uint32_t workerCount = 0;
  size_t commandCount = 0;
  std::vector<CommandTime> times;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_COMMANDTIMES_H
