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

/// Compares the drafter with the profile of a file, over `tokens` tokens after
/// each prompt. The model may have other weights than the profile's, because a
/// damaged drafter has; then a note of `tool` on standard error names both.
/// Fails if the model has no drafter, if tokenizer or drafting method are
/// others, or if the profile has no check.
Result<DrafterCheckResult>
checkDrafter(const std::string &tool, const std::shared_ptr<const Model> &model,
             const std::string &path, const SessionOptions &options,
             uint32_t tokens);

/// Compares the drafter at the start of a server, and warns on standard error
/// if it is worse or cannot be checked. Does nothing without a drafter or a
/// profile with a check.
void warnAboutDrafter(const std::string &tool,
                      const std::shared_ptr<const Model> &model,
                      const SessionOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_PROFILEWARNINGS_H
