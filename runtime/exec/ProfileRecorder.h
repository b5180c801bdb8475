//===- ProfileRecorder.h - Measures a session for a profile -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROFILERECORDER_H
#define MTP_RUNTIME_EXEC_PROFILERECORDER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/profile/Profile.h"

#include <array>
#include <map>
#include <tuple>

namespace mtp {

/// Collects times and outcomes of one session. Memory is bounded, and no text
/// is kept.
class ProfileRecorder {
public:
  /// `plan` must outlive the recorder.
  explicit ProfileRecorder(const Plan &plan);

  /// Records the time of a program's run; `shape` has no times yet.
  void addCost(profile::Cost shape, uint32_t program, double seconds);
  /// Records a round of a sequence at `context` tokens with `drafts` drafts,
  /// the first `accepted` of them accepted.
  void addOutcome(bool isSampled, uint64_t context, uint32_t drafts,
                  uint32_t accepted);
  /// Records the number of slots of a round, and the length of a prompt.
  void addBatch(uint32_t slots) { profile::countIn(load.slots, slots); }
  void addPrompt(uint64_t tokens) { profile::countIn(load.prompts, tokens); }

  /// Returns the measurements so far. The machine has no name yet, and the
  /// model no key.
  profile::Profile profile() const;

private:
  /// The last times of a shape.
  struct Cell {
    std::array<double, 31> seconds = {};
    uint64_t count = 0;
    double positions = 0;
    profile::Cost shape;

    profile::Cost cost() const;
  };
  /// Work, program, batch, k, rows and the bucket of a slot's positions.
  using Key = std::tuple<profile::Work, uint64_t, uint32_t, uint32_t, uint32_t,
                         uint32_t>;

  std::vector<uint64_t> programs;
  std::map<Key, Cell> cells;
  std::vector<profile::Outcomes> outcomes;
  profile::Load load;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROFILERECORDER_H
