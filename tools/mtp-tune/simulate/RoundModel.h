//===- RoundModel.h - The time of a round on another machine ----*- C++ -*-===//
//
// A round is a list of commands. Each command takes the longest of three times:
// its bytes from memory, its bytes from the last cache, and its operations. The
// time of its start comes on top. Commands of one program follow each other.
//
// On a GPU every task of a product reads all rows again, from the last cache.
// With more rows these reads exceed the reads of weights. The number of tasks
// and the bytes of rows come from the artifact, so that the model knows which
// kernel family and tile a plan has.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_SIMULATE_ROUNDMODEL_H
#define MTP_TOOLS_MTP_TUNE_SIMULATE_ROUNDMODEL_H

#include "runtime/artifact/Artifact.h"
#include "tools/mtp-tune/simulate/MachineFile.h"

namespace mtp::tune {

/// The predicted time of a round, and its content.
struct RoundTime {
  double seconds = 0;
  /// Seconds by the limit of each command, and of all starts of commands.
  double memory = 0, cache = 0, arithmetic = 0, starts = 0;
  /// Bytes from memory, and operations.
  double bytes = 0, ops = 0;
  uint32_t commands = 0;
};

/// Predicts rounds of one plan on a machine.
class RoundModel {
public:
  /// `artifact` and `plan` must outlive it.
  RoundModel(const Artifact &artifact, const Plan &plan, const Machine &machine)
      : artifact(artifact), plan(plan), machine(machine) {}

  /// Returns the time of a program for `n` slots with `context` tokens each.
  RoundTime predict(const Program &program, uint32_t n, uint32_t context) const;

private:
  /// Adds a command to a round. `isJoined`: it starts with the command before
  /// it.
  void add(RoundTime &round, const Program &program, const Command &command,
           uint32_t n, uint32_t context, bool isJoined) const;
  double cacheBytes(const Program &program, const Command &command,
                    uint32_t n) const;

  const Artifact &artifact;
  const Plan &plan;
  const Machine machine;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_SIMULATE_ROUNDMODEL_H
