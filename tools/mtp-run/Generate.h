//===- Generate.h - Text generation of mtp-run ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_GENERATE_H
#define MTP_TOOLS_MTP_RUN_GENERATE_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// Checks that stop tokens are in the model's vocabulary.
Status checkStopTokens(const RunOptions &options, const Model &model);

/// Generates from all prompts and prints text, ids or a report to stdout. Fails
/// if a sequence fails.
Status generate(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_GENERATE_H
