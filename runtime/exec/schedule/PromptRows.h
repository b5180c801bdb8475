//===- PromptRows.h - Prompt rows beside running sequences ------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_PROMPTROWS_H
#define MTP_RUNTIME_EXEC_SCHEDULE_PROMPTROWS_H

#include "mtp/session.h"
#include "runtime/exec/schedule/PrefillCostModel.h"

#include <cstdint>

namespace mtp {

/// Returns the rows of a pass over prompts that running sequences wait for:
/// rows that take the time which the session allows, or a round's time if that
/// is longer. So prompts get at least half of the time. `options` have their
/// defaults filled in.
uint32_t rowsBesideRunning(const SessionOptions &options,
                           const PrefillCostModel &passes, double roundSeconds);

/// Returns the prompt rows that a round may have beside
/// `rows` rows of its sequences, at most `most`. `roundSeconds` is the time of
/// a round without prompt rows.
uint32_t rowsInRound(const SessionOptions &options,
                     const PrefillCostModel &rounds, double roundSeconds,
                     uint64_t rows, uint32_t most);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_PROMPTROWS_H
