//===- ArtifactWriter.cpp - Writes model.bin ------------------------------===//
//
// The tables stand before the segments and hold their hashes, but are built
// first: their size does not depend on the hashes, so that the place of every
// segment is known. Segments are streamed and hashed, and then the tables are
// built again with the true hashes and written in front.
//
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactWriter.h"
#include "compiler/Artifact/AtomicFile.h"
#include "compiler/Artifact/RopeTable.h"
#include "compiler/Weights/WeightPacker.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/schema/ArtifactFormat.h"

using namespace mtp;
using namespace mtp::compiler;

namespace {

/// Appends to one segment of the file, hashing as it goes.
class SegmentStream {
public:
  SegmentStream(AtomicFile &file, uint64_t begin) : file(file), begin(begin) {
    XXH3_64bits_reset(&state);
  }

  Status append(std::span<const uint8_t> bytes) {
    MTP_RETURN_IF_ERROR(file.writeAt(begin + size, bytes));
    XXH3_64bits_update(&state, bytes.data(), bytes.size());
    size += bytes.size();
    return Status();
  }
  /// Fills with zeros up to `offset` of the segment.
  Status padTo(uint64_t offset) {
    static const std::array<uint8_t, kBufferAlignment> zeros = {};
    return append(std::span(zeros).first(offset - size));
  }
  uint64_t hash() const { return XXH3_64bits_digest(&state); }

private:
  AtomicFile &file;
  uint64_t begin;
  uint64_t size = 0;
  XXH3_state_t state;
};

class Writer {
public:
  Writer(mlir::ModuleOp module, const ArtifactInputs &inputs,
         const ArtifactLayout &layout, const WeightSet *weights,
         const WriteOptions &options)
      : module(module), inputs(inputs), layout(layout), weights(weights),
        options(options) {}

  Status write(const std::string &path);

private:
  void planSegments();
  Status writeSegment(AtomicFile &file, SegmentLayout &segment, uint64_t base);
  Status writeWeights(SegmentStream &stream);
  Status writeConstants(SegmentStream &stream);

  mlir::ModuleOp module;
  const ArtifactInputs &inputs;
  const ArtifactLayout &layout;
  const WeightSet *weights;
  const WriteOptions &options;
  std::vector<SegmentLayout> segments;
  uint64_t segmentEnd = 0;
};

} // namespace

void Writer::planSegments() {
  auto add = [&](schema::SegmentKind kind, uint64_t size) {
    if (size > 0) {
      uint64_t offset = alignTo(segmentEnd, kSegmentAlignment);
      segments.push_back({kind, offset, size, /*hash=*/0});
      segmentEnd = offset + size;
    }
  };
  // What every start reads comes first, the weights last.
  add(schema::SegmentKind::Image, inputs.image.size());
  add(schema::SegmentKind::Tokenizer, inputs.tokenizer.size());
  add(schema::SegmentKind::Constants, layout.constantBytes);
  add(schema::SegmentKind::Weights, layout.weightBytes);
}

Status Writer::writeWeights(SegmentStream &stream) {
  if (!weights) {
    return failedPrecondition("expected weight files for the module's weights, "
                              "got `mtp.weights files []`");
  }
  for (auto [blob, recipe] : llvm::zip(layout.weights, layout.recipes))
    MTP_RETURN_IF_ERROR(checkSources(*weights, recipe));
  for (auto [blob, recipe] : llvm::zip(layout.weights, layout.recipes)) {
    MTP_RETURN_IF_ERROR(stream.padTo(blob.offset));
    PackOptions packing;
    packing.threads = options.threads;
    if (options.progress) {
      packing.progress = [&, offset = blob.offset](int64_t done, int64_t) {
        options.progress(offset + done, layout.weightBytes);
      };
    }
    QuantizationError error;
    MTP_RETURN_IF_ERROR(packWeight(
        *weights, recipe,
        [&](std::span<const uint8_t> bytes) { return stream.append(bytes); },
        packing, &error));
    if (recipe.bits && options.onQuantized)
      options.onQuantized(recipe, error);
  }
  return weights->checkUnchanged();
}

/// Streams a rotary table row by row.
static Status writeRopeTable(SegmentStream &stream,
                             mlir::exec::RopeTableOp table) {
  mlir::mtp::RopeAttr rope = table.getRope();
  std::vector<float> frequencies = inverseFrequencies(rope);
  std::vector<float> row(rope.getDim());
  for (int64_t position = 0; position < int64_t(table.getPositions());
       ++position) {
    writeRopeRow(rope, frequencies, position, row.data());
    MTP_RETURN_IF_ERROR(
        stream.append({reinterpret_cast<const uint8_t *>(row.data()),
                       row.size() * sizeof(float)}));
  }
  return Status();
}

Status Writer::writeConstants(SegmentStream &stream) {
  for (const BlobLayout &blob : layout.constants) {
    MTP_RETURN_IF_ERROR(stream.padTo(blob.offset));
    if (auto table = llvm::dyn_cast<mlir::exec::RopeTableOp>(blob.op)) {
      MTP_RETURN_IF_ERROR(writeRopeTable(stream, table));
      continue;
    }
    auto constant = llvm::cast<mlir::exec::ConstantOp>(blob.op);
    auto value = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
    std::vector<uint8_t> bytes;
    bytes.reserve(blob.size);
    // A splat holds its element once.
    llvm::ArrayRef<char> raw = value.getRawData();
    while (bytes.size() < blob.size)
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    MTP_RETURN_IF_ERROR(stream.append(bytes));
  }
  return Status();
}

Status Writer::writeSegment(AtomicFile &file, SegmentLayout &segment,
                            uint64_t base) {
  SegmentStream stream(file, base + segment.offset);
  auto appendAll = [&](const auto &container) {
    return stream.append({reinterpret_cast<const uint8_t *>(container.data()),
                          container.size()});
  };
  Status status;
  switch (segment.kind) {
  case schema::SegmentKind::Image:
    status = appendAll(inputs.image);
    break;
  case schema::SegmentKind::Tokenizer:
    status = appendAll(inputs.tokenizer);
    break;
  case schema::SegmentKind::Constants:
    status = writeConstants(stream);
    break;
  case schema::SegmentKind::Weights:
    status = writeWeights(stream);
    break;
  }
  segment.hash = stream.hash();
  return status;
}

/// Runs the loader's verifier over the tables, before anything is packed: what
/// is written loads.
static Status checkTables(const flatbuffers::DetachedBuffer &tables,
                          uint64_t segmentBytes) {
  Status status = verifyTables({tables.data(), tables.size()}, segmentBytes);
  if (status.isOk())
    return status;
  return internalError("expected an artifact that loads, got one with " +
                       std::string(status.message()));
}

Status Writer::write(const std::string &path) {
  planSegments();
  MTP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  flatbuffers::DetachedBuffer draft =
      buildTables(module, layout, inputs, segments);
  MTP_RETURN_IF_ERROR(checkTables(draft, segmentEnd));
  uint64_t base = segmentBase(sizeof(FileHeader), draft.size());
  MTP_RETURN_IF_ERROR(file.resize(base + segmentEnd));
  for (SegmentLayout &segment : segments)
    MTP_RETURN_IF_ERROR(writeSegment(file, segment, base));
  flatbuffers::DetachedBuffer tables =
      buildTables(module, layout, inputs, segments);
  if (tables.size() != draft.size()) {
    return internalError("expected tables of a fixed size, got " +
                         std::to_string(draft.size()) + " and then " +
                         std::to_string(tables.size()) + " bytes");
  }
  MTP_RETURN_IF_ERROR(
      file.writeAt(0, makeFileFront(tables.data(), tables.size(), segmentEnd)));
  return file.commit();
}

Status mtp::compiler::writeArtifact(mlir::ModuleOp module,
                                    const ArtifactInputs &inputs,
                                    const WeightSet *weights,
                                    const std::string &path,
                                    const WriteOptions &options) {
  mlir::FailureOr<ArtifactLayout> layout = ArtifactLayout::get(module);
  if (failed(layout))
    return internalError("the module cannot be laid out as an artifact");
  return Writer(module, inputs, *layout, weights, options).write(path);
}
