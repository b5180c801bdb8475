//===- ArtifactTables.h - From exec IR to the artifact's tables -*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ARTIFACTTABLES_H
#define MTP_COMPILER_ARTIFACT_ARTIFACTTABLES_H

#include "compiler/Artifact/ArtifactLayout.h"

namespace mtp::compiler {

/// What the file holds beside what the module says.
struct ArtifactInputs {
  std::string producer;
  std::string model;
  /// The processor, by LLVM's name, and the features that kernels need.
  std::string cpu;
  std::vector<std::string> features;
  /// Scratch of one worker, bytes: of each kernel, and what is enough for all.
  llvm::StringMap<uint64_t> kernelScratch;
  uint64_t scratchBytes = 0;
  /// The linked kernels.
  std::vector<char> image;
  /// A serialised tokenizer, or nothing.
  std::string tokenizer;
};

/// A segment of the file: its place counted from the segment base.
struct SegmentLayout {
  schema::SegmentKind kind;
  uint64_t offset;
  uint64_t size;
  uint64_t hash;
};

/// Builds the FlatBuffer. Its size does not depend on the segments' hashes.
flatbuffers::DetachedBuffer buildTables(mlir::ModuleOp module,
                                        const ArtifactLayout &layout,
                                        const ArtifactInputs &inputs,
                                        llvm::ArrayRef<SegmentLayout> segments);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ARTIFACTTABLES_H
