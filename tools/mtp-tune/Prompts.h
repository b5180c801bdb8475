//===- Prompts.h - Prompt rows beside running sequences ---------*- C++ -*-===//
//
// A session without a profile reads 16 rows of a prompt beside running
// sequences until it has measured passes. With a profile its limits on time
// decide the number of rows from the first pass on.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_PROMPTS_H
#define MTP_TOOLS_MTP_TUNE_PROMPTS_H

#include "runtime/exec/schedule/PrefillCostModel.h"
#include "runtime/profile/Profile.h"

#include <cstdint>
#include <vector>

namespace mtp::tune {

/// Sequences that run while prompts are read.
struct PromptShape {
  /// Time and rows of their round.
  double roundSeconds = 0;
  uint32_t roundRows = 0;
  /// Whether the prompt rows are a part of the round.
  bool isMixed = false;
};

/// The number of prompt rows, with its expected speed.
struct PromptChoice {
  uint32_t rows = 0, usualRows = 0;
  /// Seconds by which the rows delay running sequences.
  double seconds = 0;
  /// Prompt rows per second over the rate of the default.
  double gain = 1;
};

/// Times of passes over prompts, as a session starts with them.
class PromptCosts {
public:
  PromptCosts(const profile::Profile &profile,
              const profile::MachineCosts &machine);

  /// Returns the rows of the largest measured pass; 0 without one.
  uint32_t chunk() const { return mostRows; }
  /// Returns the choice of a session whose chunk is the largest measured pass.
  PromptChoice choose(const PromptShape &shape) const;
  /// Returns the predicted seconds of a pass.
  double seconds(uint32_t rows) const { return passes.secondsOf(rows); }

private:
  PrefillCostModel passes, rounds;
  uint32_t mostRows = 0;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_PROMPTS_H
