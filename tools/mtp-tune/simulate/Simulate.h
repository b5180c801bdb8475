//===- Simulate.h - Predict rounds on another machine -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_SIMULATE_SIMULATE_H
#define MTP_TOOLS_MTP_TUNE_SIMULATE_SIMULATE_H

#include "tools/mtp-tune/simulate/RoundModel.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp::tune {

/// The shapes to predict, and the acceptance.
struct SimulateOptions {
  std::vector<uint32_t> batches, contexts;
  /// The share of all rounds that accept each draft. Empty: unknown.
  std::vector<double> acceptance;
};

struct PredictedRound {
  uint32_t batch = 1, k = 0, context = 0, rows = 1;
  RoundTime time;
  /// Time over the time of a plain step.
  double r = 1;
  /// Tokens of a slot per round; absent if acceptance is unknown.
  std::optional<double> length;

  /// Returns the rate over the rate of plain steps.
  std::optional<double> gain() const {
    return length ? std::optional(*length / r) : std::nullopt;
  }
};

/// Predictions for an artifact on a machine.
struct Prediction {
  std::string machine, model, target;
  /// By slots and context, every k.
  std::vector<PredictedRound> rounds;
};

/// Checks the options against the envelope and predicts all rounds.
Result<Prediction> simulate(const Artifact &artifact, const Machine &machine,
                            const SimulateOptions &options);

/// Returns a prediction as a table, and as JSON.
std::string predictionText(const Prediction &prediction);
std::string predictionJson(const Prediction &prediction);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_SIMULATE_SIMULATE_H
