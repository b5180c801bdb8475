//===- ModelWarnings.h - What is worth a word about a model -----*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_MODELWARNINGS_H
#define MTP_TOOLS_SUPPORT_MODELWARNINGS_H

#include "mtp/model.h"

#include <string>

namespace mtp {

/// Says on standard error where the model's rule of acceptance is lossy.
void warnAboutRule(const std::string &tool, const Model &model);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_MODELWARNINGS_H
