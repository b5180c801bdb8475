//===- ProfileChoice.cpp - Tunables from a profile ------------------------===//

#include "tools/mtpc/ProfileChoice.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/Alternatives.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"

using namespace mtp;
using profile::MachineCosts;

/// Returns the machine whose alternatives count for processors; null if the
/// profile has none.
static const MachineCosts *findProcessor(const profile::Profile &profile,
                                         uint32_t threads) {
  std::string own = profile::processorName();
  for (const MachineCosts &of : profile.machines)
    if (of.name == own && of.threads == threads)
      return &of;
  return nullptr;
}

/// Returns the GPU that was measured last; null if the profile has none.
static const MachineCosts *findGpu(const profile::Profile &profile) {
  const MachineCosts *last = nullptr;
  for (const MachineCosts &of : profile.machines)
    if (of.threads == 0 && (!last || of.day > last->day))
      last = &of;
  return last;
}

/// Lists the machines of a profile: "'a' with 2 threads, 'b'".
static std::string machinesOf(const profile::Profile &profile) {
  std::string text;
  for (const MachineCosts &of : profile.machines)
    text += strCat(text.empty() ? "'" : ", '", of.name, "'",
                   of.threads ? strCat(" with ", of.threads, " threads") : "");
  return text.empty() ? "none" : text;
}

Result<ProfileChoice> ProfileChoice::read(const std::string &path,
                                          uint32_t threads) {
  ProfileChoice choice;
  choice.threads = threads;
  MTP_ASSIGN_OR_RETURN(choice.profile, profile::loadProfile(path));
  choice.hash = profile::hashOf(choice.profile);
  const MachineCosts *processor = findProcessor(choice.profile, threads);
  const MachineCosts *gpu = findGpu(choice.profile);
  if (!processor && !gpu)
    return failedPrecondition(
        strCat(path, ": machines: expected '", profile::processorName(),
               "' with ", threads, " threads (--run-threads), or a GPU, got ",
               machinesOf(choice.profile)));
  for (const MachineCosts *machine : {processor, gpu})
    if (machine)
      for (const profile::TunedChoice &one :
           profile::chooseTuning(*machine, choice.profile.load))
        MTP_RETURN_IF_ERROR(choice.tuning.set(one.tunable->name, one.value));
  return choice;
}

Result<profile::VocabularyChoice> ProfileChoice::chooseVocabulary() {
  const MachineCosts *machine = findProcessor(profile, threads);
  if (!machine)
    machine = findGpu(profile);
  MTP_ASSIGN_OR_RETURN(profile::VocabularyChoice choice,
                       profile::chooseVocabulary(profile, *machine));
  shrinksHead = !choice.tokens.empty();
  return choice;
}

/// Returns the product that an algorithm is for.
static compiler::LibraryGemm productOf(const profile::GemmChoice &of) {
  return {of.rows, of.outputs, of.inputs, of.workspace};
}

compiler::FindAlgorithms ProfileChoice::findAlgorithms() const {
  std::vector<compiler::LibraryAlgorithm> known;
  for (const MachineCosts &machine : profile.machines)
    for (const profile::GemmChoice &of : machine.gemms)
      known.push_back({of.version, of.chip, productOf(of), of.words});
  if (known.empty())
    return nullptr;
  return [known](llvm::ArrayRef<compiler::LibraryGemm> products) {
    std::vector<compiler::LibraryAlgorithm> found;
    for (const compiler::LibraryAlgorithm &one : known)
      if (llvm::is_contained(products, one.gemm))
        found.push_back(one);
    return found;
  };
}

Status ProfileChoice::checkModel(const Artifact &artifact) const {
  Status status;
  for (const Plan &plan : artifact.plans) {
    profile::ModelKey key = profile::modelKeyOf(artifact, plan);
    if (shrinksHead)
      key.weights = profile.model.weights;
    status = profile::checkModel(key, profile.model);
    if (status.isOk())
      break;
  }
  return status;
}
