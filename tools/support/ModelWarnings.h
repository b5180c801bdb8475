//===- ModelWarnings.h - Warnings about a model -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_MODELWARNINGS_H
#define MTP_TOOLS_SUPPORT_MODELWARNINGS_H

#include "mtp/model.h"
#include "mtp/session.h"

#include <string>

namespace mtp {

/// Says on standard error where the model's rule of acceptance is lossy.
void warnAboutRule(const std::string &tool, const Model &model);

/// Says on standard error where prefixes are to be shared and no copy of what
/// recurrent layers carry fits, so that none is.
void warnAboutSnapshots(const std::string &tool, const Session &session);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_MODELWARNINGS_H
