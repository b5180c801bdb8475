//===- ProfileWarnings.cpp - Messages about a profile ---------------------===//

#include "tools/support/ProfileWarnings.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "tools/support/DrafterCheck.h"

#include <cstdio>

using namespace mtp;

void mtp::noteProfile(const std::string &tool, const Session &session) {
  for (const std::string &note : SessionProfile::notes(session))
    std::fprintf(stderr, "%s: note: --profile: %s\n", tool.c_str(),
                 note.c_str());
}

/// Returns the mean number of accepted drafts, "0.84 accepted drafts per round
/// in 210 rounds".
static std::string describe(const profile::Outcomes &of) {
  double accepted = 0, rounds = of.tried.empty() ? 0 : double(of.tried[0]);
  for (uint64_t count : of.accepted)
    accepted += double(count);
  char text[80];
  std::snprintf(text, sizeof(text),
                "%.2f accepted drafts per round in %.0f rounds",
                rounds > 0 ? accepted / rounds : 0, rounds);
  return text;
}

/// Compares the drafter with the outcomes that a profile has.
static Result<DrafterCheckResult>
compareDrafter(const std::shared_ptr<const Model> &model,
               const profile::Outcomes &expected, const SessionOptions &options,
               uint32_t tokens) {
  MTP_ASSIGN_OR_RETURN(std::vector<std::vector<int32_t>> prompts,
                       ownPrompts(*model));
  MTP_ASSIGN_OR_RETURN(profile::Outcomes got,
                       measureOutcomes(model, options, prompts, tokens));
  std::string warning = compareOutcomes(expected, got);
  if (!warning.empty())
    return DrafterCheckResult{true, warning};
  return DrafterCheckResult{
      false, "the drafter is as in the profile: " + describe(got) +
                 ", expected " + describe(expected)};
}

Result<DrafterCheckResult> mtp::checkDrafter(
    const std::string &tool, const std::shared_ptr<const Model> &model,
    const std::string &path, const SessionOptions &options, uint32_t tokens) {
  if (!model->envelope() || model->envelope()->maxK == 0)
    return failedPrecondition("expected a model with a drafter, got none");
  MTP_ASSIGN_OR_RETURN(profile::Profile profile, profile::loadProfile(path));
  profile::ModelKey own = SessionProfile::modelKey(*model);
  Status status = profile::checkModel(own, profile.model);
  if (!status.isOk()) {
    own.weights = profile.model.weights;
    if (!own.isSame(profile.model))
      return status.withContext(path);
    std::fprintf(stderr,
                 "%s: note: --profile: %s; only the drafter is compared\n",
                 tool.c_str(), std::string(status.message()).c_str());
  }
  if (profile.check.tried.empty())
    return failedPrecondition(
        strCat(path, ": check: expected the acceptance of mtp-tune's text, got "
                     "none"));
  return compareDrafter(model, profile.check, options, tokens);
}

void mtp::warnAboutDrafter(const std::string &tool,
                           const std::shared_ptr<const Model> &model,
                           const SessionOptions &options) {
  const profile::Profile *profile = SessionProfile::loaded(*model);
  if (!profile || profile->check.tried.empty() || model->envelope()->maxK == 0)
    return;
  Result<DrafterCheckResult> result =
      compareDrafter(model, profile->check, options, kStartTokens);
  if (!result)
    std::fprintf(stderr, "%s: warning: the drafter is not checked: %s\n",
                 tool.c_str(), std::string(result.status().message()).c_str());
  else if (result->isWorse)
    std::fprintf(stderr, "%s: warning: %s\n", tool.c_str(),
                 result->text.c_str());
}
