//===- CommandTimes.h - When each worker ran each command -------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_COMMANDTIMES_H
#define MTP_RUNTIME_DEVICE_COMMANDTIMES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mtp {

/// One command of one worker's share, in nanoseconds of a clock that all
/// workers share and that never goes back.
struct CommandTime {
  /// When it began its share of the tasks. A worker without a share ends where
  /// it begins.
  uint64_t begin = 0;
  uint64_t end = 0;
  /// When it could go on: `end`, or where a barrier follows, the moment that
  /// the last worker had come.
  uint64_t released = 0;

  uint64_t work() const { return end - begin; }
  uint64_t wait() const { return released - end; }
};

/// The times of one run of a program. Command i is `commands[i]` of that
/// program in its plan, which names the kernel.
class CommandTimes {
public:
  uint32_t workers() const { return workerCount; }
  size_t commands() const { return commandCount; }

  /// The times of one worker, command after command.
  std::span<const CommandTime> of(uint32_t worker) const {
    return std::span(times).subspan(worker * commandCount, commandCount);
  }

  /// Makes room before a run, so that workers only store. No memory is
  /// allocated when it had that size before.
  void reset(uint32_t workers, size_t commands) {
    workerCount = workers;
    commandCount = commands;
    times.resize(workers * commands);
  }
  /// Where a worker stores its times.
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
