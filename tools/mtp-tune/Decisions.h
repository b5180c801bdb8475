//===- Decisions.h - Each decision that follows from a profile --*- C++ -*-===//
//
// One line for each decision of a session, mtp-import and mtpc, with its gain
// over the default. All choices come from the functions that these readers
// call.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_DECISIONS_H
#define MTP_TOOLS_MTP_TUNE_DECISIONS_H

#include "runtime/json/JsonWriter.h"
#include "runtime/profile/Profile.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp::tune {

/// A choice that a reader of the profile makes.
struct ReaderDecision {
  /// Program that decides: "session", "mtp-import" or "mtpc".
  std::string reader;
  /// Name of the decision, "threads", and the rounds that it is for.
  std::string name, shape;
  /// The choice and the default as text. An empty choice: the profile decides
  /// nothing, for the reason in `note`.
  std::string choice, usual;
  /// Rate over the default's and one deviation of it. No gain: the profile has
  /// no times of the alternatives.
  std::optional<double> gain, doubt;
  std::string note;
};

/// Returns the probability that a gain is above 1 if errors have a normal
/// distribution.
double confidenceOf(double gain, double doubt);

/// Returns all decisions that a machine's costs allow, in the order of their
/// readers.
std::vector<ReaderDecision> decisionsOf(const profile::Profile &profile,
                                        const profile::MachineCosts &machine);

/// Returns the decisions as lines of text.
std::string decisionsText(const std::vector<ReaderDecision> &decisions);

/// Writes the decisions as an array.
void writeDecisions(JsonWriter &json,
                    const std::vector<ReaderDecision> &decisions);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_DECISIONS_H
