//===- Device.h - What runs programs ----------------------------*- C++ -*-===//
//
// The line between the host logic of a session (pages, slots, requests) and a
// machine that runs programs. A device knows programs and memories, nothing of
// tokens or sequences.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_DEVICE_H
#define MTP_RUNTIME_DEVICE_DEVICE_H

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/core/Result.h"
#include "runtime/device/CommandTimes.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// How far the rounds of a launch have come.
struct Progress {
  /// Rounds whose results are there.
  uint32_t rounds = 0;
  /// No other one will follow.
  bool isDone = false;
};

/// One of several copies out of a device's memory.
struct ReadPart {
  /// What read() takes, whole; or in Space::Kv a cache, of which the first
  /// entries of a page are taken, as by readPage().
  Binding source;
  uint32_t layer = 0, page = 0, entries = 0;
  void *target = nullptr;
};

/// What stands before the cut of a program that may stop, and what stands
/// behind it (Program::cut); and behind both what only outputs need that
/// requests ask for (Program::onRequest).
enum class Part : uint8_t { FirstHalf, SecondHalf, OnRequest };

/// An artifact on a device with memory of its own: arena, zeroed states and KV
/// pools. Not for use by two threads at once.
///
/// A device may be lost, by the fault of a kernel or a failure of its own. The
/// call that notices fails with Internal, and so do all calls after it, of
/// other executables on the device too: what is in its memory is gone. The
/// process lives. A CPU is not lost: a fault there ends the process.
class Executable {
public:
  virtual ~Executable() = default;

  /// Runs the program of that index of the plan, for n slots or rows, behind
  /// all writes, but for its part OnRequest. InvalidArgument when the program
  /// does not cover n.
  virtual Status run(uint32_t program, uint32_t n) = 0;

  /// Runs one part of a program: a half, where it may stop, of which both, one
  /// after the other, do what run() does; or behind these, or behind run(),
  /// what is for outputs that requests ask for. Between parts states may be
  /// written and outputs read, and nothing else may run. InvalidArgument as
  /// run(), and for a program that has no such part.
  virtual Status runPart(uint32_t program, uint32_t n, Part part) {
    return unimplemented("the device cannot run a part of a program");
  }

  /// Readies the programs with products of a library (Program::callsLibrary),
  /// which run() refuses before. The name of the library; else why the machine
  /// does not have it, or the library not a product. Other programs run in any
  /// case.
  virtual Result<std::string> useLibrary() {
    return unimplemented("the machine has no library of products");
  }

  /// Starts the program of a round with the output `again`, for n slots, behind
  /// all writes: round follows round without the host until that output says
  /// otherwise (runtime/schema/LoopWords.h). Until awaitRounds() has said that
  /// the last one is over nothing may be run or read, but for watched states;
  /// what is written is for what runs next. InvalidArgument as run(), and for a
  /// program without that output.
  virtual Status startRounds(uint32_t program, uint32_t n) = 0;

  /// Waits until more than `seen` rounds are over, or no other one will follow.
  virtual Result<Progress> awaitRounds(uint32_t seen) = 0;

  /// Lets no other round follow the one that runs, whatever it says.
  virtual void stopRounds() = 0;

  /// The same as run(), and stores when each worker ran each command. Slower by
  /// two looks at the clock for each command and worker. A GPU is one worker,
  /// and runs each command behind the one before.
  virtual Status runTimed(uint32_t program, uint32_t n,
                          CommandTimes &times) = 0;

  /// Copies to and from the start of what `binding` names, which must be in the
  /// arena or a state (read: or a weight or constant) and hold `bytes`.
  virtual Status write(const Binding &binding, const void *source,
                       uint64_t bytes) = 0;
  virtual Status read(const Binding &binding, void *target, uint64_t bytes) = 0;

  /// Copies one page of one layer of a cache in, its entries without what pads
  /// them.
  virtual Status writePage(uint32_t cache, uint32_t layer, uint32_t page,
                           const void *source) = 0;
  /// Copies the first entries of one out, to where they are in a whole page;
  /// what is behind them in `target` may be written, too.
  virtual Status readPage(uint32_t cache, uint32_t layer, uint32_t page,
                          uint32_t entries, void *target) = 0;

  /// Does what read() and readPage() do for each part. Waits for the device
  /// once for all of them, or for many megabytes of them, where it can.
  virtual Status readAll(std::span<const ReadPart> parts) {
    for (const ReadPart &part : parts)
      MTP_RETURN_IF_ERROR(
          part.source.space == schema::Space::Kv
              ? readPage(part.source.index, part.layer, part.page, part.entries,
                         part.target)
              : read(part.source, part.target, part.source.bytes));
    return okStatus();
  }

  /// Memory that this executable holds, without the mapped file and without
  /// weights that it shares with others.
  virtual uint64_t memoryBytes() const = 0;
  /// What of it is the host's memory.
  virtual uint64_t hostBytes() const = 0;
};

/// A machine, or a part of one.
class Device {
public:
  virtual ~Device() = default;

  /// Makes the plan of that index runnable with KV pools of `kvPages` pages,
  /// the dummy page included. Of the watched states the host may read what a
  /// round has left while the next one runs. Fails when the machine lacks
  /// something that the plan needs, before any code of the artifact runs.
  virtual Result<std::unique_ptr<Executable>>
  load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
       uint64_t kvPages, std::vector<uint32_t> watchedStates = {}) = 0;

  /// Rounds that a launch should have where nothing else matters: as many as it
  /// takes for the host to cost nothing.
  virtual uint32_t preferredRounds() const = 0;

  /// What it is, for people: "NVIDIA H100 80GB HBM3, sm_90".
  virtual std::string name() const = 0;

  /// Bytes of the cache before the device's memory; zero where nobody says.
  virtual uint64_t cacheBytes() const { return 0; }

  /// Bytes in a second that a copy of `bytes` within the device's memory reads
  /// and writes, both counted. Unimplemented by a CPU.
  virtual Result<double> copyRate(uint64_t bytes) = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_DEVICE_H
