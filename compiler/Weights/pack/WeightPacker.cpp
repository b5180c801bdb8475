//===- WeightPacker.cpp - Streaming packed weights ------------------------===//

#include "compiler/Weights/pack/WeightPacker.h"

#include "compiler/Weights/WeightType.h"
#include "compiler/Weights/pack/GridQuantizer.h"
#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightRows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

namespace mtp {

namespace {

/// Inputs widened together, rounded down to whole groups. This is the widest
/// tile that fits the caches. Rows of a file are far apart, and 512 bytes of
/// one row are enough for the processor's prefetcher.
constexpr int64_t kTileCols = 256;
static_assert(kTileCols >= kMaxQuantGroup);

/// Default bytes per thread in a window. Long compared with the start of a
/// thread, short compared with a weight: nothing is written while its first
/// window is packed.
constexpr int64_t kBytesPerThread = 1 << 20;

using Stack = WeightStack;

Status checkMatrix(const WeightRecipe &recipe,
                   const std::vector<WeightRows> &sources) {
  // A single row may be composed of vectors, so elements are counted.
  bool isVector = isFlat(recipe) && recipe.n == 1;
  int64_t total = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const WeightRows &rows = sources[i];
    std::string context = "source \"" + recipe.sources[i].keyPattern + "\": ";
    if (isVector && rows.rows() != 1 && rows.cols() != 1)
      return invalidArgument(context + "expected a vector, got " +
                             std::to_string(rows.rows()) + " rows of " +
                             std::to_string(rows.cols()));
    if (!isVector && rows.cols() != recipe.k)
      return invalidArgument(context + "expected " + std::to_string(recipe.k) +
                             " inputs, got " + std::to_string(rows.cols()));
    if (recipe.layout == WeightLayout::GatedPanels &&
        rows.rows() != recipe.n / 2)
      return invalidArgument(context + "expected " +
                             std::to_string(recipe.n / 2) + " outputs, got " +
                             std::to_string(rows.rows()));
    total += isVector ? rows.rows() * rows.cols() : rows.rows();
  }
  int64_t expected = isVector ? recipe.n * recipe.k : recipe.n;
  if (total != expected)
    return invalidArgument("expected " + std::to_string(expected) +
                           (isVector ? " elements, got " : " outputs, got ") +
                           std::to_string(total));
  return okStatus();
}

/// Returns a stack of random matrices. Random values have no tensors, so one
/// source is the whole matrix, or each half of gated panels.
Stack randomStack(uint64_t seed, const WeightRecipe &recipe) {
  size_t parts = recipe.layout == WeightLayout::GatedPanels ? 2 : 1;
  Stack stack;
  for (int64_t s = 0; s < recipe.count; ++s) {
    std::vector<WeightRows> &matrix = stack.emplace_back();
    for (size_t part = 0; part < parts; ++part)
      matrix.push_back(WeightRows::random(randomMatrix(seed, recipe, part, s),
                                          recipe.n / int64_t(parts), recipe.k));
  }
  return stack;
}

Result<Stack> resolveStack(const WeightSet &weights,
                           const WeightRecipe &recipe) {
  MTP_RETURN_IF_ERROR(verifyRecipe(recipe));
  if (weights.randomSeed())
    return randomStack(*weights.randomSeed(), recipe);
  Stack stack;
  for (int64_t s = 0; s < recipe.count; ++s) {
    std::vector<WeightRows> &matrix = stack.emplace_back();
    for (const WeightSource &source : recipe.sources) {
      MTP_ASSIGN_OR_RETURN(WeightRows rows,
                           WeightRows::resolve(weights, source, s));
      matrix.push_back(rows);
    }
    MTP_RETURN_IF_ERROR(checkMatrix(recipe, matrix)
                            .withContext("weight \"" + recipe.name + "\""));
  }
  return stack;
}

void encodeBF16(const float *values, int64_t count, uint8_t *out) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half = roundToBF16(values[i]);
    std::memcpy(out + 2 * i, &half, sizeof(half));
  }
}

/// Writes `count` floats as elements without quantisation.
void encode(const WeightFormat &format, const float *values, int64_t count,
            uint8_t *out) {
  if (format.isBF16())
    return encodeBF16(values, count, out);
  std::memcpy(out, values, size_t(count) * sizeof(float));
}

/// Writes `cols` columns of a tile with `rows` rows of words, column by column.
template <typename WordT>
void transposeTile(const WordT *tile, int64_t rows, int64_t pitch, int64_t cols,
                   uint8_t *out) {
  static_assert(sizeof(WordT) == 4);
  WordT column[kMaxPanelWidth];
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t row = 0; row < rows; ++row)
      column[row] = tile[row * pitch + c];
    std::memcpy(out + c * rows * 4, column, size_t(rows) * 4);
  }
}

/// The quantisation error of one unit, and whether all its values are finite.
struct PieceResult {
  QuantizationError error;
  bool isFinite = true;
  /// False if a kept number does not fit the format.
  bool isExact = true;
};

/// Returns whether a format represents the format of a weight's sources.
bool represents(const WeightFormat &format,
                const std::optional<WeightFormat> &stored) {
  return stored && commonFormat(*stored, format) == format;
}

/// Packs one unit at a time. Units are independent, so any thread may pack any
/// of them.
class Packer {
public:
  Packer(const WeightRecipe &recipe, const Stack &stack)
      : recipe(recipe), stack(stack),
        isKept(recipe.layout != WeightLayout::Raw &&
               recipe.format.isQuantized() &&
               represents(recipe.format, keptFormatOf(stack))) {}

  /// Returns whether the integers of the sources are packed as they are.
  bool keepsCodes() const { return isKept; }

  /// Quantises panels with `quantizer`.
  void quantizeWith(const GridQuantizer &quantizer) { grids = &quantizer; }

  /// Returns the values of a panel, 32 for each input.
  std::vector<float> readPanel(int64_t number) const;

  /// Returns the number of bytes of the smallest unit: a panel, 32 rows of a
  /// quantised table, or a run of a raw weight.
  int64_t unitBytes() const {
    return isFlat(recipe) ? kRawRun * recipe.format.elementBytes()
                          : panelBytes(recipe);
  }

  /// Packs the unit that begins at byte `offset` of the packed weight.
  void packUnit(int64_t offset, uint8_t *out, PieceResult &result) const {
    if (isFlat(recipe))
      packRun(offset / recipe.format.elementBytes(), out);
    else if (recipe.layout == WeightLayout::Raw)
      quantizeRows(offset / panelBytes(recipe), out, result);
    else if (isKept)
      keepPanel(offset / panelBytes(recipe), out, result);
    else if (grids)
      searchPanel(offset / panelBytes(recipe), out, result);
    else if (recipe.format.isQuantized())
      quantizePanel(offset / panelBytes(recipe), out, result);
    else
      packPanel(offset / panelBytes(recipe), out);
  }

private:
  static constexpr int64_t kRawRun = 4096;

  void packRun(int64_t first, uint8_t *out) const;
  void packPanel(int64_t number, uint8_t *out) const;
  void quantizePanel(int64_t number, uint8_t *out, PieceResult &result) const;
  void quantizeRows(int64_t number, uint8_t *out, PieceResult &result) const;
  void keepPanel(int64_t number, uint8_t *out, PieceResult &result) const;
  /// Calls `take` with each row of a panel that a source has: its output, the
  /// source and the row there.
  template <typename TakeT>
  void forRows(int64_t number, TakeT take) const;
  void searchPanel(int64_t number, uint8_t *out, PieceResult &result) const;
  void readTile(int64_t number, int64_t col, int64_t cols, float *tile,
                int64_t pitch) const;
  /// Calls `take` for each group of a panel's inputs, in order, with the values
  /// of 32 outputs at a pitch of kTileCols, and the number of inputs.
  template <typename TakeT>
  void forGroups(int64_t number, TakeT take) const;
  void writeTile(const float *tile, int64_t col, int64_t cols,
                 uint8_t *panel) const;

  const WeightRecipe &recipe;
  const Stack &stack;
  const bool isKept;
  /// Null: groups are quantised one by one.
  const GridQuantizer *grids = nullptr;
};

void Packer::packRun(int64_t first, uint8_t *out) const {
  float values[kRawRun];
  int64_t perMatrix = recipe.n * recipe.k;
  int64_t last = std::min(first + kRawRun, perMatrix * recipe.count);
  int64_t filled = 0;
  for (int64_t s = first / perMatrix; first < last; ++s) {
    int64_t base = s * perMatrix;
    for (const WeightRows &rows : stack[size_t(s)]) {
      int64_t size = rows.rows() * rows.cols();
      int64_t count = std::min(last, base + size) - first;
      if (count > 0) {
        rows.readFlat(first - base, count, values + filled);
        filled += count;
        first += count;
      }
      base += size;
    }
  }
  encode(recipe.format, values, filled, out);
}

/// Reads columns of a panel's rows; missing rows are zero. Panels are numbered
/// through all matrices of the stack.
void Packer::readTile(int64_t number, int64_t col, int64_t cols, float *tile,
                      int64_t pitch) const {
  int64_t panels = panelCount(recipe), panel = number % panels;
  const std::vector<WeightRows> &matrix = stack[size_t(number / panels)];
  int64_t width = recipe.panelWidth;
  std::fill_n(tile, width * pitch, 0.0f);
  if (recipe.layout == WeightLayout::GatedPanels) {
    const WeightRows &rows = matrix[size_t(panel % 2)];
    int64_t row = panel / 2 * width;
    rows.read(row, std::min(width, rows.rows() - row), col, cols, tile, pitch);
    return;
  }
  int64_t begin = panel * width, end = begin + width, base = 0;
  for (const WeightRows &rows : matrix) {
    int64_t first = std::max(begin, base);
    int64_t count = std::min(end, base + rows.rows()) - first;
    if (count > 0)
      rows.read(first - base, count, col, cols, tile + (first - begin) * pitch,
                pitch);
    base += rows.rows();
  }
}

template <typename TakeT>
void Packer::forRows(int64_t number, TakeT take) const {
  int64_t panels = panelCount(recipe), panel = number % panels;
  const std::vector<WeightRows> &matrix = stack[size_t(number / panels)];
  bool isGated = recipe.layout == WeightLayout::GatedPanels;
  int64_t begin = (isGated ? panel / 2 : panel) * recipe.panelWidth, base = 0;
  for (size_t i = isGated ? size_t(panel % 2) : 0; i < matrix.size(); ++i) {
    int64_t rows = matrix[i].rows();
    int64_t end = std::min(begin + recipe.panelWidth, base + rows);
    for (int64_t row = std::max(begin, base); row < end; ++row)
      take(row - begin, matrix[i], row - base);
    base += rows;
    if (isGated)
      break;
  }
}

/// Packs the integers and scales of the sources. Rows that no source has are
/// zeros, with scales of 0.
void Packer::keepPanel(int64_t number, uint8_t *out,
                       PieceResult &result) const {
  QuantizedPanel panel = recipe.format.panel(recipe.k);
  IntegerFragments order = recipe.format.fragments(recipe.k);
  uint8_t ordered[QuantizedPanel::kMostBlockBytes];
  auto codes = std::make_unique<PanelCodes>();
  for (int64_t col = 0; col < recipe.k; col += PanelCodes::kInputs) {
    int64_t count = std::min(PanelCodes::kInputs, recipe.k - col);
    forRows(number, [&](int64_t output, const WeightRows &rows, int64_t row) {
      readCodes(rows, row, col, count, recipe.format, *codes, output);
    });
    for (int64_t at = 0; at < count; at += panel.blockInputs()) {
      int64_t inputs = std::min(panel.blockInputs(), count - at);
      result.isExact &= writeBlock(recipe.format, *codes, at, inputs,
                                   recipe.fragments ? ordered : out);
      // Formats in fragments have one group in each block.
      if (recipe.fragments)
        orderGroup(order, ordered, inputs, out);
      out += panel.blockBytes(inputs);
    }
  }
}

void Packer::writeTile(const float *tile, int64_t col, int64_t cols,
                       uint8_t *panel) const {
  int64_t width = recipe.panelWidth;
  if (!recipe.format.isBF16()) {
    transposeTile(tile, width, kTileCols, cols, panel + col * width * 4);
    return;
  }
  uint8_t halves[kMaxPanelWidth * kTileCols * 2];
  encodeBF16(tile, width * kTileCols, halves);
  if (recipe.fragments) {
    for (int64_t row = 0; row < width; ++row)
      for (int64_t i = 0; i < cols; ++i)
        std::memcpy(panel + FragmentOrder::byteOf(row, col + i),
                    halves + 2 * (row * kTileCols + i), 2);
    return;
  }
  // A pair of bf16 moves as one word. Tiles begin at even columns, and columns
  // beyond the last are zero.
  uint32_t pairs[kMaxPanelWidth * kTileCols / 2];
  static_assert(sizeof(pairs) == sizeof(halves));
  std::memcpy(pairs, halves, size_t(width * kTileCols * 2));
  transposeTile(pairs, width, kTileCols / 2, (cols + 1) / 2,
                panel + col / 2 * width * 4);
}

void Packer::packPanel(int64_t number, uint8_t *out) const {
  float tile[kMaxPanelWidth * kTileCols];
  for (int64_t col = 0; col < recipe.k; col += kTileCols) {
    int64_t cols = std::min(kTileCols, recipe.k - col);
    readTile(number, col, cols, tile, kTileCols);
    writeTile(tile, col, cols, out);
  }
}

template <typename TakeT>
void Packer::forGroups(int64_t number, TakeT take) const {
  float tile[QuantizedPanel::kOutputs * kTileCols];
  int64_t size = recipe.format.group, wide = kTileCols / size * size;
  for (int64_t col = 0; col < recipe.k; col += wide) {
    int64_t cols = std::min(wide, recipe.k - col);
    readTile(number, col, cols, tile, kTileCols);
    for (int64_t at = 0; at < cols; at += size)
      take(tile + at, std::min(size, cols - at));
  }
}

void Packer::quantizePanel(int64_t number, uint8_t *out,
                           PieceResult &result) const {
  QuantizedPanel panel = recipe.format.panel(recipe.k);
  IntegerFragments order = recipe.format.fragments(recipe.k);
  uint8_t ordered[QuantizedPanel::kMostBlockBytes];
  forGroups(number, [&](const float *group, int64_t inputs) {
    result.isFinite &=
        quantizeGroup(recipe.format, group, kTileCols, inputs,
                      recipe.fragments ? ordered : out, result.error);
    if (recipe.fragments)
      orderGroup(order, ordered, inputs, out);
    out += panel.blockBytes(inputs);
  });
}

std::vector<float> Packer::readPanel(int64_t number) const {
  constexpr int64_t kOutputs = QuantizedPanel::kOutputs;
  std::vector<float> values(size_t(recipe.k * kOutputs));
  float tile[kOutputs * kTileCols];
  for (int64_t col = 0; col < recipe.k; col += kTileCols) {
    int64_t cols = std::min(kTileCols, recipe.k - col);
    readTile(number, col, cols, tile, kTileCols);
    transposeTile(tile, kOutputs, kTileCols, cols,
                  reinterpret_cast<uint8_t *>(values.data() + col * kOutputs));
  }
  return values;
}

void Packer::searchPanel(int64_t number, uint8_t *out,
                         PieceResult &result) const {
  QuantizedPanel panel = recipe.format.panel(recipe.k);
  IntegerFragments order = recipe.format.fragments(recipe.k);
  uint8_t ordered[QuantizedPanel::kMostBlockBytes];
  GridCodes codes;
  if (!grids->quantize(readPanel(number), codes, result.error)) {
    result.isFinite = false;
    return;
  }
  auto block = std::make_unique<PanelCodes>();
  for (int64_t begin = 0; begin < recipe.k; begin += panel.blockInputs()) {
    int64_t inputs = std::min(panel.blockInputs(), recipe.k - begin);
    grids->copyBlock(codes, begin, inputs, *block);
    result.isExact &= writeBlock(recipe.format, *block, 0, inputs,
                                 recipe.fragments ? ordered : out);
    if (recipe.fragments)
      orderGroup(order, ordered, inputs, out);
    out += panel.blockBytes(inputs);
  }
}

/// Packs 32 rows of a table, or the rest. Each group is quantised as a group of
/// a panel, whose words are then scattered to their rows.
void Packer::quantizeRows(int64_t number, uint8_t *out,
                          PieceResult &result) const {
  constexpr int64_t kRows = QuantizedPanel::kOutputs;
  uint32_t words[QuantizedPanel::kMostBlockBytes / 4];
  QuantizedPanel panel = recipe.format.panel(recipe.k);
  int64_t rows = std::min(kRows, recipe.n - number * kRows);
  forGroups(number, [&](const float *group, int64_t inputs) {
    result.isFinite &=
        quantizeGroup(recipe.format, group, kTileCols, inputs,
                      reinterpret_cast<uint8_t *>(words), result.error);
    int64_t count = panel.rowGroupBytes(inputs) / 4;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t w = 0; w < count; ++w)
        std::memcpy(out + row * panel.rowBytes() + 4 * w,
                    &words[w * kRows + row], 4);
    out += 4 * count;
  });
}

/// A range of a packed weight, and the result of packing each of its units.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<uint8_t> bytes;
  std::vector<PieceResult> results;
  /// The next unit that no thread packs yet.
  std::atomic<int64_t> nextUnit = 0;

  /// Assigns the range of at most `size` bytes from `first` on, not yet packed.
  void moveTo(int64_t first, int64_t size, int64_t total, int64_t unit) {
    begin = first;
    end = std::min(first + size, total);
    bytes.resize(size_t(end - begin));
    results.assign(size_t((end - begin + unit - 1) / unit), PieceResult());
    nextUnit = 0;
  }
};

/// Fails if weights must be rounded to a format that the quantiser does not
/// have.
Status checkQuantizer(const WeightRecipe &recipe, const Packer &packer) {
  bool isSearched = gridOf(recipe.format) && recipe.layout != WeightLayout::Raw;
  if (canQuantizeGroups(recipe.format) || packer.keepsCodes() || isSearched)
    return okStatus();
  return invalidArgument("weight \"" + recipe.name +
                         "\": expected tensors that the format " +
                         std::string(recipe.format.name()) +
                         " with its scales represents exactly");
}

/// Returns the quantiser of a weight whose panels are searched.
Result<std::optional<GridQuantizer>> quantizerOf(const WeightSet &weights,
                                                 const WeightRecipe &recipe,
                                                 const Packer &packer,
                                                 const PackOptions &options) {
  if (recipe.layout == WeightLayout::Raw || packer.keepsCodes())
    return std::optional<GridQuantizer>();
  return GridQuantizer::make(weights, recipe, options.statistics,
                             options.energies, std::max(options.threads, 1u));
}

/// Packs units of the window until none is left. Several threads may call this
/// at once.
void packUnits(const Packer &packer, Window &window) {
  int64_t count = int64_t(window.results.size()), unit = packer.unitBytes();
  for (int64_t i; (i = window.nextUnit++) < count;)
    packer.packUnit(window.begin + i * unit, window.bytes.data() + i * unit,
                    window.results[size_t(i)]);
}

/// Adds the results of units from `first` on, in order, so that the sum does
/// not depend on threads and windows.
Status addResults(const WeightRecipe &recipe, int64_t first,
                  const std::vector<PieceResult> &results,
                  QuantizationError *error) {
  for (const PieceResult &result : results) {
    if (!result.isFinite) {
      int64_t panels = panelCount(recipe);
      return invalidArgument(
          "expected finite values to quantize, got NaN" +
          std::string(
              recipe.format.isPlain()
                  ? " or infinity"
                  : ", infinity or a value beyond the format's scales") +
          " in panel " + std::to_string(first % panels) + " of " +
          std::to_string(panels) +
          (recipe.count > 1 ? " of matrix " + std::to_string(first / panels)
                            : ""));
    }
    if (!result.isExact)
      return invalidArgument("expected scales of the checkpoint that fit the "
                             "weight's format, got others in panel " +
                             std::to_string(first));
    if (error)
      error->add(result.error);
    ++first;
  }
  return okStatus();
}

} // namespace

Status checkSources(const WeightSet &weights, const WeightRecipe &recipe) {
  return resolveStack(weights, recipe).status();
}

Result<std::optional<WeightFormat>> findKeptFormat(const WeightSet &weights,
                                                   const WeightRecipe &recipe) {
  if (weights.randomSeed())
    return std::optional<WeightFormat>();
  MTP_ASSIGN_OR_RETURN(Stack stack, resolveStack(weights, recipe));
  return keptFormatOf(stack);
}

Result<StoredTypes> storedTypesOf(const WeightSet &weights,
                                  const WeightRecipe &recipe) {
  StoredTypes stored;
  if (weights.randomSeed())
    return stored;
  MTP_ASSIGN_OR_RETURN(Stack stack, resolveStack(weights, recipe));
  std::set<std::string> types;
  double bits = 0, elements = 0;
  for (const std::vector<WeightRows> &matrix : stack)
    for (const WeightRows &rows : matrix) {
      StoredType type = rows.storedType();
      types.insert(type.name);
      double count = double(rows.rows()) * double(rows.cols());
      elements += count;
      bits += count * type.bits;
    }
  for (const std::string &type : types)
    stored.names += (stored.names.empty() ? "" : ", ") + type;
  stored.bits = elements > 0 ? bits / elements : 0;
  return stored;
}

Result<std::vector<std::vector<float>>> samplePanels(const WeightSet &weights,
                                                     const WeightRecipe &recipe,
                                                     int64_t count) {
  MTP_ASSIGN_OR_RETURN(Stack stack, resolveStack(weights, recipe));
  Packer packer(recipe, stack);
  int64_t total = panelCount(recipe) * recipe.count;
  count = std::min(count, total);
  std::vector<std::vector<float>> panels;
  for (int64_t i = 0; i < count; ++i)
    panels.push_back(packer.readPanel(i * total / count));
  return panels;
}

Status packWeight(const WeightSet &weights, const WeightRecipe &recipe,
                  const WeightSink &sink, const PackOptions &options,
                  QuantizationError *error) {
  MTP_ASSIGN_OR_RETURN(Stack stack, resolveStack(weights, recipe));
  Packer packer(recipe, stack);
  MTP_RETURN_IF_ERROR(checkQuantizer(recipe, packer));
  MTP_ASSIGN_OR_RETURN(std::optional<GridQuantizer> quantizer,
                       quantizerOf(weights, recipe, packer, options));
  if (quantizer)
    packer.quantizeWith(*quantizer);
  int64_t total = packedBytes(recipe), unit = packer.unitBytes();
  int64_t threads = std::max(options.threads, 1u);
  int64_t wanted =
      options.windowBytes ? options.windowBytes : threads * kBytesPerThread;
  int64_t size = std::max<int64_t>(1, wanted / unit) * unit;
  auto deliver = [&](const Window &window) -> Status {
    MTP_RETURN_IF_ERROR(
        addResults(recipe, window.begin / unit, window.results, error)
            .withContext("weight \"" + recipe.name + "\""));
    MTP_RETURN_IF_ERROR(sink(window.bytes));
    if (options.progress)
      options.progress(window.end, total);
    return okStatus();
  };
  // The sink takes a window while the helper threads pack the next one. Then
  // the caller's thread helps to pack. The first iteration delivers nothing.
  Window windows[2];
  Window *packed = &windows[0], *next = &windows[1];
  while (packed->end < total) {
    MTP_RETURN_IF_ERROR(weights.checkUnchanged());
    next->moveTo(packed->end, size, total, unit);
    Status status;
    {
      std::vector<std::jthread> helpers;
      int64_t units = int64_t(next->results.size());
      int64_t packing = units + (packed->end > 0 ? 1 : 0);
      for (int64_t t = 1; t < std::min(threads, packing); ++t)
        helpers.emplace_back([&] { packUnits(packer, *next); });
      if (packed->end > 0)
        status = deliver(*packed);
      if (!status.isOk())
        next->nextUnit = units;
      packUnits(packer, *next);
    }
    MTP_RETURN_IF_ERROR(status);
    std::swap(packed, next);
  }
  return deliver(*packed);
}

} // namespace mtp
