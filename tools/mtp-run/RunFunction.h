//===- RunFunction.h - mtp-run --function -----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_RUNFUNCTION_H
#define MTP_TOOLS_MTP_RUN_RUNFUNCTION_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// Runs options.function, prints or stores its results, and compares them with
/// the expected ones.
Status runFunction(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_RUNFUNCTION_H
