//===- WeightRows.cpp - The matrix of a recipe's source -------------------===//

#include "compiler/Weights/pack/WeightRows.h"

#include "compiler/Weights/pack/PanelCodes.h"

#include <algorithm>
#include <array>
#include <vector>

namespace mtp {

namespace {

std::string expandKey(const std::string &pattern, int64_t stack) {
  size_t at = pattern.find("{}");
  if (at == std::string::npos)
    return pattern;
  return pattern.substr(0, at) + std::to_string(stack) + pattern.substr(at + 2);
}

/// Returns true if a tensor has the shape that a source expects.
bool hasShape(std::span<const int64_t> shape,
              std::span<const int64_t> expected) {
  return shape.size() == expected.size() &&
         std::equal(shape.begin(), shape.end(), expected.begin(),
                    [](int64_t got, int64_t wanted) {
                      return wanted < 0 || got == wanted;
                    });
}

/// Removes extents of 1 that the source does not have: leading ones, and the
/// single input of a depthwise convolution. Sets `matrix` to the convolution's
/// remaining extents.
void dropOnes(TensorView &tensor, const WeightSource &source,
              std::array<int64_t, 2> &matrix) {
  if (source.shape.empty())
    return;
  tensor = tensor.withRank(source.shape.size());
  if (source.shape.size() != 2 || tensor.shape.size() != 3 ||
      tensor.shape[1] != 1)
    return;
  matrix = {tensor.shape[0], tensor.shape[2]};
  tensor.shape = matrix;
}

std::string formatExpected(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + (shape[i] < 0 ? "?" : std::to_string(shape[i]));
  return text + "]";
}

/// Concatenates the matrices of a tensor if the source steps from one to the
/// next. Sets `matrix` to the resulting extents.
Status flattenStack(TensorView &tensor, const WeightSource &source,
                    std::array<int64_t, 2> &matrix) {
  if (tensor.shape.size() != 3 || source.headStride == 0)
    return okStatus();
  if (tensor.shape[1] != source.headStride)
    return invalidArgument("expected matrices of " +
                           std::to_string(source.headStride) +
                           " rows, got shape " + formatShape(tensor.shape));
  matrix = {tensor.shape[0] * tensor.shape[1], tensor.shape[2]};
  tensor.shape = matrix;
  return okStatus();
}

/// Resolves [begin, end), shifted by `shift`, within a dimension.
Status resolveRange(const char *what, int64_t begin, int64_t end, int64_t shift,
                    int64_t size, int64_t &first, int64_t &count) {
  int64_t last = end < 0 ? size : end;
  if (__builtin_add_overflow(begin, shift, &first) ||
      __builtin_add_overflow(last, end < 0 ? 0 : shift, &last) ||
      first > last || last > size)
    return outOfRange(std::string("expected at least ") +
                      std::to_string(std::max(first, last)) + " " + what +
                      ", got " + std::to_string(size));
  count = last - first;
  return okStatus();
}

Status checkPicks(std::span<const int32_t> picks, int64_t height) {
  for (int32_t row : picks)
    if (row < 0 || row >= height)
      return outOfRange("expected picked rows below " + std::to_string(height) +
                        ", got " + std::to_string(row));
  return okStatus();
}

/// Fails if values are not readable without further tensors.
Status checkType(const TensorView &tensor, const std::string &key) {
  if (tensor.stored)
    return okStatus();
  if (tensor.type == WeightType::F8E4M3)
    return notFound("expected scales at \"" + key + "_scale_inv\" or \"" + key +
                    "_scale\", got none");
  if (!isReadable(tensor.type))
    return unimplemented("expected BF16, F16, F32, a type of GGUF with blocks, "
                         "or the tensors of a quantised weight, got " +
                         std::string(toString(tensor.type)));
  return okStatus();
}

} // namespace

Result<WeightRows> WeightRows::resolve(const WeightSet &weights,
                                       const WeightSource &source,
                                       int64_t stack) {
  std::string key = expandKey(source.keyPattern, stack);
  MTP_ASSIGN_OR_RETURN(TensorView tensor, weights.get(key));
  std::array<int64_t, 2> matrix;
  dropOnes(tensor, source, matrix);
  WeightRows rows;
  auto check = [&]() -> Status {
    MTP_RETURN_IF_ERROR(checkType(tensor, key));
    MTP_RETURN_IF_ERROR(flattenStack(tensor, source, matrix));
    if (tensor.shape.empty() || tensor.shape.size() > 2)
      return invalidArgument("expected one or two dimensions, got shape " +
                             formatShape(tensor.shape));
    if (!source.shape.empty() && !hasShape(tensor.shape, source.shape))
      return invalidArgument("expected shape " + formatExpected(source.shape) +
                             ", got " + formatShape(tensor.shape));
    MTP_ASSIGN_OR_RETURN(rows.source, StoredRows::find(weights, tensor));
    rows.stored = tensor.stored;
    rows.isTransposed = source.transpose;
    rows.tensorCols = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    int64_t shift;
    if (__builtin_mul_overflow(stack, source.headStride, &shift))
      return outOfRange("the stack's stride overflows");
    MTP_RETURN_IF_ERROR(resolveRange("rows", source.rowBegin, source.rowEnd,
                                     shift, tensor.shape[0], rows.rowBegin,
                                     rows.height));
    MTP_RETURN_IF_ERROR(resolveRange("columns", source.colBegin, source.colEnd,
                                     0, rows.tensorCols, rows.colBegin,
                                     rows.width));
    MTP_RETURN_IF_ERROR(checkPicks(source.picks, rows.height));
    if (!source.picks.empty()) {
      rows.picks = source.picks;
      rows.height = int64_t(source.picks.size());
    }
    return okStatus();
  };
  Status status = check();
  if (!status.isOk())
    return status.withContext("weight \"" + key + "\" in \"" +
                              tensor.file->path() + "\"");
  return rows;
}

WeightRows WeightRows::random(const RandomMatrix &values, int64_t rows,
                              int64_t cols) {
  WeightRows result;
  result.values = values;
  result.tensorCols = result.width = cols;
  result.height = rows;
  return result;
}

void WeightRows::readRun(int64_t row, int64_t col, int64_t count,
                         float *out) const {
  row = picks.empty() ? row : picks[size_t(row)];
  if (source.isEmpty())
    return values.read(row * tensorCols + col, count, out);
  row += rowBegin;
  col += colBegin;
  if (stored)
    return stored->read(row, col, count, out);
  source.readRow(row, col, count, out);
}

std::optional<GroupForm> WeightRows::groupForm() const {
  std::optional<GroupForm> form;
  if (stored && !isTransposed)
    form = stored->groupForm();
  return form && colBegin % form->group == 0 ? form : std::nullopt;
}

StoredType WeightRows::storedType() const {
  if (stored)
    return {stored->name(), stored->bits()};
  return source.storedType();
}

/// Returns the scales that hold a form's scales and offsets exactly.
static WeightScales scalesOf(const GroupForm &form) {
  if (form.isFloat4 && form.scaleType == WeightType::F8E4M3)
    return WeightScales::E4M3;
  if (form.isFloat4 && form.scaleType == WeightType::F8E8M0)
    return WeightScales::E8M0;
  // The product of a zero and an f16 needs more bits than an f16 has.
  return form.isSigned && form.scaleType == WeightType::F16 ? WeightScales::F16
                                                            : WeightScales::F32;
}

std::optional<WeightFormat> WeightRows::keptFormat() const {
  if (isTransposed)
    return std::nullopt;
  if (!stored)
    return source.keptFormat(colBegin, width);
  std::optional<GroupForm> form = groupForm();
  if (!form)
    return std::nullopt;
  // A longer group becomes several with one scale.
  int64_t group = kMaxQuantGroup;
  while (group > kMinQuantGroup && form->group % group != 0 &&
         form->group < width)
    group /= 2;
  if (form->group % group != 0 && form->group < width)
    return std::nullopt;
  return WeightFormat{form->isFloat4 ? WeightElements::E2M1
                                     : integersOfBits(form->bits, group),
                      group, scalesOf(*form), !form->isSigned};
}

WeightFormat WeightRows::formatOfRow(int64_t row) const {
  return stored ? *keptFormat()
                : source.formatOfRow(tensorRow(row), colBegin, width);
}

void WeightRows::readCodes(int64_t row, int64_t col, int64_t count,
                           GroupCodes *groups, int16_t *q) const {
  row = tensorRow(row);
  if (stored)
    return stored->readCodes(row, col + colBegin, count, keptFormat()->group,
                             groups, q);
  source.readCodes(row, col + colBegin, count, groups, q);
}

void WeightRows::read(int64_t row, int64_t rowCount, int64_t col,
                      int64_t colCount, float *out, int64_t stride) const {
  if (!isTransposed) {
    for (int64_t i = 0; i < rowCount; ++i)
      readRun(row + i, col, colCount, out + i * stride);
    return;
  }
  // Columns of the result are rows of the tensor.
  if (picks.empty() && !stored &&
      source.readColumns(rowBegin + col, colCount, colBegin + row, rowCount,
                         out, stride))
    return;
  // Reads short runs along the file's rows, which are output columns.
  constexpr int64_t kRun = 64;
  float run[kRun];
  for (int64_t j = 0; j < colCount; ++j)
    for (int64_t i = 0; i < rowCount; i += kRun) {
      int64_t count = std::min(kRun, rowCount - i);
      readRun(col + j, row + i, count, run);
      for (int64_t r = 0; r < count; ++r)
        out[(i + r) * stride + j] = run[r];
    }
}

void WeightRows::readFlat(int64_t index, int64_t count, float *out) const {
  if (source.isEmpty())
    return values.read(index, count, out);
  bool isWhole = !isTransposed && width == tensorCols && !stored &&
                 source.isInOrder() && picks.empty();
  if (isWhole)
    return source.readFlat(rowBegin * tensorCols + index, count, out);
  while (count > 0) {
    int64_t row = index / cols(), col = index % cols();
    int64_t run = std::min(count, cols() - col);
    read(row, 1, col, run, out, run);
    out += run;
    index += run;
    count -= run;
  }
}

} // namespace mtp
