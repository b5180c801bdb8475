//===- ProfileRecorder.h - Measures a session for a profile -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROFILERECORDER_H
#define MTP_RUNTIME_EXEC_PROFILERECORDER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/profile/Profile.h"
#include "runtime/profile/ProfileKeys.h"

#include <array>
#include <map>
#include <span>
#include <string_view>
#include <tuple>

namespace mtp {

/// Results of a round for a sequence. A span is empty if its content is
/// unknown.
struct RecordedRound {
  bool isSampled = false;
  std::string_view kind;
  /// Tokens in the caches before the round.
  uint64_t context = 0;
  uint32_t drafts = 0, accepted = 0;
  /// The tokens of the round's output: accepted drafts and one more.
  std::span<const int32_t> output;
  /// All drafts; -1 is none.
  std::span<const int32_t> drafted;
  /// Whether the host may have replaced drafts of the drafter.
  bool isReplaced = false;
  /// Whether the drafts were a chain that the drafter made.
  bool isChain = false;
  /// Nodes of a tree: by node the parent's index, the number of verified nodes,
  /// and the accepted nodes.
  std::span<const int32_t> parents;
  uint32_t verified = 0;
  std::span<const uint32_t> path;
  /// The drafter's confidence in each draft that was made.
  std::span<const float> confidences;
};

/// Collects times and outcomes of one session. Memory is bounded, and no text
/// is kept.
class ProfileRecorder {
public:
  /// `artifact` and the keys of its plan's programs must outlive the recorder.
  ProfileRecorder(const Artifact &artifact,
                  const profile::ProgramKeys &programs);

  /// Returns the parents of the static tree that rounds verify; empty if they
  /// verify none.
  std::span<const int32_t> staticTree() const { return tree; }

  /// Records the time of a program's run; `shape` has no times yet.
  void addCost(profile::Cost shape, uint32_t program, double seconds);
  void addRound(const RecordedRound &round);
  /// Records the number of slots and the k of a round, and the length of a
  /// prompt.
  void addBatch(uint32_t slots, uint32_t k) {
    profile::countIn(load.slots, slots);
    ++load.rounds[{slots, k}];
  }
  void addPrompt(uint64_t tokens) { profile::countIn(load.prompts, tokens); }
  /// Records the number of output tokens of a sequence that has ended.
  void addOutput(uint64_t tokens) { profile::countIn(load.outputs, tokens); }
  /// Records the time of a launch of rounds; `shape` has no times yet.
  void addLaunch(profile::LaunchCost shape, uint32_t program, double seconds);

  /// Returns the measurements so far. The machine has no name yet, and the
  /// model no key.
  profile::Profile profile() const;

private:
  /// The last times of a shape: of a program's runs, or of launches.
  template <typename CostT>
  struct Cell {
    std::array<double, 31> seconds = {};
    uint64_t count = 0;
    double positions = 0;
    CostT shape;

    void add(const CostT &of, double time);
    CostT cost() const;
  };
  /// Work, program, batch, k, rows, padding and the bucket of a slot's
  /// positions.
  using Key = std::tuple<profile::Work, uint64_t, uint32_t, uint32_t, uint32_t,
                         uint32_t, uint32_t>;
  /// Program, batch, k, rounds and the bucket of a slot's positions.
  using LaunchKey =
      std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, uint32_t>;

  void countTokens(const RecordedRound &round);

  std::span<const int32_t> tree;
  const profile::ProgramKeys &programs;
  std::map<Key, Cell<profile::Cost>> cells;
  std::map<LaunchKey, Cell<profile::LaunchCost>> launches;
  std::vector<profile::Outcomes> outcomes;
  std::vector<profile::KindOutcomes> kinds;
  profile::NodeOutcomes nodes;
  profile::ConfidenceOutcomes confidence;
  /// By token.
  std::vector<profile::TokenCounts::Counts> tokens;
  profile::Load load;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROFILERECORDER_H
