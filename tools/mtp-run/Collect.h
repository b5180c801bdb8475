//===- Collect.h - Statistics of activations --------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_COLLECT_H
#define MTP_TOOLS_MTP_RUN_COLLECT_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// Runs the prompts in windows, and writes the second moments of the inputs of
/// all projections to options.activations (SecondMoments.h). The artifact needs
/// the function "projection_inputs" (mtpc --collect-inputs). The names of the
/// tensors are its outputs' names: keys of the weights that multiply the input.
Status collectActivations(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_COLLECT_H
