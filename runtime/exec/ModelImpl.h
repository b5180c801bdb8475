//===- ModelImpl.h - The inside of Model ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MODELIMPL_H
#define MTP_RUNTIME_EXEC_MODELIMPL_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/exec/DeviceChoice.h"
#include "runtime/exec/DraftLessons.h"
#include "runtime/exec/program/ProgramTable.h"

namespace mtp {

struct Model::Impl {
  Impl(std::shared_ptr<const ArtifactFile> file, const PlanChoice &choice);

  const Artifact &artifact() const { return file->artifact(); }
  const Plan &plan() const { return artifact().plans[planIndex]; }

  std::shared_ptr<const ArtifactFile> file;
  /// The plan for this machine, and what runs it.
  uint32_t planIndex;
  DeviceKind device;
  /// Of the driver's GPUs; 0 where a CPU runs it.
  uint32_t gpu;
  ProgramTable programs;
  GenerationInfo generation;
  std::optional<EnvelopeInfo> envelope;
  std::optional<ChatSource> chat;
  /// No token depends on it.
  mutable DraftLessons lessons;
};

/// The way to what the public interface does not show.
struct ModelAccess {
  static const Model::Impl &impl(const Model &model) { return *model.impl; }
  static const std::shared_ptr<const ArtifactFile> &file(const Model &model) {
    return model.impl->file;
  }
  static uint32_t plan(const Model &model) { return model.impl->planIndex; }
  /// The device of a model; `cpu` counts if that is the CPU.
  static Result<std::unique_ptr<Device>> open(const Model &model,
                                              const CpuOptions &cpu) {
    return openDevice(model.impl->device, model.impl->gpu, cpu);
  }
};

/// Names and types of a function's ports.
std::vector<PortType> portTypes(const std::vector<Port> &ports);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MODELIMPL_H
