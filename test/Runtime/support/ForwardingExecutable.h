//===- ForwardingExecutable.h - Forwards calls ------------------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_FORWARDINGEXECUTABLE_H
#define MTP_TEST_RUNTIME_SUPPORT_FORWARDINGEXECUTABLE_H

#include "runtime/device/Device.h"

namespace mtp::test {

/// Forwards every call to the executable that it replaces. A subclass overrides
/// the calls that it watches or makes fail.
class ForwardingExecutable : public Executable {
public:
  explicit ForwardingExecutable(std::unique_ptr<Executable> inner)
      : inner(std::move(inner)) {}

  Status run(uint32_t program, uint32_t n) override {
    return inner->run(program, n);
  }
  Status runPart(uint32_t program, uint32_t n, Part part) override {
    return inner->runPart(program, n, part);
  }
  void applyRules(bool applies) override { inner->applyRules(applies); }
  Result<std::string> useLibrary() override { return inner->useLibrary(); }
  Status expect(std::span<const ExpectedLaunch> launches) override {
    return inner->expect(launches);
  }
  Status startRounds(uint32_t program, uint32_t n) override {
    return inner->startRounds(program, n);
  }
  Result<Progress> awaitRounds(uint32_t seen) override {
    return inner->awaitRounds(seen);
  }
  void stopRounds() override { inner->stopRounds(); }
  Status runTimed(uint32_t program, uint32_t n, CommandTimes &times) override {
    return inner->runTimed(program, n, times);
  }
  Status write(const Binding &binding, const void *source,
               uint64_t bytes) override {
    return inner->write(binding, source, bytes);
  }
  Status read(const Binding &binding, void *target, uint64_t bytes) override {
    return inner->read(binding, target, bytes);
  }
  Status writePage(uint32_t cache, uint32_t layer, uint32_t page,
                   const void *source) override {
    return inner->writePage(cache, layer, page, source);
  }
  Status readPage(uint32_t cache, uint32_t layer, uint32_t page,
                  uint32_t entries, void *target) override {
    return inner->readPage(cache, layer, page, entries, target);
  }
  uint64_t memoryBytes() const override { return inner->memoryBytes(); }
  uint64_t hostBytes() const override { return inner->hostBytes(); }

protected:
  std::unique_ptr<Executable> inner;
};

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_FORWARDINGEXECUTABLE_H
