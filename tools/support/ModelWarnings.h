//===- ModelWarnings.h - Warnings about a model -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_MODELWARNINGS_H
#define MTP_TOOLS_SUPPORT_MODELWARNINGS_H

#include "mtp/model.h"
#include "mtp/session.h"

#include <string>

namespace mtp {

/// Warns on standard error if the model's acceptance rule is lossy.
void warnAboutRule(const std::string &tool, const Model &model);

/// Warns on standard error if prefixes should be shared but no copy of
/// recurrent states fits, so that no prefix is shared.
void warnAboutSnapshots(const std::string &tool, const Session &session);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_MODELWARNINGS_H
