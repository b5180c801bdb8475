//===- Measure.h - Measure a model for a profile ----------------*- C++ -*-===//
//
// All measurements run in sessions, as users' requests do. So a cost includes
// the host's part of a round, and outcomes come from real texts. The numbers
// of drafts alternate, a few rounds each, so that a slow minute slows all.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_MEASURE_H
#define MTP_TOOLS_MTP_TUNE_MEASURE_H

#include "runtime/profile/Profile.h"
#include "tools/mtp-tune/Options.h"

namespace mtp::tune {

/// The result of a measurement.
struct Measured {
  profile::Profile profile;
  /// Numbers of slots and contexts that were not measured for lack of time.
  uint32_t skipped = 0;
  double seconds = 0;
};

/// Checks the options against the model and measures it.
Result<Measured> measure(const std::shared_ptr<const Model> &model,
                         Options options);

/// Checks the limit on the time of a measurement.
Status checkMinutes(double minutes);
/// Checks the numbers of slots and the contexts of the options.
Status checkShapes(const EnvelopeInfo &envelope, const Options &options);

/// A prompt as tokens of a model, and its kind in profiles.
struct Prompt {
  std::vector<int32_t> ids;
  std::string kind;
};

/// Reads the prompts of a file, one on each line. A line may begin with a kind
/// and a tab.
Result<std::vector<Prompt>> readLines(const Model &model,
                                      const std::string &path);

/// Returns the numbers of slots to measure: powers of two and one and a half
/// times these, up to the largest.
std::vector<uint32_t> batchesUpTo(uint32_t most);

/// Returns the number of sequences with which rounds of `batch` slots are also
/// measured, the other slots being padding: one more than the size before it
/// has. Without sizes, half of a power of two, if the device builds graphs. 0:
/// no rounds with padding are measured.
uint32_t paddedSlots(const std::vector<uint32_t> &sizes, bool hasGraphs,
                     uint32_t batch);

/// Returns the contexts to measure if sequences have at most `most` tokens: a
/// short one, and one near the end.
std::vector<uint32_t> contextsUpTo(uint32_t most);

/// Whether the times of a machine's costs spread so far that other processes
/// must have disturbed them.
bool isDisturbed(const profile::MachineCosts &machine);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_MEASURE_H
