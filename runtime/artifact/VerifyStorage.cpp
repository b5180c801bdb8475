//===- VerifyStorage.cpp - Checks of segments and contents ----------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/ArtifactFormat.h"
#include "runtime/schema/BlobFormat.h"
#include "runtime/schema/Limits.h"

#include <algorithm>

using namespace mtp;

/// Maximum size of a session's memory (1 PiB). Sums of sizes then stay far from
/// overflow.
static constexpr uint64_t kMaxMemory = uint64_t(1) << 50;

/// Checks the tables of a list one by one. A failure is named, as "what[2]".
template <typename T>
static Status verifyEach(const char *what, const Tables<T> *tables,
                         const std::function<Status(const T &)> &verify) {
  for (uint32_t i = 0; i < vectorSize(tables); ++i)
    if (Status status = verify(*tables->Get(i)); !status.isOk())
      return status.withContext(strCat(what, "[", i, "]"));
  return okStatus();
}

/// Checks that [offset, offset + size) lies in the `limit` bytes of its owner,
/// which messages call `owner` ("the segment's").
static Status verifyRange(uint64_t offset, uint64_t size, uint64_t limit,
                          uint64_t alignment, const char *owner) {
  if (offset % alignment)
    return dataLoss(
        strCat("offset ", offset, " is no multiple of ", alignment));
  if (!inRange(offset, size, limit))
    return dataLoss(strCat("offset ", offset, " + ", size, " bytes is past ",
                           owner, " ", limit));
  return okStatus();
}

/// Checks that a segment starts after `end`, the end of the segment before it.
static Status verifySegment(const schema::Segment &segment, uint64_t end,
                            uint64_t segmentBytes) {
  if (segment.kind() > schema::SegmentKind::MAX)
    return dataLoss(strCat("unknown kind ", unsigned(segment.kind())));
  if (segment.offset() < end)
    return dataLoss(strCat("starts at ", segment.offset(),
                           ", inside the segment that ends at ", end));
  return verifyRange(segment.offset(), segment.size(), segmentBytes,
                     kSegmentAlignment, "all segments'");
}

static Status verifySegments(const Artifact &artifact, uint64_t segmentBytes) {
  uint64_t end = 0;
  MTP_RETURN_IF_ERROR(verifyEach<schema::Segment>(
      "segments", artifact.segments, [&](const schema::Segment &segment) {
        MTP_RETURN_IF_ERROR(verifySegment(segment, end, segmentBytes));
        end = segment.offset() + segment.size();
        return okStatus();
      }));
  if (end != segmentBytes)
    return dataLoss(strCat("expected the last segment to end with the file at ",
                           segmentBytes, ", got ", end));
  return okStatus();
}

/// Checks that `index` names a segment of `kind`.
static Status verifySegmentIndex(const Artifact &artifact, uint64_t index,
                                 schema::SegmentKind kind) {
  if (index >= vectorSize(artifact.segments))
    return dataLoss(strCat("segment ", index, " is past the ",
                           vectorSize(artifact.segments), " segments"));
  schema::SegmentKind got = artifact.segments->Get(uint32_t(index))->kind();
  if (got != kind)
    return dataLoss(strCat("expected a segment of kind ",
                           schema::EnumNameSegmentKind(kind), ", got ",
                           schema::EnumNameSegmentKind(got)));
  return okStatus();
}

/// Checks that a blob's type and shape are valid for its format.
static Status verifyFormat(const schema::Blob &blob, schema::SegmentKind kind) {
  if (blob.format() > schema::BlobFormat::MAX)
    return dataLoss(strCat("unknown format ", unsigned(blob.format())));
  if (blob.format() == schema::BlobFormat::Elements) {
    if (blob.group() != 0 || blob.inputs() != 0 ||
        blob.scales() != schema::BlobScales::F32 || blob.has_offset())
      return dataLoss(strCat("expected no group, inputs and offset, and scales "
                             "of f32 for plain elements, got group ",
                             blob.group(), " and ", blob.inputs()));
    return okStatus();
  }
  if (kind != schema::SegmentKind::Weights)
    return dataLoss(strCat("expected plain elements in a constant, got ",
                           schema::EnumNameBlobFormat(blob.format())));
  const QuantizedBlob &known = *findQuantizedBlob(blob.format());
  WeightFormat format = *weightFormatOf(blob);
  if (!format.isValid() || (known.isTable && !format.isPlain()) ||
      blob.inputs() == 0)
    return dataLoss(strCat("expected a group that suits elements and scales, "
                           "and a number of inputs, got group ",
                           blob.group(), " and ", blob.inputs()));
  uint64_t bytes =
      uint64_t(known.isTable ? format.rowBytes(blob.inputs())
                             : format.panelBytes(blob.inputs(),
                                                 QuantizedPanel::kOutputs));
  if (blob.dtype() != schema::DType::I8 || vectorSize(blob.shape()) != 2 ||
      blob.shape()->Get(1) != bytes)
    return dataLoss(strCat("expected ", known.isTable ? "rows" : "panels",
                           " of ", bytes, " i8 for ", blob.inputs(),
                           " inputs of ",
                           schema::EnumNameBlobFormat(blob.format()), ", got ",
                           tensorTypeName(blob.dtype(), blob.shape())));
  return okStatus();
}

static Status verifyBlob(const Artifact &artifact, const schema::Blob &blob,
                         schema::SegmentKind kind) {
  MTP_RETURN_IF_ERROR(verifySegmentIndex(artifact, blob.segment(), kind));
  MTP_ASSIGN_OR_RETURN(uint64_t bytes, tensorBytes(blob.dtype(), blob.shape()));
  if (bytes != blob.size())
    return dataLoss(strCat("expected ", bytes, " bytes for ",
                           tensorTypeName(blob.dtype(), blob.shape()), ", got ",
                           blob.size()));
  MTP_RETURN_IF_ERROR(verifyFormat(blob, kind));
  uint64_t segmentBytes = artifact.segments->Get(blob.segment())->size();
  return verifyRange(blob.offset(), blob.size(), segmentBytes, kBufferAlignment,
                     "the segment's");
}

static Status verifyBlobs(const Artifact &artifact, const char *what,
                          const Tables<schema::Blob> *blobs,
                          schema::SegmentKind kind) {
  return verifyEach<schema::Blob>(what, blobs, [&](const schema::Blob &blob) {
    return verifyBlob(artifact, blob, kind);
  });
}

static Status verifyImage(const Artifact &artifact, const Plan &plan,
                          const schema::Image &image) {
  if (image.format() > schema::ImageFormat::MAX)
    return dataLoss(strCat("unknown format ", unsigned(image.format())));
  MTP_RETURN_IF_ERROR(verifyFormatOf(plan, image));
  if (image.ptx() != -1)
    if (Status status = verifySegmentIndex(artifact, uint32_t(image.ptx()),
                                           schema::SegmentKind::Image);
        !status.isOk())
      return status.withContext("ptx");
  return verifySegmentIndex(artifact, image.segment(),
                            schema::SegmentKind::Image);
}

static Status verifyKernel(const Plan &plan, const schema::Kernel &kernel) {
  // The control of a tree has a buffer for each node, and a few more.
  constexpr uint32_t kMostBuffers = 2 * kMostNodes, kMostParams = 32;
  if (kernel.buffers() > kMostBuffers || kernel.params() > kMostParams)
    return dataLoss(strCat("expected at most ", kMostBuffers, " buffers and ",
                           kMostParams, " params, got ", kernel.buffers(),
                           " and ", kernel.params()));
  if (kernel.gemm())
    return verifyGemm(plan, kernel);
  std::string_view symbol = kernel.symbol()->string_view();
  bool reserved = symbol.substr(0, 4) == "mtp." && !plan.isGpu();
  MTP_RETURN_IF_ERROR(verifyLaunch(plan, kernel));
  if (kernel.image() >= 0) {
    if (reserved)
      return dataLoss(strCat("'", symbol, "' is a builtin's name"));
    if (uint32_t(kernel.image()) >= vectorSize(plan.images))
      return dataLoss(strCat("image ", kernel.image(), " is past the ",
                             vectorSize(plan.images), " images"));
    return verifyContract(plan, kernel);
  }
  if (kernel.contract())
    return dataLoss(strCat("expected no contract of builtin ", symbol));
  const Builtin *builtin = kernel.image() == -1 ? findBuiltin(symbol) : nullptr;
  if (!builtin)
    return dataLoss(strCat("no builtin is named '", symbol, "'"));
  if (kernel.buffers() != builtin->buffers ||
      kernel.params() != builtin->params)
    return dataLoss(strCat("expected ", builtin->buffers, " buffers and ",
                           builtin->params, " params for ", symbol, ", got ",
                           kernel.buffers(), " and ", kernel.params()));
  return okStatus();
}

static Status verifyCache(const schema::Cache &cache) {
  if (cache.dtype() > schema::DType::MAX)
    return dataLoss("unknown element type");
  if (cache.layers() < 1 || cache.layers() > kMostLayers)
    return dataLoss(
        strCat("expected 1 to ", kMostLayers, " layers, got ", cache.layers()));
  if (cache.entry_width() < 1 || cache.entry_width() > kMostEntry)
    return dataLoss(strCat("expected an entry of 1 to ", kMostEntry,
                           " elements, got ", cache.entry_width()));
  return okStatus();
}

/// Checks the offsets of the states in the plan's memory.
static Status verifyOffsets(const Artifact &artifact, const Plan &plan) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (size_t i = 0; i < artifact.states.size(); ++i) {
    uint64_t offset = plan.stateOffsets[i], bytes = artifact.states[i].bytes;
    Status status = verifyRange(offset, bytes, plan.stateBytes,
                                kBufferAlignment, "the state memory's");
    if (!status.isOk())
      return status.withContext(strCat("states[", i, "]"));
    ranges.emplace_back(offset, offset + bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return dataLoss(strCat("states: two of them share the byte at offset ",
                             ranges[i].first));
  return okStatus();
}

Status mtp::verifyShared(const Artifact &artifact, uint64_t segmentBytes) {
  MTP_RETURN_IF_ERROR(verifySegments(artifact, segmentBytes));
  MTP_RETURN_IF_ERROR(
      verifyEach<schema::Cache>("caches", artifact.caches, verifyCache));
  if (artifact.tokenizer == -1)
    return okStatus();
  return verifySegmentIndex(artifact, uint32_t(artifact.tokenizer),
                            schema::SegmentKind::Tokenizer)
      .withContext("tokenizer");
}

Status mtp::verifyStorage(const Artifact &artifact, const Plan &plan) {
  for (uint64_t size : {plan.stateBytes, plan.arenaBytes, plan.scratchBytes})
    if (size > kMaxMemory)
      return dataLoss(strCat("expected memories of at most ", kMaxMemory,
                             " bytes, got ", size));
  MTP_RETURN_IF_ERROR(verifyGpuPlan(plan));
  MTP_RETURN_IF_ERROR(verifyEach<schema::Image>(
      "images", plan.images, [&](const schema::Image &image) {
        return verifyImage(artifact, plan, image);
      }));
  MTP_RETURN_IF_ERROR(verifyBlobs(artifact, "weights", plan.weights,
                                  schema::SegmentKind::Weights));
  MTP_RETURN_IF_ERROR(verifyBlobs(artifact, "constants", plan.constants,
                                  schema::SegmentKind::Constants));
  MTP_RETURN_IF_ERROR(verifyEach<schema::Kernel>(
      "kernels", plan.kernels, [&](const schema::Kernel &kernel) {
        return verifyKernel(plan, kernel);
      }));
  return verifyOffsets(artifact, plan);
}
