//===- ModelImpl.h - The inside of Model ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MODELIMPL_H
#define MTP_RUNTIME_EXEC_MODELIMPL_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/exec/DeviceChoice.h"
#include "runtime/exec/LearnedDraftCosts.h"
#include "runtime/exec/program/ProgramTable.h"
#include "runtime/profile/Profile.h"
#include "runtime/profile/ProfileKeys.h"

#include <mutex>
#include <optional>

namespace mtp {

struct Model::Impl {
  Impl(std::shared_ptr<const ArtifactFile> file, const PlanChoice &choice);

  const Artifact &artifact() const { return file->artifact(); }
  const Plan &plan() const { return artifact().plans[planIndex]; }
  /// Returns the keys of the plan's programs in profiles. The first call
  /// computes them. Any thread may call it.
  const profile::ProgramKeys &programKeys() const;

  std::shared_ptr<const ArtifactFile> file;
  /// The plan for this machine, and the device that runs it.
  uint32_t planIndex;
  DeviceKind device;
  /// The number of the GPU among the driver's; 0 for a CPU.
  uint32_t gpu;
  ProgramTable programs;
  GenerationInfo generation;
  std::optional<EnvelopeInfo> envelope;
  std::optional<ChatSource> chat;
  /// Measurements from LoadOptions::profile.
  std::optional<profile::Profile> profile;
  /// Costs and acceptance that earlier sessions have learned. No token depends
  /// on them.
  mutable LearnedDraftCosts learnedCosts;

private:
  mutable std::once_flag hashesPrograms;
  mutable std::optional<profile::ProgramKeys> keys;
};

/// Access to what the public interface does not show.
struct ModelAccess {
  static const Model::Impl &impl(const Model &model) { return *model.impl; }
  static const std::shared_ptr<const ArtifactFile> &file(const Model &model) {
    return model.impl->file;
  }
  static uint32_t plan(const Model &model) { return model.impl->planIndex; }
  /// Opens the device of a model; `cpu` counts if that is the CPU.
  static Result<std::unique_ptr<Device>> open(const Model &model,
                                              const CpuOptions &cpu) {
    return openDevice(model.impl->device, model.impl->gpu, cpu);
  }
};

/// Returns the names and types of a function's ports.
std::vector<PortType> portTypes(const std::vector<Port> &ports);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MODELIMPL_H
