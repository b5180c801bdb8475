//===- StoredFormat.cpp - Checks of a weight's tensors --------------------===//

#include "compiler/Weights/StoredFormat.h"

#include "compiler/Weights/TensorEntry.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mtp {

static std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

static int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// Side of a block of FP8 if the config does not give one.
static constexpr int64_t kFloat8Block = 128;

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

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

/// Reads two 4-bit floats per byte.
Status StoredFormat::readFloat4(const StoredPart &codes,
                                const std::string &scaleKey, int64_t group) {
  MTP_RETURN_IF_ERROR(setShape(codes.shape, 2));
  out.codes.bytes = codes.bytes.data();
  out.codes.bits = 4;
  out.codes.wordPitch = 0;
  out.codes.linePitch = inputs() / 2;
  out.table = float4Table();
  return setScales(scaleKey, group);
}

/// Returns the bits of integers if a row of the inputs has `words`.
Result<int64_t> StoredFormat::bitsOf(int64_t words) const {
  auto fits = [&](int64_t bits) {
    return bits >= 2 && bits <= 8 && ceilDiv(inputs() * bits, 32) == words;
  };
  for (int64_t bits : config.bits)
    if (fits(bits))
      return bits;
  for (int64_t bits = 2; bits <= 8 && config.bits.empty(); ++bits)
    if (fits(bits) && !fits(bits - 1) && !fits(bits + 1))
      return bits;
  return invalidArgument(
      "expected words of 32 bits for rows of " + std::to_string(inputs()) +
      " integers of 2 to 8 bits, as \"num_bits\" in the "
      "config says, at " +
      inQuotes(weight.codes) + ", got " + std::to_string(words) + " words");
}

Status StoredFormat::readPackedIntegers(const StoredPart &codes) {
  std::string key = weight.key;
  MTP_ASSIGN_OR_RETURN(StoredPart shape, part(key + "_shape"));
  MTP_RETURN_IF_ERROR(setShape(codes.shape, 1));
  int64_t words = inputs(), sizes[2] = {};
  if (shape.type != WeightType::I64 || shape.bytes.size() != sizeof(sizes))
    return mismatch(key + "_shape", "I64 [2]", shape);
  std::memcpy(sizes, shape.bytes.data(), sizeof(sizes));
  if (sizes[0] != outputs() || sizes[1] < 1 || sizes[1] > kMostExtent)
    return invalidArgument("expected " + std::to_string(outputs()) +
                           " outputs at " + inQuotes(key + "_shape") +
                           ", got [" + std::to_string(sizes[0]) + ", " +
                           std::to_string(sizes[1]) + "]");
  out.extents.back() = sizes[1];
  MTP_ASSIGN_OR_RETURN(int64_t bits, bitsOf(words));
  title = "int" + std::to_string(bits);
  out.codes = {codes.bytes.data(), bits, false, false, false, 1, words};
  MTP_RETURN_IF_ERROR(setScales(key + "_scale", 0));
  MTP_RETURN_IF_ERROR(setPackedZeros(key + "_zero_point"));
  return has(key + "_g_idx") ? setOrder(key + "_g_idx", out.scales.rowPitch)
                             : okStatus();
}

Status StoredFormat::readPacked() {
  MTP_ASSIGN_OR_RETURN(StoredPart codes, part(weight.codes));
  if (codes.type == WeightType::I32)
    return readPackedIntegers(codes);
  if (codes.type != WeightType::U8)
    return mismatch(weight.codes, "I32 or U8", codes);
  std::string scales = weight.key + "_scale";
  MTP_ASSIGN_OR_RETURN(StoredPart stored, part(scales));
  bool isNV = stored.type == WeightType::F8E4M3;
  title = isNV ? "NVFP4" : "MXFP4";
  if (!isNV && stored.type != WeightType::U8 &&
      stored.type != WeightType::F8E8M0)
    return mismatch(scales, "scales F8_E4M3 or U8", stored);
  if (isNV)
    MTP_RETURN_IF_ERROR(setFactor(weight.key + "_global_scale", true));
  return readFloat4(codes, scales, isNV ? kNVGroup : kMXGroup);
}

/// Sets scales that are stored with the outputs of a group in a row.
Status StoredFormat::setColumnScales(const StoredPart &scales) {
  NumberGrid &grid = out.scales;
  grid.bytes = scales.bytes.data();
  grid.type = scales.type;
  grid.rowPitch = 1;
  grid.colPitch = outputs();
  return setGroups(stem() + ".scales", scales, scales.shape[0], 0);
}

Status StoredFormat::readAwq(const StoredPart &codes,
                             const StoredPart &scales) {
  title = "int4 (AWQ)";
  int64_t n = scales.shape[1], groups = scales.shape[0];
  out.extents = {n, codes.shape[0]};
  out.codes = {codes.bytes.data(), 4, true, true, false, 1, n / 8};
  MTP_RETURN_IF_ERROR(setColumnScales(scales));
  std::string key = stem() + ".qzeros";
  MTP_ASSIGN_OR_RETURN(StoredPart zeros, part(key));
  const std::vector<int64_t> shape = {groups, n / 8};
  if (zeros.type != WeightType::I32 || !std::ranges::equal(zeros.shape, shape))
    return mismatch(key, "I32 " + formatShape(shape), zeros);
  out.zeros = {zeros.bytes.data(), 4, true, true, false, 1, n / 8};
  dropEqualZeros(groups);
  return okStatus();
}

/// Reads zeros, which also give the number of bits.
Status StoredFormat::readGptqZeros(int64_t n, int64_t groups) {
  std::string key = stem() + ".qzeros";
  if (!has(key)) {
    if (config.bits.empty() || !config.isSymmetric)
      return notFound("expected a tensor " + inQuotes(key) +
                      ", or \"bits\" and \"sym\": true in the config, got "
                      "none");
    out.codes.bits = config.bits[0];
    out.zeroShift = 1 << (out.codes.bits - 1);
    return okStatus();
  }
  MTP_ASSIGN_OR_RETURN(StoredPart zeros, part(key));
  int64_t words = zeros.shape.size() == 2 ? zeros.shape[1] : 0;
  out.codes.bits = words * 32 / n;
  if (zeros.type != WeightType::I32 || words == 0 || words * 32 % n != 0 ||
      zeros.shape[0] != groups)
    return mismatch(key,
                    "I32 [" + std::to_string(groups) + ", " +
                        std::to_string(n) + " * bits / 32]",
                    zeros);
  out.zeros = {
      zeros.bytes.data(), out.codes.bits, true, false, false, 1, words};
  out.zeroShift = config.hasPlainZeros ? 0 : 1;
  return okStatus();
}

Status StoredFormat::readGptq(const StoredPart &codes,
                              const StoredPart &scales) {
  if (config.method.empty())
    return notFound("expected \"quantization_config\" in config.json or a "
                    "file quantize_config.json beside the weights, which "
                    "says whether zeros are those of GPTQ v1 or v2, got none");
  int64_t n = scales.shape[1], groups = scales.shape[0];
  MTP_RETURN_IF_ERROR(readGptqZeros(n, groups));
  int64_t bits = out.codes.bits;
  bool isKnown = bits == 2 || bits == 3 || bits == 4 || bits == 8;
  if (!isKnown || codes.shape[0] * 32 % bits != 0)
    return mismatch(weight.codes, "integers of 2, 3, 4 or 8 bits", codes);
  title = "int" + std::to_string(bits) + " (GPTQ)";
  out.extents = {n, codes.shape[0] * 32 / bits};
  out.codes = {codes.bytes.data(), bits, false, false, false, n, 1};
  std::string order = stem() + ".g_idx";
  MTP_RETURN_IF_ERROR(setColumnScales(scales));
  if (out.zeros.bytes)
    dropEqualZeros(groups);
  return has(order) ? setOrder(order, groups) : okStatus();
}

/// Reads AWQ or GPTQ, which differ in the extents of the codes.
Status StoredFormat::readColumns() {
  MTP_ASSIGN_OR_RETURN(StoredPart codes, part(weight.codes));
  std::string key = stem() + ".scales";
  MTP_ASSIGN_OR_RETURN(StoredPart scales, part(key));
  auto isMatrix = [](const StoredPart &part) {
    return part.shape.size() == 2 &&
           std::ranges::all_of(part.shape, [](int64_t extent) {
             return extent > 0 && extent <= kMostExtent;
           });
  };
  if (codes.type != WeightType::I32 || !isMatrix(codes))
    return mismatch(weight.codes, "an I32 matrix", codes);
  bool isFloat =
      isReadableScale(scales.type) && scales.type != WeightType::F8E8M0;
  if (!isFloat || !isMatrix(scales))
    return mismatch(key, "scales F16, BF16 or F32 [groups, outputs]", scales);
  int64_t n = scales.shape[1];
  if (codes.shape[1] == n)
    return readGptq(codes, scales);
  if (codes.shape[1] * 8 == n)
    return readAwq(codes, scales);
  return mismatch(weight.codes,
                  "[inputs * bits / 32, " + std::to_string(n) +
                      "] (GPTQ) or [inputs, " + std::to_string(n) +
                      " / 8] (AWQ in the order \"gemm\"), as the scales have " +
                      std::to_string(n) + " outputs",
                  codes);
}

Status StoredFormat::readBlocks() {
  title = "MXFP4";
  MTP_ASSIGN_OR_RETURN(StoredPart codes, part(weight.codes));
  if (codes.type != WeightType::U8 || codes.shape.size() < 3 ||
      codes.shape.back() != kMXGroup / 2)
    return mismatch(weight.codes, "U8 [..., rows, groups, 16]", codes);
  std::vector<int64_t> shape(codes.shape.begin(), codes.shape.end() - 1);
  if (shape.back() > kMostExtent)
    return mismatch(weight.codes, "fewer groups", codes);
  shape.back() *= kMXGroup / 2;
  StoredPart flat = codes;
  flat.shape = shape;
  return readFloat4(flat, weight.key + "_scales", kMXGroup);
}

Status StoredFormat::readFloat8() {
  title = toString(WeightType::F8E4M3);
  MTP_ASSIGN_OR_RETURN(StoredPart codes, part(weight.codes));
  MTP_RETURN_IF_ERROR(setShape(codes.shape, 1));
  out.codes.bytes = codes.bytes.data();
  out.codes.wordPitch = 0;
  out.codes.linePitch = inputs();
  out.table = float8Table();
  if (weight.parts.size() != 1)
    return invalidArgument("expected one tensor of scales, got " +
                           inQuotes(weight.parts[0]) + " and " +
                           inQuotes(weight.parts[1]));
  MTP_ASSIGN_OR_RETURN(StoredPart scales, part(weight.parts[0]));
  return setScales(weight.parts[0],
                   scales.type == WeightType::U8 ? kMXGroup : 0);
}

/// Reads int8, or 4-bit floats under the name of the weight.
Status StoredFormat::readBytes() {
  MTP_ASSIGN_OR_RETURN(StoredPart codes, part(weight.codes));
  std::string scales = weight.key + "_scale", second = scales + "_2";
  if (!has(scales))
    scales = stem() + ".scale";
  MTP_ASSIGN_OR_RETURN(StoredPart stored, part(scales));
  bool isPower =
      stored.type == WeightType::F8E8M0 ||
      (stored.type == WeightType::U8 && codes.type == WeightType::U8);
  title = isPower ? "MXFP4" : "NVFP4";
  if (isPower)
    return readFloat4(codes, scales, kMXGroup);
  if (codes.type == WeightType::U8) {
    if (stored.type != WeightType::F8E4M3)
      return mismatch(scales, "scales F8_E4M3 (NVFP4) or U8 (MXFP4)", stored);
    MTP_RETURN_IF_ERROR(setFactor(second, false));
    return readFloat4(codes, scales, kNVGroup);
  }
  title = "int8";
  MTP_RETURN_IF_ERROR(setShape(codes.shape, 1));
  out.codes = {codes.bytes.data(), 8, false, false, true, 0, inputs()};
  MTP_RETURN_IF_ERROR(setScales(scales, 0));
  return setPackedZeros(weight.key + "_zero_point");
}

Result<StoredTensor> StoredFormat::read() {
  auto check = [&] {
    switch (weight.kind) {
    case StoredKind::Packed:
      return readPacked();
    case StoredKind::Columns:
      return readColumns();
    case StoredKind::Blocks:
      return readBlocks();
    case StoredKind::Float8:
      return readFloat8();
    case StoredKind::Bytes:
      return readBytes();
    case StoredKind::Refused:
      break;
    }
    return unimplemented("expected a supported format, got " + weight.reason +
                         "; import the model that it was made from, and "
                         "quantise it with mtpc --quantize=int8 or "
                         "--quantize=int4");
  };
  MTP_RETURN_IF_ERROR(check());
  out.label = title;
  if (!out.isFloat8() && out.scales.rowBlock == 1 &&
      out.scales.colBlock < inputs())
    out.label += " in groups of " + std::to_string(out.scales.colBlock);
  return std::move(out);
}

Result<StoredTensor> readStoredWeight(const StoredWeight &weight,
                                      const FindPart &find,
                                      const QuantizationConfig &config) {
  return StoredFormat(weight, find, config).read();
}

} // namespace mtp
