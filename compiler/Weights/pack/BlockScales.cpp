//===- BlockScales.cpp - The scales of an FP8 tensor ----------------------===//

#include "compiler/Weights/pack/BlockScales.h"

#include <algorithm>
#include <vector>

namespace mtp {

namespace {

/// Side of the square block that shares one scale.
constexpr int64_t kScaleBlock = 128;

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// Returns the error for an FP8 tensor without supported scales.
Status missingScales(const WeightSet &weights, const std::string &key) {
  std::string wanted = "expected scales of blocks of 128 x 128 at \"" + key +
                       "_scale_inv\", got ";
  std::string stem = key.substr(0, key.rfind('.') + 1);
  for (const std::string &other :
       {key + "_scale", stem + "scale", stem + "scale_inv"})
    if (weights.contains(other))
      return unimplemented(wanted + "\"" + other +
                           "\", which has another form");
  return notFound(wanted + "none");
}

} // namespace

Result<BlockScales> BlockScales::find(const WeightSet &weights,
                                      const std::string &key,
                                      const TensorView &tensor,
                                      int64_t matrixRows) {
  BlockScales result;
  if (tensor.type != WeightType::F8E4M3)
    return result;
  std::string name = key + "_scale_inv";
  if (!weights.contains(name))
    return missingScales(weights, key);
  MTP_ASSIGN_OR_RETURN(TensorView scales, weights.get(name));
  int64_t rows = tensor.shape[0];
  int64_t cols = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
  // Each matrix of a stacked tensor has blocks of its own.
  bool isStack = scales.shape.size() == 3 && matrixRows > 0;
  result.matrixRows = isStack ? matrixRows : rows;
  result.blockRows = ceilDiv(result.matrixRows, kScaleBlock);
  result.blockCols = ceilDiv(cols, kScaleBlock);
  std::vector<int64_t> shape = {result.blockRows, result.blockCols};
  if (isStack)
    shape.insert(shape.begin(), rows / result.matrixRows);
  if (!isReadableScale(scales.type) || !std::ranges::equal(shape, scales.shape))
    return invalidArgument(
        "expected scales F32, BF16, F16 or F8_E8M0 " + formatShape(shape) +
        " for blocks of 128 x 128 at \"" + name + "\", got " +
        std::string(toString(scales.type)) + " " + formatShape(scales.shape));
  result.type = scales.type;
  result.bytes = scales.bytes.data();
  return result;
}

float BlockScales::at(int64_t row, int64_t block) const {
  int64_t blockRow =
      row / matrixRows * blockRows + row % matrixRows / kScaleBlock;
  float scale;
  decodeElements(type,
                 bytes + (blockRow * blockCols + block) * (bitWidth(type) / 8),
                 1, &scale);
  return scale;
}

void BlockScales::apply(int64_t row, int64_t col, int64_t count,
                        float *values) const {
  for (int64_t i = 0; i < count;) {
    int64_t block = (col + i) / kScaleBlock;
    int64_t end = std::min(count, (block + 1) * kScaleBlock - col);
    float scale = at(row, block);
    for (; i < end; ++i)
      values[i] *= scale;
  }
}

} // namespace mtp
