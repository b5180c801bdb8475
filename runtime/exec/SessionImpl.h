//===- SessionImpl.h - The inside of Session --------------------*- C++ -*-===//
//
// Calls come one at a time (FifoLock). All functions here are for the thread
// that holds the gate. A step plans, runs and applies: passes over prompts
// (PromptRunner), and then a launch of rounds (RoundRunner). Nothing else
// begins before the rounds of a launch are over.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SESSIONIMPL_H
#define MTP_RUNTIME_EXEC_SESSIONIMPL_H

#include "runtime/exec/FifoLock.h"
#include "runtime/exec/ProfileCosts.h"
#include "runtime/exec/RoundRunner.h"

namespace mtp {

/// See session.h for what the public functions do.
class Session::Impl {
public:
  Impl(std::shared_ptr<const Model> model, const Model::Impl &inner,
       const SessionOptions &options, SessionSetup setup);
  ~Impl();

  Status start();

  Result<SequenceId> add(Request request);
  Status cancel(SequenceId id);
  Status release(SequenceId id);
  Status setInput(SequenceId id, RequestInput input);
  Status pause(SequenceId id);
  Status resume(SequenceId id);
  Result<std::vector<SequenceUpdate>> step();
  Result<std::vector<Tensor>> runFunction(std::string_view name,
                                          std::span<const Tensor> inputs);

  Result<const Sequence *> find(SequenceId id) const;
  Result<Sequence *> find(SequenceId id);
  /// Returns the error of calls that would go on after a failure.
  Status checkUsable() const;
  bool isIdle() const { return !parts || parts->table.isIdle(); }
  Status checkInvariants() const;
  const Statistics &statistics() const;

  FifoLock gate;
  /// Holds the file that `inner` and `executable` point into.
  std::shared_ptr<const Model> model;
  const Model::Impl &inner;
  SessionOptions options;
  SessionSetup setup;
  std::unique_ptr<Executable> executable;
  /// All the memory there was when the session began.
  MemoryLimit memory = hostMemoryLimit();
  /// The objects that generate tokens; null without an envelope.
  std::unique_ptr<SessionParts> parts;
  /// The machine's key in profiles.
  profile::MachineKey machine;
  /// Parts of the model's profile that the session does not use, with reasons.
  std::vector<std::string> profileNotes;

private:
  Status startGeneration(ProfileCosts costs, CapturePlan captures,
                         uint32_t sparePages);
  Result<ProfileCosts> readProfile() const;
  CapturePlan chooseCaptures(const ProfileCosts &costs) const;
  Status advance();
  Status checkRequest(const Request &request) const;
  void setDrafts(Sequence &sequence) const;
  void chooseDraftPMin(const ProfileCosts &costs);
  void addDraftPMin(const Request &request, InputBytes &inputs) const;
  void countSteps();
  Status checkPages() const;
  Status checkSlots(const Program &program) const;
  Status writePageTable(const Program &program);
  Status checkFunction(const Program &program,
                       std::span<const Tensor> inputs) const;

  /// By kind of request, the acceptance of drafts by position in a profile.
  std::map<std::string, std::vector<double>> kinds;
  std::unique_ptr<PromptRunner> prompts;
  std::unique_ptr<RoundRunner> rounds;
  /// The failure of a step. Nothing runs after a failure.
  Status failure;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONIMPL_H
