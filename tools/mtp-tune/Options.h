//===- Options.h - Options of mtp-tune --------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_OPTIONS_H
#define MTP_TOOLS_MTP_TUNE_OPTIONS_H

#include "mtp/session.h"

#include <string>
#include <vector>

namespace mtp::tune {

struct Options {
  /// An artifact, or a module whose alternatives are compiled.
  std::string artifact;
  /// Artifacts to compare with the first one.
  std::vector<std::string> others;
  /// Flags of mtpc for a module, as a shell would split them.
  std::string compile;
  /// The profile to write.
  std::string output;
  /// A profile whose measurements are kept in the new one; empty: none.
  std::string merged;
  /// A profile to report instead of a measurement.
  std::string report;
  /// A machine to predict rounds on instead of a measurement.
  std::string machine;
  /// For a prediction: a profile with the acceptance, or the share of all
  /// rounds that accept each draft.
  std::string profile;
  std::vector<double> acceptance;
  /// Files with a prompt on each line; empty: the tools' own prompts.
  std::vector<std::string> prompts;
  /// Turns of a comparison.
  uint32_t turns = 15;
  /// Limit on the time of the measurement.
  double minutes = 3;
  /// Tokens after each prompt; 0: 96, or what half of the context has room for.
  uint32_t tokens = 0;
  /// Numbers of slots and tokens in each slot; empty: chosen by the envelope.
  std::vector<uint32_t> batches, contexts;
  /// Numbers of slots whose rounds are also measured with padding slots; empty:
  /// chosen on a GPU.
  std::vector<uint32_t> captureSizes;
  bool json = false;
  /// Write each measured shape to stderr at once.
  bool progress = false;
  LoadOptions load;
  SessionOptions session;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_OPTIONS_H
