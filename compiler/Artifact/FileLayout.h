//===- FileLayout.h - Layout of an artifact file ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_FILELAYOUT_H
#define MTP_COMPILER_ARTIFACT_FILELAYOUT_H

#include "compiler/Artifact/PlanLayout.h"
#include "compiler/Target/Target.h"
#include "runtime/chat/ChatTemplate.h"

namespace mtp::compiler {

/// A plan of the file: one target's module after the exec phase, and its
/// kernels.
struct PlanInputs {
  mlir::ModuleOp module;
  const Target *target = nullptr;
  KernelCode code;
};

/// Content of a file. The modules are copies of one module, and have equal
/// states and caches.
struct ArtifactInputs {
  std::string producer;
  std::string model;
  /// A serialised tokenizer; empty for none.
  std::string tokenizer;
  /// Chat templates, within the size limits of a file; empty for none.
  ChatSource chat;
  std::vector<PlanInputs> plans;
};

/// Numbers of a plan and of a blob in it.
struct BlobNumber {
  size_t plan, blob;
};

/// Numbers of a plan and of an image in it. `isPtx` is true for the PTX beside
/// a cubin.
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

/// A segment of the file. Its place counts from the segment base.
struct SegmentLayout {
  schema::SegmentKind kind;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t hash = 0;
  /// Weights or constants, in order. A blob that several plans share appears as
  /// the blob of the first plan.
  std::vector<BlobNumber> blobs;
  /// The image that the segment holds, if it holds one.
  ImageNumber image;
};

struct FileLayout {
  std::vector<PlanLayout> plans;
  /// Segments in order: data that every start reads first, weights last.
  std::vector<SegmentLayout> segments;
  /// End of the last segment.
  uint64_t segmentEnd = 0;

  /// Lays the file out. Weights and constants that are equal in several plans
  /// are stored once. There is one segment for each set of plans that share
  /// blobs.
  static mlir::FailureOr<FileLayout> get(const ArtifactInputs &inputs);

  /// Returns the number of the segment of the tokenizer, or of an image; -1:
  /// none.
  int tokenizerSegment() const;
  int imageSegment(const ImageNumber &image) const;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_FILELAYOUT_H
