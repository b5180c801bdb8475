//===- StoredRows.cpp - The rows of a tensor in its files -----------------===//

#include "compiler/Weights/pack/StoredRows.h"

#include "compiler/Weights/GgufBlocks.h"
#include "compiler/Weights/pack/PanelCodes.h"

#include <algorithm>

namespace mtp {

void StoredMatrix::set(const TensorView &tensor, int64_t width) {
  type = tensor.type;
  bytes = tensor.bytes.data();
  cols = width;
  pairedRows = tensor.pairedRows;
  factor = tensor.factor;
  tiledRows = tensor.tiledRows;
  tiledColumns = tensor.tiledColumns;
}

void StoredMatrix::readFlat(int64_t index, int64_t count, float *out) const {
  decodeRun(type, bytes, index, count, out);
  if (factor != 1)
    for (int64_t i = 0; i < count; ++i)
      out[i] *= factor;
}

int64_t StoredMatrix::placeOf(int64_t row) const {
  if (pairedRows > 0) {
    int64_t half = pairedRows / 2, place = row % pairedRows;
    row += place % half * 2 + place / half - place;
  }
  return tiledRows.place(row);
}

void StoredMatrix::readRow(int64_t row, int64_t col, int64_t count,
                           float *out) const {
  row = placeOf(row);
  if (tiledColumns.width == 0)
    return readFlat(row * cols + col, count, out);
  while (count > 0) {
    int64_t run =
        std::min(count, tiledColumns.width -
                            (col - tiledColumns.first) % tiledColumns.width);
    readFlat(row * cols + tiledColumns.place(col), run, out);
    col += run;
    out += run;
    count -= run;
  }
}

std::optional<WeightFormat> StoredMatrix::keptFormat(int64_t col,
                                                     int64_t width) const {
  std::optional<WeightFormat> format = formatOfBlocks(type);
  auto isWhole = [&](int64_t unit) {
    return col % unit == 0 && width % unit == 0 &&
           tiledColumns.first % unit == 0 && tiledColumns.width % unit == 0;
  };
  if (!format || !isWhole(format->group))
    return std::nullopt;
  // The product of a scale and the factor is rounded once. Groups of different
  // blocks have different first levels.
  if (factor != 1 || !isWhole(int64_t(blockElements(type))))
    format->scales = WeightScales::F32;
  return format;
}

void StoredMatrix::readCodes(int64_t row, int64_t col, int64_t count,
                             GroupCodes *groups, int16_t *q) const {
  int64_t block = int64_t(blockElements(type));
  int64_t group = formatOfBlocks(type)->group;
  row = placeOf(row);
  while (count > 0) {
    int64_t place = tiledColumns.place(col), begin = place % block;
    int64_t run = std::min(count, block - begin);
    if (tiledColumns.width > 0)
      run =
          std::min(run, col < tiledColumns.first
                            ? tiledColumns.first - col
                            : tiledColumns.width - (col - tiledColumns.first) %
                                                       tiledColumns.width);
    GroupCodes ofBlock[kMostBlockGroups];
    int16_t codes[kMostBlockElements];
    decodeCodes(
        type, bytes + (row * cols + place) / block * int64_t(blockBytes(type)),
        ofBlock, codes);
    std::copy_n(codes + begin, run, q);
    for (int64_t g = begin / group; g < (begin + run) / group; ++g) {
      GroupCodes own = ofBlock[g];
      if (factor != 1)
        own = {own.scaleOf() * factor, -(own.offsetOf() * factor), 1, 1};
      *groups++ = own;
    }
    q += run;
    col += run;
    count -= run;
  }
}

StoredType StoredMatrix::storedType() const {
  return {std::string(toString(type)),
          8 * double(blockBytes(type)) / double(blockElements(type))};
}

Result<StoredRows> StoredRows::find(const WeightSet &weights,
                                    const TensorView &tensor) {
  StoredRows rows;
  rows.join = tensor.join;
  if (!tensor.join) {
    rows.first.set(tensor, tensor.shape.size() == 2 ? tensor.shape[1] : 1);
    return rows;
  }
  for (size_t part = 0; part < 2; ++part) {
    TensorView view = weights.partOf(*tensor.join, part);
    if (!isReadable(view.type))
      return unimplemented("expected parts of readable types, got " +
                           std::string(toString(view.type)));
    (part == 0 ? rows.first : rows.second).set(view, view.shape.back());
  }
  return rows;
}

bool StoredRows::isInOrder() const {
  return !join && first.pairedRows == 0 && first.tiledRows.width == 0 &&
         first.tiledColumns.width == 0;
}

void StoredRows::readRow(int64_t row, int64_t col, int64_t count,
                         float *out) const {
  if (!join)
    return first.readRow(row, col, count, out);
  TensorJoin::Place place = join->place(row);
  if (place.part == 1)
    return second.readRow(place.row, col, count, out);
  if (!join->isTransposed)
    return first.readRow(place.row, col, count, out);
  for (int64_t i = 0; i < count; ++i)
    first.readFlat(placeOf(place.row, col + i), 1, out + i);
}

bool StoredRows::readColumns(int64_t row, int64_t rowCount, int64_t col,
                             int64_t colCount, float *out,
                             int64_t stride) const {
  if (!join || !join->isTransposed || rowCount == 0)
    return false;
  TensorJoin::Place place = join->place(row);
  if (place.part != 0 || place.left < rowCount)
    return false;
  for (int64_t i = 0; i < colCount; ++i)
    first.readFlat(placeOf(place.row, col + i), rowCount, out + i * stride);
  return true;
}

std::optional<WeightFormat> StoredRows::keptFormat(int64_t col,
                                                   int64_t width) const {
  if (isEmpty() || (join && join->isTransposed))
    return std::nullopt;
  std::optional<WeightFormat> format = first.keptFormat(col, width);
  if (!join || !format)
    return format;
  std::optional<WeightFormat> other = second.keptFormat(col, width);
  return other ? std::optional(commonFormat(*format, *other)) : std::nullopt;
}

WeightFormat StoredRows::formatOfRow(int64_t row, int64_t col,
                                     int64_t width) const {
  const StoredMatrix &part =
      join && join->place(row).part == 1 ? second : first;
  return *part.keptFormat(col, width);
}

void StoredRows::readCodes(int64_t row, int64_t col, int64_t count,
                           GroupCodes *groups, int16_t *q) const {
  if (!join)
    return first.readCodes(row, col, count, groups, q);
  TensorJoin::Place place = join->place(row);
  (place.part == 0 ? first : second)
      .readCodes(place.row, col, count, groups, q);
}

StoredType StoredRows::storedType() const {
  if (isEmpty())
    return {};
  if (!join)
    return first.storedType();
  StoredType types[2] = {first.storedType(), second.storedType()};
  double rows = 0, bits = 0;
  for (const TensorJoin::Run &run : join->runs) {
    rows += double(run.count);
    bits += double(run.count) * types[run.part].bits;
  }
  if (types[0].name != types[1].name)
    types[0].name += ", " + types[1].name;
  return {types[0].name, bits / rows};
}

} // namespace mtp
