//===- CudaExecutable.h - A plan on a GPU -----------------------*- C++ -*-===//
//
//   CudaExecutable.cpp   loads a plan and assigns its addresses
//   CudaCopies.cpp       writes and reads of the host between launches
//   CudaRuns.cpp         launches of programs
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_CUDAEXECUTABLE_H
#define MTP_RUNTIME_DEVICE_CUDA_CUDAEXECUTABLE_H

#include "runtime/device/Rounds.h"
#include "runtime/device/cuda/DeviceMailbox.h"
#include "runtime/device/cuda/Download.h"
#include "runtime/device/cuda/LoadedPlan.h"
#include "runtime/device/cuda/PlanGemms.h"
#include "runtime/device/cuda/RoundLoop.h"

#include <functional>

namespace mtp {

/// See Device.h. Host and device take turns: run() waits for its graph, and
/// while rounds run in a loop the host only reads their results. Writes go with
/// the next launch. Copies go through the stream, so they are in order with
/// launches.
class CudaExecutable final : public Executable {
public:
  CudaExecutable(std::shared_ptr<CudaContext> context,
                 std::shared_ptr<const ArtifactFile> source, uint32_t index,
                 uint64_t kvPages, std::vector<uint32_t> watchedStates)
      : context(std::move(context)), file(std::move(source)),
        artifact(file->artifact()), planIndex(index),
        plan(artifact.plans[index]), kvPages(kvPages),
        watched(std::move(watchedStates)) {}
  ~CudaExecutable() override;

  Status load();
  Status run(uint32_t program, uint32_t n) override;
  Status runPart(uint32_t program, uint32_t n, Part part) override;
  void applyRules(bool applies) override { appliesRules = applies; }
  Status expect(std::span<const ExpectedLaunch> launches) override;
  Status startRounds(uint32_t program, uint32_t n) override;
  Result<Progress> awaitRounds(uint32_t seen) override;
  void stopRounds() override { loop.stop(); }
  Result<std::string> useLibrary() override;
  Status runTimed(uint32_t program, uint32_t n, CommandTimes &times) override;
  Status write(const Binding &binding, const void *source,
               uint64_t bytes) override;
  Status read(const Binding &binding, void *target, uint64_t bytes) override;
  Status writePage(uint32_t cache, uint32_t layer, uint32_t page,
                   const void *source) override;
  Status readPage(uint32_t cache, uint32_t layer, uint32_t page,
                  uint32_t entries, void *target) override;
  Status readAll(std::span<const ReadPart> parts) override;
  uint64_t memoryBytes() const override;
  uint64_t hostBytes() const override;

private:
  Status reserve(bool withWeights);
  uint64_t footprintOfPages(uint64_t pages) const;
  uint64_t mostPages(uint64_t bytes) const;
  Status loadPlan();
  Status allocate();
  Result<CudaMemory> makeZeroed(uint64_t bytes, uint64_t residue,
                                const char *what);
  Status checkRuns(const Program &program, uint32_t n) const;
  LaunchList resolve(const Program &program, uint32_t n, CommandRange range,
                     bool withRules) const;
  KernelLaunch resolve(const Program &program, const Command &command,
                       uint32_t n) const;
  /// Part of a program that a graph contains.
  enum class Piece : uint8_t {
    Whole,
    Repeated,
    FirstHalf,
    SecondHalf,
    OnRequest
  };
  uint64_t keyOf(uint32_t program, uint32_t n, Piece piece) const;
  Result<const CudaGraph *> graphOf(uint32_t program, uint32_t n, Piece piece);
  Result<GraphParts> partsOf(const Program &program, uint32_t n, Piece piece);
  Status launchGraph(uint32_t program, uint32_t n, Piece piece);
  Status runPiece(uint32_t program, uint32_t n, Piece piece);
  Status launchMailbox();
  Status deliver();
  Status checkIdle() const {
    return loop.isRunning() ? failedPrecondition("rounds are under way")
                            : okStatus();
  }
  bool isWatched(const Binding &binding) const {
    return binding.space == schema::Space::State &&
           pinned[binding.index].data();
  }
  Status launchAll(LaunchList &launches);
  Status launchKernel(KernelLaunch &launch);
  Status makingRoom(bool keepLast, const std::function<Status()> &work);
  Status makeEvents(size_t count);
  CUdeviceptr address(const Binding &binding) const;
  Status upload(CUdeviceptr target, const void *source, uint64_t bytes);
  Status download(void *target, CUdeviceptr source, uint64_t bytes);
  void addPage(const ReadPart &part, std::vector<DownloadPiece> &pieces) const;
  Status wait(std::string_view what) const;
  std::chrono::nanoseconds patience() const;

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<const ArtifactFile> file;
  const Artifact &artifact;
  uint32_t planIndex;
  const Plan &plan;
  uint64_t kvPages;
  std::shared_ptr<LoadedPlan> loaded;
  /// Memory of the device, and of the host.
  MemoryReservation reservation, hostReservation;
  CudaMemory arena;
  /// Indexed like the artifact's states: memory of the device, or of the host
  /// if the state is watched.
  std::vector<CudaMemory> states;
  std::vector<PinnedMemory> pinned;
  std::vector<uint32_t> watched;
  /// Layers of each cache.
  std::vector<std::vector<CudaMemory>> caches;
  CUstream stream = nullptr;
  DeviceMailbox mailbox;
  Download copies{context};
  RoundLoop loop;
  /// Null until a session uses the library.
  std::unique_ptr<PlanGemms> gemms;
  GraphCache graphs;
  bool appliesRules = false;
  /// Events before and after each command of a timed run.
  std::vector<CUevent> events;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_CUDAEXECUTABLE_H
