//===- PromptRows.cpp - Prompt rows beside running sequences --------------===//

#include "runtime/exec/schedule/PromptRows.h"
#include "runtime/schema/Tunables.h"

#include <algorithm>

using namespace mtp;

/// Prompt rows that a round has in any case: without a limit on its time, and
/// with one, so that a prompt comes to its end.
static constexpr uint32_t kLeastMixed = 16, kLeastInTime = 1;

uint32_t mtp::rowsBesideRunning(const SessionOptions &options,
                                const PrefillCostModel &passes,
                                double roundSeconds) {
  if (options.promptMilliseconds == 0)
    return options.prefillChunk;
  double seconds = std::max(options.promptMilliseconds / 1e3, roundSeconds);
  uint64_t rows = std::max<uint64_t>(passes.rowsIn(seconds),
                                     uint64_t(tunable::kLeastPassRows.value));
  return uint32_t(std::min<uint64_t>(rows, options.prefillChunk));
}

uint32_t mtp::rowsInRound(const SessionOptions &options,
                          const PrefillCostModel &rounds, double roundSeconds,
                          uint64_t rows, uint32_t most) {
  if (options.stepMilliseconds == 0 && options.promptMilliseconds == 0)
    return most;
  double prompt = std::max(options.promptMilliseconds / 1e3, roundSeconds);
  double seconds = options.stepMilliseconds ? options.stepMilliseconds / 1e3
                                            : roundSeconds + prompt;
  uint64_t all = rounds.rowsIn(seconds);
  uint64_t room =
      std::max<uint64_t>(all > rows ? all - rows : 0,
                         options.stepMilliseconds ? kLeastInTime : kLeastMixed);
  return uint32_t(std::min<uint64_t>(room, most));
}
