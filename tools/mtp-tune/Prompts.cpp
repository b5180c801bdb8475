//===- Prompts.cpp - Prompt rows beside running sequences -----------------===//

#include "tools/mtp-tune/Prompts.h"
#include "runtime/exec/ProfileCosts.h"
#include "runtime/exec/schedule/PromptRows.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::tune;

PromptCosts::PromptCosts(const profile::Profile &profile,
                         const profile::MachineCosts &machine) {
  ProfileCosts costs = takeProfile(profile, machine);
  for (ProfileCosts::Pass pass : costs.prefills) {
    passes.add(pass.rows, pass.seconds);
    mostRows = std::max(mostRows, pass.rows);
  }
  for (ProfileCosts::Pass pass : costs.rounds)
    rounds.add(pass.rows, pass.seconds);
}

PromptChoice PromptCosts::choose(const PromptShape &shape) const {
  SessionOptions options;
  options.prefillChunk = mostRows;
  auto rowsBy = [&](const PrefillCostModel &model) {
    return shape.isMixed
               ? rowsInRound(options, model, shape.roundSeconds,
                             shape.roundRows, mostRows)
               : rowsBesideRunning(options, model, shape.roundSeconds);
  };
  // A pass follows a round, and mixed rows make it longer.
  auto delayOf = [&](uint32_t rows) {
    return shape.isMixed ? rounds.secondsOf(double(shape.roundRows) + rows) -
                               rounds.secondsOf(shape.roundRows)
                         : passes.secondsOf(rows);
  };
  auto rateOf = [&](uint32_t rows) {
    return rows / (shape.roundSeconds + delayOf(rows));
  };
  PromptChoice choice;
  choice.rows = rowsBy(shape.isMixed ? rounds : passes);
  choice.usualRows = rowsBy(PrefillCostModel());
  choice.seconds = delayOf(choice.rows);
  choice.gain = rateOf(choice.rows) / rateOf(choice.usualRows);
  return choice;
}
