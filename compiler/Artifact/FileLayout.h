//===- FileLayout.h - Where everything of a file lies -----------*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_FILELAYOUT_H
#define MTP_COMPILER_ARTIFACT_FILELAYOUT_H

#include "compiler/Artifact/PlanLayout.h"
#include "compiler/Target/Target.h"
#include "runtime/chat/ChatTemplate.h"

namespace mtp::compiler {

/// A plan of the file: one target's module, which went through the exec phase,
/// and its kernels.
struct PlanInputs {
  mlir::ModuleOp module;
  const Target *target = nullptr;
  KernelCode code;
};

/// What goes into a file. The modules come from one and declare the same states
/// and caches.
struct ArtifactInputs {
  std::string producer;
  std::string model;
  /// A serialised tokenizer, or nothing.
  std::string tokenizer;
  /// Chat templates, of sizes that the file may have; or none.
  ChatSource chat;
  std::vector<PlanInputs> plans;
};

/// A blob of a plan, by their numbers.
struct BlobNumber {
  size_t plan, blob;
};

/// An image of a plan, and whether it is the PTX beside a cubin.
struct ImageNumber {
  size_t plan = 0;
  size_t image = 0;
  bool isPtx = false;

  bool operator==(const ImageNumber &) const = default;
  const std::vector<char> &of(const ArtifactInputs &inputs) const {
    const KernelImage &own = inputs.plans[plan].code.images[image];
    return isPtx ? own.ptx : own.bytes;
  }
};

/// A segment of the file: its place counted from the segment base.
struct SegmentLayout {
  schema::SegmentKind kind;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t hash = 0;
  /// Weights or constants, in their order; one that several plans have is named
  /// by the first of them.
  std::vector<BlobNumber> blobs;
  /// Of an image: whose and which it is.
  ImageNumber image;
};

struct FileLayout {
  std::vector<PlanLayout> plans;
  /// What every start reads comes first, the weights last.
  std::vector<SegmentLayout> segments;
  /// Where the last one ends.
  uint64_t segmentEnd = 0;

  /// Lays the file out. Weights and constants that are the same in several
  /// plans are stored once: there is a segment for each set of plans that have
  /// something in common.
  static mlir::FailureOr<FileLayout> get(const ArtifactInputs &inputs);

  /// The number of the tokenizer's segment, or of an image's; -1: none.
  int tokenizerSegment() const;
  int imageSegment(const ImageNumber &image) const;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_FILELAYOUT_H
