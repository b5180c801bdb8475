//===- ArtifactWriter.cpp - Writes model.bin ------------------------------===//
//
// The tables precede the segments and hold their hashes. The size of the tables
// does not depend on the hashes. They are therefore built first, and give the
// place of every segment. Then segments are streamed and hashed. At last the
// tables are built again with the true hashes and written before the segments.
//
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactWriter.h"
#include "compiler/Artifact/RopeTable.h"
#include "compiler/Artifact/SegmentStream.h"
#include "compiler/Artifact/WeightlessFile.h"
#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/artifact/SemanticVerifier.h"

using namespace mtp;
using namespace mtp::compiler;

namespace {

class Writer {
public:
  Writer(const ArtifactInputs &inputs, FileLayout &layout,
         const WeightSet *weights, const WriteOptions &options)
      : inputs(inputs), layout(layout), weights(weights), options(options) {
    for (const SegmentLayout &segment : layout.segments)
      if (segment.kind == schema::SegmentKind::Weights)
        weightBytes += segment.size;
  }

  Status write(const std::string &path);
  /// Writes a file as in WeightlessFile.h.
  Status writeWeightless(const std::string &path);

private:
  std::vector<uint8_t> recipes() const;
  Status writeSegment(AtomicFile &file, SegmentLayout &segment, uint64_t base);
  Status writeWeights(SegmentStream &stream, const SegmentLayout &segment);
  Status writeWeight(SegmentStream &stream, const WeightRecipe &recipe,
                     uint64_t offset);
  Status writeConstants(SegmentStream &stream, const SegmentLayout &segment);

  const ArtifactInputs &inputs;
  FileLayout &layout;
  const WeightSet *weights;
  const WriteOptions &options;
  /// Bytes of all segments of weights, and of the segments written so far.
  uint64_t weightBytes = 0, weightsDone = 0;
};

} // namespace

Status Writer::writeWeight(SegmentStream &stream, const WeightRecipe &recipe,
                           uint64_t offset) {
  MTP_RETURN_IF_ERROR(stream.padTo(offset));
  PackOptions packing;
  packing.threads = options.threads;
  packing.statistics = options.statistics;
  packing.energies = options.energies;
  if (options.progress) {
    packing.progress = [&](int64_t done, int64_t) {
      options.progress(weightsDone + offset + done, weightBytes);
    };
  }
  QuantizationError error;
  MTP_RETURN_IF_ERROR(packWeight(
      *weights, recipe,
      [&](std::span<const uint8_t> bytes) { return stream.append(bytes); },
      packing, &error));
  if (recipe.format.isQuantized() && options.onQuantized)
    options.onQuantized(recipe, error);
  if (options.onPacked) {
    MTP_ASSIGN_OR_RETURN(StoredTypes stored, storedTypesOf(*weights, recipe));
    options.onPacked(recipe, stored);
  }
  return okStatus();
}

Status Writer::writeWeights(SegmentStream &stream,
                            const SegmentLayout &segment) {
  if (!weights) {
    return failedPrecondition("expected weight files for the module's weights, "
                              "got `mtp.weights files []`");
  }
  for (BlobNumber number : segment.blobs)
    MTP_RETURN_IF_ERROR(
        checkSources(*weights, layout.plans[number.plan].recipes[number.blob]));
  for (BlobNumber number : segment.blobs) {
    const PlanLayout &plan = layout.plans[number.plan];
    MTP_RETURN_IF_ERROR(writeWeight(stream, plan.recipes[number.blob],
                                    plan.weights[number.blob].offset));
  }
  weightsDone += segment.size;
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

Status Writer::writeConstants(SegmentStream &stream,
                              const SegmentLayout &segment) {
  for (BlobNumber number : segment.blobs) {
    const BlobLayout &blob = layout.plans[number.plan].constants[number.blob];
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
    status = appendAll(segment.image.of(inputs));
    break;
  case schema::SegmentKind::Tokenizer:
    status = appendAll(inputs.tokenizer);
    break;
  case schema::SegmentKind::Constants:
    status = writeConstants(stream, segment);
    break;
  case schema::SegmentKind::Weights:
    status = writeWeights(stream, segment);
    break;
  }
  segment.hash = stream.hash();
  return status;
}

/// Runs the loader's verifier over the tables before anything is packed, so
/// that every written file loads.
static Status checkTables(const flatbuffers::DetachedBuffer &tables,
                          uint64_t segmentBytes) {
  Status status = verifyTables({tables.data(), tables.size()}, segmentBytes);
  if (status.isOk())
    return status;
  return internalError("expected an artifact that loads, got one with " +
                       std::string(status.message()));
}

Status Writer::write(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  flatbuffers::DetachedBuffer draft = buildTables(inputs, layout);
  MTP_RETURN_IF_ERROR(checkTables(draft, layout.segmentEnd));
  uint64_t base = segmentBase(sizeof(FileHeader), draft.size());
  MTP_RETURN_IF_ERROR(file.resize(base + layout.segmentEnd));
  for (SegmentLayout &segment : layout.segments)
    MTP_RETURN_IF_ERROR(writeSegment(file, segment, base));
  flatbuffers::DetachedBuffer tables = buildTables(inputs, layout);
  if (tables.size() != draft.size()) {
    return internalError("expected tables of a fixed size, got " +
                         std::to_string(draft.size()) + " and then " +
                         std::to_string(tables.size()) + " bytes");
  }
  if (options.checkArtifact) {
    MTP_ASSIGN_OR_RETURN(
        Artifact artifact,
        readTables({tables.data(), tables.size()}, layout.segmentEnd));
    MTP_RETURN_IF_ERROR(options.checkArtifact(artifact));
  }
  MTP_RETURN_IF_ERROR(file.writeAt(
      0, makeFileFront(tables.data(), tables.size(), layout.segmentEnd)));
  return file.commit();
}

std::vector<uint8_t> Writer::recipes() const {
  std::vector<PlacedRecipe> placed;
  for (size_t i = 0; i < layout.segments.size(); ++i) {
    if (layout.segments[i].kind != schema::SegmentKind::Weights)
      continue;
    for (BlobNumber number : layout.segments[i].blobs) {
      const PlanLayout &plan = layout.plans[number.plan];
      placed.push_back({plan.recipes[number.blob], uint32_t(i),
                        plan.weights[number.blob].offset});
    }
  }
  return encodeRecipes(*weights->randomSeed(), placed);
}

Status Writer::writeWeightless(const std::string &path) {
  if (!weights || !weights->randomSeed())
    return failedPrecondition("expected random weights to leave out");
  MTP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  flatbuffers::DetachedBuffer draft = buildTables(inputs, layout);
  MTP_RETURN_IF_ERROR(checkTables(draft, layout.segmentEnd));
  uint64_t base = segmentBase(sizeof(FileHeader), draft.size());
  WeightlessHeader header = {};
  std::memcpy(header.magic, kWeightlessMagic, sizeof(kWeightlessMagic));
  header.frontBytes = base;
  for (SegmentLayout &segment : layout.segments) {
    if (segment.kind == schema::SegmentKind::Weights)
      continue;
    MTP_RETURN_IF_ERROR(writeSegment(file, segment, sizeof(header) + base));
    header.frontBytes = base + segment.offset + segment.size;
  }
  flatbuffers::DetachedBuffer tables = buildTables(inputs, layout);
  MTP_RETURN_IF_ERROR(
      file.writeAt(sizeof(header), makeFileFront(tables.data(), tables.size(),
                                                 layout.segmentEnd)));
  std::vector<uint8_t> list = recipes();
  header.recipeBytes = list.size();
  header.recipeHash = hashBytes(list.data(), list.size());
  MTP_RETURN_IF_ERROR(file.writeAt(sizeof(header) + header.frontBytes, list));
  MTP_RETURN_IF_ERROR(file.writeAt(
      0, {reinterpret_cast<const uint8_t *>(&header), sizeof(header)}));
  return file.commit();
}

Status mtp::compiler::writeArtifact(const ArtifactInputs &inputs,
                                    const WeightSet *weights,
                                    const std::string &path,
                                    const WriteOptions &options) {
  mlir::FailureOr<FileLayout> layout = FileLayout::get(inputs);
  if (failed(layout))
    return internalError("the module cannot be laid out as an artifact");
  Writer writer(inputs, *layout, weights, options);
  return options.omitWeights ? writer.writeWeightless(path)
                             : writer.write(path);
}
