//===- ProfileChoice.h - Tunables from a profile ----------------*- C++ -*-===//
//
// --profile: the measured costs of alternatives choose values of tunables. The
// profile's model is known only when all weights are packed, so it is checked
// before the artifact appears.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTPC_PROFILECHOICE_H
#define MTP_TOOLS_MTPC_PROFILECHOICE_H

#include "compiler/Target/Target.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"
#include "runtime/profile/VocabularyChoice.h"

/// A profile of --profile.
struct ProfileChoice {
  mtp::profile::Profile profile;
  /// Hash of the file's bytes.
  uint64_t hash = 0;
  /// The values that the profile chooses for the machines.
  mtp::compiler::Tuning tuning;
  /// Whether the drafter's head gets fewer tokens than in the profile, so that
  /// the artifact has other weights.
  bool shrinksHead = false;

  /// Reads a profile and chooses values. Alternatives for a processor count if
  /// the profile has this machine's with `threads` threads. Alternatives for a
  /// GPU are of the GPU that was measured last.
  static mtp::Result<ProfileChoice> read(const std::string &path,
                                         uint32_t threads);

  /// Chooses the vocabulary of drafts by the costs of the processor, or of the
  /// GPU if there are none.
  mtp::Result<mtp::profile::VocabularyChoice> chooseVocabulary();

  /// Returns a function that finds the profile's algorithms of products; null
  /// if the profile has none.
  mtp::compiler::FindAlgorithms findAlgorithms() const;

  /// Fails if no plan is of the profile's model, and names both.
  mtp::Status checkModel(const mtp::Artifact &artifact) const;

private:
  uint32_t threads = 0;
};

#endif // MTP_TOOLS_MTPC_PROFILECHOICE_H
