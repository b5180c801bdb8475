//===- Device.h - The interface of devices ----------------------*- C++ -*-===//
//
// The interface between the host logic of a session (pages, slots, requests)
// and a machine that runs programs. A device knows programs and memories, but
// no tokens or sequences.
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

/// Progress of the rounds of a launch.
struct Progress {
  /// Number of rounds whose results are complete.
  uint32_t rounds = 0;
  /// True if no further round follows.
  bool isDone = false;
};

/// One of several copies from a device's memory.
struct ReadPart {
  /// Source as for read(), copied whole. In Space::Kv the source is a cache,
  /// and the first `entries` entries of a page are copied, as by readPage().
  Binding source;
  uint32_t layer = 0, page = 0, entries = 0;
  void *target = nullptr;
};

/// A launch of rounds that a session expects.
struct ExpectedLaunch {
  uint32_t program = 0, n = 1;
  /// Whether round follows round, as by startRounds().
  bool repeats = false;
  /// Whether to prepare the launch now.
  bool isPrepared = false;
  /// Share of all rounds that run so.
  double share = 0;
};

/// A part of a program. If the program may stop, the halves are the commands
/// before and from Program::cut on. After both halves come the commands that
/// only outputs for requests need (Program::onRequest).
enum class Part : uint8_t { FirstHalf, SecondHalf, OnRequest };

/// An artifact on a device, with its own memory: arena, zeroed states and KV
/// pools. Only for one thread at a time.
///
/// A device may be lost through a kernel's fault or a failure of its own. The
/// call that notices fails with Internal, and so do all later calls, also of
/// other executables on the device: the content of its memory is lost. The
/// process continues. A CPU cannot be lost: a fault there ends the process.
class Executable {
public:
  virtual ~Executable() = default;

  /// Runs the program with that index in the plan, for n slots or rows, after
  /// all writes. Leaves out its part OnRequest. InvalidArgument if the program
  /// does not cover n.
  virtual Status run(uint32_t program, uint32_t n) = 0;

  /// Runs one part of a program. Both halves of a program that may stop, one
  /// after the other, do the same as run(). OnRequest runs after both halves or
  /// after run(). Between parts states may be written and outputs read, but
  /// nothing else may run. InvalidArgument as for run(), and for a program
  /// without such a part.
  virtual Status runPart(uint32_t program, uint32_t n, Part part) {
    return unimplemented("the device cannot run a part of a program");
  }

  /// Decides whether later runs include the commands that apply the rules of
  /// logits (schema::Kernel::for_rules). At first they are left out. A timed
  /// run includes all commands.
  virtual void applyRules(bool) {}

  /// Prepares the programs that call a library (Program::callsLibrary); run()
  /// refuses them before this call. Returns the name of the library. Fails if
  /// the machine does not have it, or the library lacks a product. Other
  /// programs always run.
  virtual Result<std::string> useLibrary() {
    return unimplemented("the machine has no library of products");
  }

  /// Prepares launches, the most frequent first. Later the device keeps what
  /// frequent launches need longer than what others need. Missing memory is no
  /// error: a launch prepares the rest.
  virtual Status expect(std::span<const ExpectedLaunch>) { return okStatus(); }

  /// Starts a round with the output `again`, for n slots, after all writes.
  /// Round follows round without the host until the output ends the launch
  /// (runtime/schema/LoopLayout.h). Until awaitRounds() has returned that the
  /// last round is complete, nothing may be run, and only watched states may be
  /// read. Writes take effect for the next run. InvalidArgument as for run(),
  /// and for a program without that output.
  virtual Status startRounds(uint32_t program, uint32_t n) = 0;

  /// Waits until more than `seen` rounds are complete, or no further round
  /// follows.
  virtual Result<Progress> awaitRounds(uint32_t seen) = 0;

  /// Prevents another round after the current one, whatever `again` says.
  virtual void stopRounds() = 0;

  /// Runs as run() does, and stores when each worker ran each command. It costs
  /// two reads of the clock for each command and worker. A GPU is one worker
  /// and runs each command after the previous one.
  virtual Status runTimed(uint32_t program, uint32_t n,
                          CommandTimes &times) = 0;

  /// Copy to and from the start of `binding`, which must hold `bytes`. It must
  /// be in the arena or a state; read() also takes a weight or constant.
  virtual Status write(const Binding &binding, const void *source,
                       uint64_t bytes) = 0;
  virtual Status read(const Binding &binding, void *target, uint64_t bytes) = 0;

  /// Copies the entries of one page of one layer of a cache to the device,
  /// without their padding.
  virtual Status writePage(uint32_t cache, uint32_t layer, uint32_t page,
                           const void *source) = 0;
  /// Copies the first entries of a page from the device, to their places in a
  /// whole page. May also write the rest of the page in `target`.
  virtual Status readPage(uint32_t cache, uint32_t layer, uint32_t page,
                          uint32_t entries, void *target) = 0;

  /// Copies each part as read() and readPage() do. If possible, waits for the
  /// device only once for all parts, or once for many megabytes.
  virtual Status readAll(std::span<const ReadPart> parts) {
    for (const ReadPart &part : parts)
      MTP_RETURN_IF_ERROR(
          part.source.space == schema::Space::Kv
              ? readPage(part.source.index, part.layer, part.page, part.entries,
                         part.target)
              : read(part.source, part.target, part.source.bytes));
    return okStatus();
  }

  /// Returns the memory of this executable, without the mapped file and without
  /// weights that it shares with other executables.
  virtual uint64_t memoryBytes() const = 0;
  /// Returns the part of memoryBytes() in the host's memory.
  virtual uint64_t hostBytes() const = 0;
};

/// Properties of a GPU that change its times and not its name. Zero is unknown;
/// a CPU has none.
struct DeviceVersion {
  /// Version of the driver: 13000 is 13.0.
  uint32_t driver = 0;
  /// Maximum clock rates of the multiprocessors and of the memory, in kHz.
  uint32_t clock = 0, memoryClock = 0;
};

/// A machine, or a part of one.
class Device {
public:
  virtual ~Device() = default;

  /// Prepares the plan with that index, with KV pools of `kvPages` pages,
  /// including the dummy page. The host may read the watched states of a
  /// completed round while the next one runs. If the machine lacks something
  /// that the plan needs, fails before any code of the artifact runs.
  virtual Result<std::unique_ptr<Executable>>
  load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
       uint64_t kvPages, std::vector<uint32_t> watchedStates = {}) = 0;

  /// Returns the default number of rounds of a launch, which is large enough to
  /// hide the host's time.
  virtual uint32_t preferredRounds() const = 0;

  /// Returns a description for people: "NVIDIA H100 80GB HBM3, sm_90".
  virtual std::string name() const = 0;

  virtual DeviceVersion version() const { return {}; }

  /// Returns the bytes of the last cache before the device's memory; zero if
  /// unknown.
  virtual uint64_t cacheBytes() const { return 0; }

  /// Returns the bytes per second, reads plus writes, of a copy of `bytes`
  /// within the device's memory. Unimplemented by a CPU.
  virtual Result<double> copyRate(uint64_t bytes) = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_DEVICE_H
