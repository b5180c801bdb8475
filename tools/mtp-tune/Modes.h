//===- Modes.h - Predictions and comparisons --------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_MODES_H
#define MTP_TOOLS_MTP_TUNE_MODES_H

#include "runtime/core/Status.h"
#include "tools/mtp-tune/Options.h"

namespace mtp::tune {

/// Predicts rounds on another machine and prints them. A profile of --profile
/// must be of the artifact's model.
Status printPrediction(const Options &options);

/// Compares artifacts and prints the table.
Status printComparison(const Options &options);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_MODES_H
