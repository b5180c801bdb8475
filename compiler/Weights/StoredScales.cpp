//===- StoredScales.cpp - Scales and zeros of stored weights --------------===//

#include "compiler/Weights/StoredFormat.h"

#include "compiler/Weights/TensorEntry.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mtp {

/// Side of a block of FP8 if the config does not give one.
static constexpr int64_t kFloat8Block = 128;

static int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

static std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

Status StoredFormat::mismatch(const std::string &key,
                              const std::string &expected,
                              const StoredPart &got) const {
  return invalidArgument("expected " + expected + " at " + inQuotes(key) +
                         ", got " + std::string(toString(got.type)) + " " +
                         formatShape(got.shape));
}

Result<StoredPart> StoredFormat::part(const std::string &key) const {
  if (std::optional<StoredPart> found = find(key))
    return *found;
  return notFound("expected a tensor " + inQuotes(key) + " beside " +
                  inQuotes(weight.codes) +
                  ", got none; the checkpoint is incomplete");
}

/// Sets the extents from the shape of row-major codes.
Status StoredFormat::setShape(std::span<const int64_t> shape, int64_t perByte) {
  bool isBounded = std::ranges::all_of(shape, [](int64_t extent) {
    return extent > 0 && extent <= kMostExtent;
  });
  if (shape.size() < 2 || shape.size() > 3 || !isBounded)
    return invalidArgument("expected two or three extents of at least 1 at " +
                           inQuotes(weight.codes) + ", got shape " +
                           formatShape(shape));
  out.extents.assign(shape.begin(), shape.end());
  out.extents.back() *= perByte;
  return okStatus();
}

/// Finds the size of the groups of a row, of which there are `count`. `group`
/// is the format's size, or 0 if the format allows any size.
Status StoredFormat::setGroups(const std::string &key, const StoredPart &scales,
                               int64_t count, int64_t group) {
  int64_t k = inputs();
  auto fits = [&](int64_t size) {
    return size > 0 && ceilDiv(k, size) == count;
  };
  auto set = [&](int64_t size) {
    out.scales.colBlock = size;
    return okStatus();
  };
  if (group > 0 && fits(group))
    return set(group);
  if (group == 0 && count == 1)
    return set(k);
  for (int64_t size : config.groups)
    if (group == 0 && fits(size))
      return set(size);
  if (group == 0 && config.groups.empty() && count > 0 && k % count == 0)
    return set(k / count);
  std::string sizes = group > 0 ? std::to_string(group) : std::string();
  for (int64_t size : config.groups)
    if (group == 0 && size > 0)
      sizes += (sizes.empty() ? "" : " or ") + std::to_string(size);
  return mismatch(key,
                  "scales of groups of " +
                      (sizes.empty() ? "equal size" : sizes) + " of " +
                      std::to_string(k) + " inputs",
                  scales);
}

/// Finds the size of the blocks whose scales form `r` rows and `c` columns.
Status StoredFormat::setBlocks(const std::string &key, const StoredPart &scales,
                               int64_t r, int64_t c) {
  std::vector<std::array<int64_t, 2>> blocks = config.blocks;
  if (blocks.empty()) {
    blocks.push_back({kFloat8Block, kFloat8Block});
    if (config.method != "fp8" && r > 0 && c > 0 && outputs() % r == 0 &&
        inputs() % c == 0)
      blocks.push_back({outputs() / r, inputs() / c});
  }
  for (auto [rows, cols] : blocks)
    if (ceilDiv(outputs(), rows) == r && ceilDiv(inputs(), cols) == c) {
      out.scales.rowBlock = rows;
      out.scales.colBlock = cols;
      return okStatus();
    }
  auto [rows, cols] = blocks[0];
  std::vector<int64_t> shape = {ceilDiv(outputs(), rows),
                                ceilDiv(inputs(), cols)};
  if (matrices() > 1)
    shape.insert(shape.begin(), matrices());
  return mismatch(key,
                  "scales F32, BF16, F16 or F8_E8M0 " + formatShape(shape) +
                      " for blocks of " + std::to_string(rows) + " x " +
                      std::to_string(cols),
                  scales);
}

/// Sets scales of a tensor, of outputs, of groups or of blocks, by their shape.
/// `group` is the format's size of groups, or 0.
Status StoredFormat::setScales(const std::string &key, int64_t group) {
  MTP_ASSIGN_OR_RETURN(StoredPart scales, part(key));
  bool mayBeFloat8 = group == kNVGroup;
  if (!isReadableScale(scales.type) &&
      !(mayBeFloat8 && scales.type == WeightType::F8E4M3) &&
      !(group == kMXGroup && scales.type == WeightType::U8))
    return mismatch(key, "scales F32, BF16, F16 or F8_E8M0", scales);
  NumberGrid &grid = out.scales;
  grid.bytes = scales.bytes.data();
  grid.type = scales.type == WeightType::U8 ? WeightType::F8E8M0 : scales.type;
  std::vector<int64_t> shape(scales.shape.begin(), scales.shape.end());
  int64_t count = int64_t(scales.bytes.size() / (bitWidth(scales.type) / 8));
  if (count == 1 || (shape.size() == 1 && shape[0] == matrices())) {
    shape = {matrices(), 1, 1};
    shape.erase(shape.begin(), shape.end() - int64_t(out.extents.size()));
  } else if (shape.size() == 1 && out.extents.size() == 2) {
    shape.push_back(1);
  }
  if (shape.size() != out.extents.size() ||
      (shape.size() == 3 && shape[0] != matrices()))
    return mismatch(key,
                    "scales for a weight of shape " + formatShape(out.extents),
                    scales);
  int64_t r = shape[shape.size() - 2], c = shape.back();
  grid.rowPitch = c;
  grid.colPitch = 1;
  grid.matrixPitch = count == 1 ? 0 : r * c;
  if (r == 1 && c == 1 && group == 0) {
    grid.rowBlock = outputs();
    grid.colBlock = inputs();
    return okStatus();
  }
  if (r == outputs())
    return setGroups(key, scales, c, group);
  return group > 0
             ? mismatch(key, "scales of " + std::to_string(outputs()) + " rows",
                        scales)
             : setBlocks(key, scales, r, c);
}

/// Sets a factor of all scales.
Status StoredFormat::setFactor(const std::string &key, bool divides) {
  MTP_ASSIGN_OR_RETURN(StoredPart number, part(key));
  if (number.type != WeightType::F32 || number.bytes.size() != sizeof(float))
    return mismatch(key, "one F32 number", number);
  std::memcpy(&out.factor, number.bytes.data(), sizeof(float));
  out.divides = divides;
  if (!(out.factor > 0) || !std::isfinite(out.factor))
    return invalidArgument("expected a finite number above 0 at " +
                           inQuotes(key) + ", got " +
                           std::to_string(out.factor));
  return okStatus();
}

/// Sets the groups of columns, if they are not by position. Requires that the
/// size of a group is set.
Status StoredFormat::setOrder(const std::string &key, int64_t groups) {
  MTP_ASSIGN_OR_RETURN(StoredPart order, part(key));
  if (order.type != WeightType::I32 || order.shape.size() != 1 ||
      order.shape[0] != inputs())
    return mismatch(key, "I32 [" + std::to_string(inputs()) + "]", order);
  bool isByPosition = true, isUnset = true;
  int64_t wrong = -1;
  int32_t group = 0, found = 0;
  for (int64_t i = 0; i < inputs(); ++i) {
    std::memcpy(&group, order.bytes.data() + 4 * i, sizeof(group));
    isUnset &= group == -1;
    isByPosition &= group == i / out.scales.colBlock;
    if (wrong < 0 && (group < 0 || group >= groups)) {
      wrong = i;
      found = group;
    }
  }
  // compressed-tensors stores -1 for all inputs if there is no order.
  if (isByPosition || isUnset)
    return okStatus();
  if (wrong >= 0)
    return outOfRange("expected groups of 0 to " + std::to_string(groups - 1) +
                      " at " + inQuotes(key) + ", got " +
                      std::to_string(found) + " for input " +
                      std::to_string(wrong));
  out.order = order.bytes.data();
  out.orderGroups = groups;
  return okStatus();
}

/// Replaces zeros by one number if all of them are equal.
void StoredFormat::dropEqualZeros(int64_t groups) {
  int first = out.zeroAt(0, 0);
  for (int64_t row = 0; row < outputs(); ++row)
    for (int64_t group = 0; group < groups; ++group)
      if (out.zeroAt(row, group) != first)
        return;
  out.zeros.bytes = nullptr;
  out.signedZeros = nullptr;
  out.zeroShift = first;
}

/// Reads zeros of compressed-tensors: packed along the outputs, or I8.
Status StoredFormat::setPackedZeros(const std::string &key) {
  int64_t groups = out.scales.rowPitch, bits = out.codes.bits;
  out.zeroShift = 1 << (bits - 1);
  if (!has(key))
    return okStatus();
  MTP_ASSIGN_OR_RETURN(StoredPart zeros, part(key));
  // A scale of the whole stack has no pitch.
  int64_t numbers = std::max<int64_t>(matrices() * out.scales.matrixPitch, 1);
  if (zeros.type == WeightType::I8 && int64_t(zeros.bytes.size()) == numbers) {
    out.signedZeros = zeros.bytes.data();
  } else {
    const std::vector<int64_t> shape = {ceilDiv(outputs() * bits, 32), groups};
    if (zeros.type != WeightType::I32 || out.scales.rowBlock != 1 ||
        matrices() != 1 || !std::ranges::equal(zeros.shape, shape))
      return mismatch(key, "I32 " + formatShape(shape), zeros);
    out.zeros = {zeros.bytes.data(), bits, true, false, false, groups, 1};
    out.zeroShift = 0;
  }
  if (matrices() == 1)
    dropEqualZeros(groups);
  return okStatus();
}

} // namespace mtp
