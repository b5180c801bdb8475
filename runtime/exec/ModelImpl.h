//===- ModelImpl.h - The inside of Model ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MODELIMPL_H
#define MTP_RUNTIME_EXEC_MODELIMPL_H

#include "mtp/model.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/exec/ProgramTable.h"

namespace mtp {

struct Model::Impl {
  explicit Impl(std::shared_ptr<const ArtifactFile> file);

  std::shared_ptr<const ArtifactFile> file;
  ProgramTable programs;
  GenerationInfo generation;
  std::optional<EnvelopeInfo> envelope;
};

/// The way to what the public interface does not show.
struct ModelAccess {
  static const std::shared_ptr<const ArtifactFile> &file(const Model &model) {
    return model.impl->file;
  }
};

using PortVector = flatbuffers::Vector<flatbuffers::Offset<schema::Port>>;

/// Names and types of ports, which may be absent.
std::vector<PortType> portTypes(const PortVector *ports);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MODELIMPL_H
