//===- SessionFactory.h - Sessions with parts of a test's -------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SESSIONFACTORY_H
#define MTP_RUNTIME_EXEC_SESSIONFACTORY_H

#include "mtp/session.h"
#include "runtime/device/Device.h"
#include "runtime/exec/memory/Residency.h"

#include <functional>

namespace mtp {

/// The parts of a session that tests may replace. All may be empty.
struct SessionSetup {
  /// Returns seconds since some point, by which passes and rounds are timed.
  std::function<double()> clock;
  /// Takes the executable that was loaded, and returns the one that runs the
  /// session's programs.
  std::function<std::unique_ptr<Executable>(std::unique_ptr<Executable>)>
      device;
  /// Called for each Running sequence before a round is planned. It may change
  /// the limit on the sequence's drafts, and how far its drafters are valid.
  std::function<void(SequenceId, uint32_t &k, DrafterProgress &)> beforeRound;
  /// Returns the limit on the rounds of the next launch, within that of the
  /// session's options.
  std::function<uint32_t()> launchRounds;
};

struct SessionFactory {
  /// As Session::create(), with parts of the caller's.
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Model> model, const SessionOptions &options,
         SessionSetup setup);
  /// Lets every step() of the process end with Session::checkInvariants(), and
  /// fail if that fails.
  static void checkEveryStep(bool isOn);
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONFACTORY_H
