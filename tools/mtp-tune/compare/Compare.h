//===- Compare.h - Compare artifacts of one model ---------------*- C++ -*-===//
//
// Artifacts may differ in drafter, tree, quantisation or target. They take
// turns on each workload, forwards and then backwards, so that a slow minute
// slows all. A ratio and its interval come from the pairs of single turns.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_COMPARE_COMPARE_H
#define MTP_TOOLS_MTP_TUNE_COMPARE_COMPARE_H

#include "mtp/session.h"

#include <memory>
#include <string>
#include <vector>

namespace mtp::tune {

/// Prompts as tokens, and their name in the table.
struct Workload {
  std::string name;
  std::vector<std::vector<int32_t>> prompts;
  uint32_t slots = 1;
  /// 0: greedy.
  float temperature = 0;
};

/// A mean with its 95 % interval.
struct Interval {
  double mean = 0, lower = 0, upper = 0;
};

/// Returns the geometric mean of positive values, with an interval by Student's
/// distribution. One value has no interval: its bounds are the value.
Interval geometricMean(const std::vector<double> &values);

/// Results of one artifact on one workload.
struct ComparedRun {
  std::string artifact;
  std::string workload;
  uint32_t slots = 1;
  /// Tokens per second of each turn, without the time of prompts.
  std::vector<double> rates;
  /// Tokens of a slot per round, of all turns.
  double length = 1;
  Interval rate;
  /// The rate over the rate of the first artifact.
  Interval ratio;
};

struct CompareOptions {
  SessionOptions session;
  /// Turns, at least one; the time limit may end them early, but not before
  /// kLeastTurns.
  uint32_t turns = 15;
  uint32_t tokens = 96;
  double minutes = 3;
  bool progress = false;
};
inline constexpr uint32_t kLeastTurns = 3;

struct NamedModel {
  std::string path;
  std::shared_ptr<const Model> model;
};

/// Fails if the artifacts are not of one model: the vocabulary and the
/// tokenizer must be equal. The message names both files.
Status checkOneModel(const std::vector<NamedModel> &models);

/// Runs all workloads on all artifacts. Results are by workload, then by
/// artifact.
Result<std::vector<ComparedRun>>
compareModels(const std::vector<NamedModel> &models,
              const std::vector<Workload> &workloads,
              const CompareOptions &options);

/// Returns results as a table, and as JSON.
std::string comparisonText(const std::vector<ComparedRun> &runs);
std::string comparisonJson(const std::vector<ComparedRun> &runs);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_COMPARE_COMPARE_H
