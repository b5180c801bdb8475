//===- StoredRows.cpp - The rows of a tensor in its files -----------------===//

#include "compiler/Weights/pack/StoredRows.h"

#include "compiler/Weights/GgufBlocks.h"

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

void StoredMatrix::readRow(int64_t row, int64_t col, int64_t count,
                           float *out) const {
  if (pairedRows > 0) {
    int64_t half = pairedRows / 2, place = row % pairedRows;
    row += place % half * 2 + place / half - place;
  }
  row = tiledRows.place(row);
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

} // namespace mtp
