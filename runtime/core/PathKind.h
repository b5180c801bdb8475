//===- PathKind.h - The kind of a path --------------------------*- C++ -*-===//
//
// The one place that tells models, artifacts and files of other formats apart.
// Each tool uses its error messages, which say what was found and the next
// step. When a tool learns to read a format, remove the format from the tool's
// list of refusals.
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_PATHKIND_H
#define MTP_RUNTIME_CORE_PATHKIND_H

#include "runtime/core/Status.h"

#include <string>

namespace mtp {

enum class PathKind {
  Missing,
  // Folders.
  Model,        ///< A config and weights in safetensors.
  Config,       ///< A config without weights.
  PyTorchModel, ///< A config and weights in PyTorch's format.
  GgufModel,    ///< Files in GGUF, and no weights in safetensors.
  Adapter,      ///< Differences to another model's weights (LoRA).
  HubCache,     ///< A model in the cache of a hub, which has revisions.
  Folder,       ///< Any other.
  // Files.
  Gguf,
  DamagedGguf, ///< Named .gguf, but does not begin as GGUF.
  Ggml,        ///< The format before GGUF.
  Safetensors,
  PyTorch,
  Json,
  Module, ///< MLIR, as text or as bytecode.
  Artifact,
  File,  ///< Any other.
  Other, ///< No file and no folder: a device, a pipe.
};

/// Purpose for which a tool takes a path.
enum class PathUse {
  Import,       ///< A model's folder with weights.
  ImportConfig, ///< A model's folder; its config is enough.
  Compile,      ///< A module.
  Run,          ///< An artifact.
  Start,        ///< An artifact, or a model that a tool compiles itself.
};

/// Returns the kind of a path, from the first bytes of a file or the files of a
/// folder.
PathKind kindOf(const std::string &path);

/// Fails if the content of `path` is known to be useless for `use`. The error
/// says what it is and the next step. A kind that only its reader can judge
/// passes, as any other file does.
Status checkPath(const std::string &path, PathUse use);

} // namespace mtp

#endif // MTP_RUNTIME_CORE_PATHKIND_H
