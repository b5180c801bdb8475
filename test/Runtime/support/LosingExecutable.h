//===- LosingExecutable.h - A device that is lost ---------------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_LOSINGEXECUTABLE_H
#define MTP_TEST_RUNTIME_SUPPORT_LOSINGEXECUTABLE_H

#include "ForwardingExecutable.h"
#include "OpenSession.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace mtp::test {

/// A device that is lost at some call: at the n-th program, at the n-th copy
/// that it reads, or at the next call after a signal. It is slow until then, to
/// leave time for the signal.
class LosingExecutable : public ForwardingExecutable {
public:
  using Word = std::shared_ptr<std::atomic<bool>>;
  LosingExecutable(std::unique_ptr<Executable> inner, int runs, int reads,
                   Word word)
      : ForwardingExecutable(std::move(inner)), runs(runs), reads(reads),
        word(std::move(word)) {}

  Status run(uint32_t program, uint32_t n) override {
    idle();
    return lose(runs) ? lost() : inner->run(program, n);
  }
  Status startRounds(uint32_t program, uint32_t n) override {
    idle();
    return lose(runs) ? lost() : inner->startRounds(program, n);
  }
  Result<Progress> awaitRounds(uint32_t seen) override {
    if (isLost)
      return lost();
    return inner->awaitRounds(seen);
  }
  void stopRounds() override { EXPECT_FALSE(isLost); }
  Status write(const Binding &binding, const void *source,
               uint64_t bytes) override {
    return isLost ? lost() : inner->write(binding, source, bytes);
  }
  Status read(const Binding &binding, void *target, uint64_t bytes) override {
    return lose(reads) ? lost() : inner->read(binding, target, bytes);
  }

private:
  void idle() {
    if (word && !*word)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  bool lose(int &left) {
    isLost |= left-- == 0 || (word && *word);
    return isLost;
  }
  static Status lost() { return internalError("the device is lost"); }

  int runs, reads;
  Word word;
  bool isLost = false;
};

inline constexpr int kNever = 1 << 30;

/// Opens a session whose device is lost after `calls` calls, or on a signal.
inline std::unique_ptr<Session>
openLosing(std::shared_ptr<const Model> model, const SessionOptions &options,
           int runs, int reads = kNever,
           const LosingExecutable::Word &word = {}) {
  SessionSetup setup;
  setup.device = [=](std::unique_ptr<Executable> loaded) {
    return std::make_unique<LosingExecutable>(std::move(loaded), runs, reads,
                                              word);
  };
  return openSession(std::move(model), options, std::move(setup));
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_LOSINGEXECUTABLE_H
