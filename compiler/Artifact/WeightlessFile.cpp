//===- WeightlessFile.cpp - An artifact without its weights ---------------===//

#include "compiler/Artifact/WeightlessFile.h"
#include "compiler/Artifact/SegmentStream.h"
#include "compiler/Artifact/weight_recipes_generated.h"
#include "compiler/Weights/InputFile.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::compiler;

std::vector<uint8_t>
compiler::encodeRecipes(uint64_t seed,
                        const std::vector<PlacedRecipe> &weights) {
  schema::RecipesT list;
  list.seed = seed;
  for (const PlacedRecipe &placed : weights) {
    const WeightRecipe &recipe = placed.recipe;
    auto entry = std::make_unique<schema::RecipeT>();
    entry->name = recipe.name;
    entry->layout = uint8_t(recipe.layout);
    entry->format = std::make_unique<schema::RecipeFormat>(
        uint8_t(recipe.format.elements), recipe.format.group,
        uint8_t(recipe.format.scales), recipe.format.hasOffset);
    entry->k = recipe.k;
    entry->n = recipe.n;
    entry->count = recipe.count;
    for (const WeightSource &source : recipe.sources) {
      auto from = std::make_unique<schema::RecipeSourceT>();
      from->key = source.keyPattern;
      from->row_begin = source.rowBegin;
      from->row_end = source.rowEnd;
      from->column_begin = source.colBegin;
      from->column_end = source.colEnd;
      from->head_stride = source.headStride;
      entry->sources.push_back(std::move(from));
    }
    entry->panel_width = recipe.panelWidth;
    entry->fragments = recipe.fragments;
    entry->segment = placed.segment;
    entry->offset = placed.offset;
    list.weights.push_back(std::move(entry));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::Recipes::Pack(builder, &list),
                 schema::RecipesIdentifier());
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

static PlacedRecipe decodeRecipe(const schema::Recipe &entry) {
  PlacedRecipe placed;
  WeightRecipe &recipe = placed.recipe;
  recipe.name = entry.name()->str();
  recipe.layout = WeightLayout(entry.layout());
  recipe.format = {
      WeightElements(entry.format()->elements()), entry.format()->group(),
      WeightScales(entry.format()->scales()), entry.format()->has_offset()};
  recipe.k = entry.k();
  recipe.n = entry.n();
  recipe.count = entry.count();
  for (const schema::RecipeSource *from : *entry.sources()) {
    WeightSource &source = recipe.sources.emplace_back();
    source.keyPattern = from->key()->str();
    source.rowBegin = from->row_begin();
    source.rowEnd = from->row_end();
    source.colBegin = from->column_begin();
    source.colEnd = from->column_end();
    source.headStride = from->head_stride();
  }
  recipe.panelWidth = entry.panel_width();
  recipe.fragments = entry.fragments();
  placed.segment = entry.segment();
  placed.offset = entry.offset();
  return placed;
}

namespace {

/// Reads and completes one file.
class Filler {
public:
  Filler(std::span<const uint8_t> file, unsigned threads)
      : file(file), threads(threads) {}

  Status read();
  Status write(const std::string &path);

private:
  Status readRecipes(std::span<const uint8_t> bytes);
  Status readFront(std::span<const uint8_t> bytes);
  Status checkPlaces();
  Status writeSegment(AtomicFile &out, uint32_t number);
  const schema::Artifact &root() const {
    return *schema::GetArtifact(tables.data());
  }

  std::span<const uint8_t> file;
  unsigned threads;
  uint64_t seed = 0;
  std::vector<PlacedRecipe> weights;
  /// The artifact up to its weights.
  std::span<const uint8_t> front;
  FileHeader header = {};
  std::vector<uint8_t> tables;
  uint64_t base = 0;
};

} // namespace

Status Filler::read() {
  WeightlessHeader own;
  if (file.size() < sizeof(own) ||
      std::memcmp(file.data(), kWeightlessMagic, sizeof(kWeightlessMagic)) != 0)
    return dataLoss("expected an artifact without weights "
                    "(mtpc --omit-weights)");
  std::memcpy(&own, file.data(), sizeof(own));
  std::span<const uint8_t> rest = file.subspan(sizeof(own));
  if (!inRange(own.frontBytes, own.recipeBytes, rest.size()) ||
      own.frontBytes + own.recipeBytes != rest.size())
    return dataLoss(strCat("expected ", own.frontBytes, " + ", own.recipeBytes,
                           " bytes after the header, got ", rest.size()));
  std::span<const uint8_t> recipes = rest.subspan(own.frontBytes);
  if (hashBytes(recipes.data(), recipes.size()) != own.recipeHash)
    return dataLoss("the bytes of the recipes do not match their hash");
  MTP_RETURN_IF_ERROR(readRecipes(recipes));
  MTP_RETURN_IF_ERROR(readFront(rest.first(own.frontBytes)));
  return checkPlaces();
}

Status Filler::readRecipes(std::span<const uint8_t> bytes) {
  // A FlatBuffer must be aligned.
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  auto *begin = reinterpret_cast<const uint8_t *>(aligned.data());
  flatbuffers::Verifier verifier(begin, bytes.size());
  if (!schema::VerifyRecipesBuffer(verifier))
    return dataLoss("expected recipes of this build's mtpc");
  const schema::Recipes &list = *schema::GetRecipes(begin);
  seed = list.seed();
  for (const schema::Recipe *entry : *list.weights()) {
    if (entry->layout() > uint8_t(WeightLayout::GatedPanels))
      return dataLoss(strCat("weight \"", entry->name()->string_view(),
                             "\": expected a layout, got ",
                             unsigned(entry->layout())));
    MTP_RETURN_IF_ERROR(
        verifyRecipe(weights.emplace_back(decodeRecipe(*entry)).recipe));
  }
  return okStatus();
}

Status Filler::readFront(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(header))
    return dataLoss(strCat("expected at least ", sizeof(header),
                           " bytes of an artifact, got ", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof(header));
  uint64_t size = header.programSize;
  if (std::memcmp(header.magic, kFileMagic, sizeof(kFileMagic)) != 0 ||
      header.version != kFormatVersion ||
      std::memcmp(header.schemaHash, kSchemaHash, sizeof(kSchemaHash)) != 0)
    return failedPrecondition("expected an artifact of this build's mtpc");
  if (size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return dataLoss(
        strCat("expected tables of less than 2^31 bytes, got ", size));
  base = segmentBase(sizeof(header), size);
  if (header.programOffset != sizeof(header) || base > bytes.size() ||
      header.fileSize < base)
    return dataLoss(strCat("expected tables of ", size, " bytes, got ",
                           bytes.size(), " of an artifact"));
  uint64_t seal;
  std::memcpy(&seal, bytes.data() + sizeof(header) + size, sizeof(seal));
  if (hashBytes(bytes.data(), sizeof(header) + size) != seal)
    return dataLoss("the bytes of header and program do not match their seal");
  front = bytes;
  const uint8_t *begin = bytes.data() + sizeof(header);
  tables.assign(begin, begin + size);
  return verifyTables(tables, header.fileSize - base);
}

/// Checks that the recipes' weights fill the last segments without gaps.
Status Filler::checkPlaces() {
  uint64_t end = front.size() - base;
  size_t next = 0;
  for (uint32_t i = 0; i < root().segments()->size(); ++i) {
    const schema::Segment &segment = *root().segments()->Get(i);
    if (segment.kind() != schema::SegmentKind::Weights) {
      if (segment.offset() + segment.size() > end)
        return dataLoss(strCat("segments[", i, "]: expected all of its bytes"));
      continue;
    }
    uint64_t filled = 0;
    for (; next < weights.size() && weights[next].segment == i; ++next) {
      const PlacedRecipe &placed = weights[next];
      if (placed.offset != alignTo(filled, kBufferAlignment))
        return dataLoss(strCat("weight \"", placed.recipe.name,
                               "\": expected it at byte ",
                               alignTo(filled, kBufferAlignment),
                               " of its segment, got ", placed.offset));
      filled = placed.offset + uint64_t(packedBytes(placed.recipe));
    }
    if (filled != segment.size())
      return dataLoss(strCat("segments[", i, "]: expected recipes for ",
                             segment.size(), " bytes, got ", filled));
  }
  if (next < weights.size())
    return dataLoss(strCat("weight \"", weights[next].recipe.name,
                           "\": expected a segment of weights"));
  return okStatus();
}

/// Returns the address of a segment's hash in the tables; null if it has none.
/// mtpc always writes it.
static const uint8_t *hashPlace(const schema::Segment &segment) {
  return reinterpret_cast<const flatbuffers::Table &>(segment).GetAddressOf(
      schema::Segment::VT_HASH);
}

Status Filler::writeSegment(AtomicFile &out, uint32_t number) {
  const schema::Segment &segment = *root().segments()->Get(number);
  const uint8_t *place = hashPlace(segment);
  if (!place)
    return dataLoss(strCat("segments[", number, "]: expected room for a hash"));
  SegmentStream stream(out, base + segment.offset());
  WeightSet random = WeightSet::random(seed);
  PackOptions options;
  options.threads = threads;
  for (const PlacedRecipe &placed : weights) {
    if (placed.segment != number)
      continue;
    MTP_RETURN_IF_ERROR(stream.padTo(placed.offset));
    MTP_RETURN_IF_ERROR(packWeight(
        random, placed.recipe,
        [&](std::span<const uint8_t> bytes) { return stream.append(bytes); },
        options));
  }
  uint64_t hash = stream.hash();
  std::memcpy(tables.data() + (place - tables.data()), &hash, sizeof(hash));
  return okStatus();
}

Status Filler::write(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(path));
  MTP_RETURN_IF_ERROR(out.resize(header.fileSize));
  MTP_RETURN_IF_ERROR(out.writeAt(0, front));
  for (uint32_t i = 0; i < root().segments()->size(); ++i)
    if (root().segments()->Get(i)->kind() == schema::SegmentKind::Weights)
      MTP_RETURN_IF_ERROR(writeSegment(out, i));
  MTP_RETURN_IF_ERROR(out.writeAt(
      0, makeFileFront(tables.data(), tables.size(), header.fileSize - base)));
  return out.commit();
}

Status compiler::fillArtifact(const std::string &input,
                              const std::string &output, unsigned threads) {
  MTP_ASSIGN_OR_RETURN(InputFile file, InputFile::open(input));
  Filler filler(file.bytes(), threads);
  if (Status status = filler.read(); !status.isOk())
    return status.withContext(input);
  return filler.write(output);
}
