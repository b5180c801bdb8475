//===- ProfileWarnings.h - Messages about a profile -------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_PROFILEWARNINGS_H
#define MTP_TOOLS_SUPPORT_PROFILEWARNINGS_H

#include "mtp/session.h"

#include <string>

namespace mtp {

/// Prints what a session does not use of its model's profile to standard error.
void noteProfile(const std::string &tool, const Session &session);

/// The result of a comparison: a line of text, and whether acceptance is lower
/// than noise explains.
struct DrafterCheckResult {
  bool isWorse = false;
  std::string text;
};

/// Compares the drafter with the model's profile, over `tokens` tokens after
/// each prompt. Fails if the model has no drafter or no profile with a check.
Result<DrafterCheckResult>
checkDrafter(const std::shared_ptr<const Model> &model,
             const SessionOptions &options, uint32_t tokens);

/// Compares the drafter at the start of a server, and warns on standard error
/// if it is worse or cannot be checked. Does nothing without a drafter or a
/// profile with a check.
void warnAboutDrafter(const std::string &tool,
                      const std::shared_ptr<const Model> &model,
                      const SessionOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_PROFILEWARNINGS_H
