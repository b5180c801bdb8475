//===- Safetensors.cpp - Reading safetensors files ------------------------===//

#include "compiler/Weights/Safetensors.h"

#include "compiler/Weights/Json.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace mtp {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
/// Levels for the header object, a tensor object and its shape array, and one
/// more for fields of later versions of the format.
constexpr size_t kMaxHeaderDepth = 4;

uint64_t readLittleEndian64(const uint8_t *bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | bytes[i];
  return value;
}

Status checkMetadata(element value) {
  if (value.is_null())
    return okStatus();
  object fields;
  if (value.get_object().get(fields))
    return invalidArgument(
        std::string("expected an object in \"__metadata__\", got ") +
        describe(value));
  for (auto field : fields)
    if (!field.value.is_string())
      return invalidArgument("expected a string in \"__metadata__\" at \"" +
                             std::string(field.key) + "\", got " +
                             describe(field.value));
  return okStatus();
}

Result<std::vector<uint64_t>> readIntegers(object tensor, const char *field) {
  element value;
  if (tensor.at_key(field).get(value))
    return invalidArgument(std::string("expected \"") + field + "\"");
  simdjson::dom::array items;
  if (value.get_array().get(items))
    return invalidArgument(std::string("expected an array in \"") + field +
                           "\", got " + describe(value));
  std::vector<uint64_t> numbers;
  for (element item : items) {
    uint64_t number;
    if (item.get_uint64().get(number))
      return invalidArgument(
          std::string("expected integers of at least 0 in \"") + field + "\"");
    numbers.push_back(number);
  }
  return numbers;
}

Result<WeightType> readType(object tensor) {
  std::string_view name;
  if (tensor.at_key("dtype").get_string().get(name))
    return invalidArgument("expected a string in \"dtype\"");
  if (std::optional<WeightType> type = parseWeightType(name))
    return *type;
  return invalidArgument("unknown dtype \"" + std::string(name) + "\"");
}

/// Returns the number of bytes of a tensor. Fails if it exceeds 64 bits or is
/// not a whole number of bytes.
Result<uint64_t> byteSize(WeightType type, std::span<const uint64_t> shape) {
  uint64_t bits = bitWidth(type);
  for (uint64_t dim : shape)
    if (dim > uint64_t(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(bits, dim, &bits))
      return outOfRange("the shape has more bits than can be counted");
  if (bits % 8 != 0)
    return invalidArgument("expected whole bytes, got " + std::to_string(bits) +
                           " bits");
  return bits / 8;
}

/// Reads one tensor. Its offset is still relative to the end of the header.
Result<TensorEntry> readTensor(element value) {
  object tensor;
  if (value.get_object().get(tensor))
    return invalidArgument(std::string("expected an object, got ") +
                           describe(value));
  TensorEntry entry;
  MTP_ASSIGN_OR_RETURN(entry.type, readType(tensor));
  MTP_ASSIGN_OR_RETURN(auto shape, readIntegers(tensor, "shape"));
  MTP_ASSIGN_OR_RETURN(auto offsets, readIntegers(tensor, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return invalidArgument(
        "expected a begin and an end not before it in \"data_offsets\"");
  MTP_ASSIGN_OR_RETURN(entry.size, byteSize(entry.type, shape));
  if (offsets[1] - offsets[0] != entry.size)
    return invalidArgument("expected " + std::to_string(entry.size) +
                           " bytes, got " +
                           std::to_string(offsets[1] - offsets[0]));
  entry.offset = offsets[0];
  entry.shape.assign(shape.begin(), shape.end());
  return entry;
}

/// Fails unless the tensors tile [0, `dataBytes`) without hole, overlap or
/// rest.
Status checkTiling(const TensorMap &tensors, uint64_t dataBytes) {
  std::vector<const TensorMap::value_type *> order;
  for (const auto &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return std::pair(a->second.offset, a->second.size) <
           std::pair(b->second.offset, b->second.size);
  });
  uint64_t end = 0;
  for (const auto *tensor : order) {
    if (tensor->second.offset != end)
      return invalidArgument("tensor \"" + tensor->first +
                             "\": expected to begin at " + std::to_string(end) +
                             ", got " + std::to_string(tensor->second.offset));
    // Cannot overflow: the difference of the offsets is `size`.
    end += tensor->second.size;
  }
  if (end != dataBytes)
    return dataLoss("expected " + std::to_string(end) +
                    " bytes of tensors, got " + std::to_string(dataBytes));
  return okStatus();
}

Result<TensorMap> readHeader(std::string_view text) {
  Result<JsonTree> document = parseJson(text, kMaxHeaderDepth);
  if (!document)
    return document.status().withContext("header");
  object fields;
  if (document->root().get_object().get(fields))
    return invalidArgument(std::string("header: expected an object, got ") +
                           describe(document->root()));
  TensorMap tensors;
  for (auto field : fields) {
    if (field.key == "__metadata__") {
      MTP_RETURN_IF_ERROR(checkMetadata(field.value));
      continue;
    }
    std::string name(field.key);
    Result<TensorEntry> entry = readTensor(field.value);
    if (!entry)
      return entry.status().withContext("tensor \"" + name + "\"");
    tensors.emplace(std::move(name), std::move(*entry));
  }
  return tensors;
}

} // namespace

Result<TensorMap> parseSafetensors(std::span<const uint8_t> bytes) {
  if (bytes.size() < kLengthBytes)
    return dataLoss("expected at least 8 bytes, got " +
                    std::to_string(bytes.size()));
  uint64_t length = readLittleEndian64(bytes.data());
  if (length > kMaxHeaderBytes)
    return outOfRange("expected a header of at most " +
                      std::to_string(kMaxHeaderBytes) + " bytes, got " +
                      std::to_string(length));
  uint64_t rest = bytes.size() - kLengthBytes;
  if (length > rest)
    return dataLoss("expected a header of " + std::to_string(length) +
                    " bytes, got " + std::to_string(rest));
  auto text = bytes.subspan(kLengthBytes, length);
  MTP_ASSIGN_OR_RETURN(
      TensorMap tensors,
      readHeader({reinterpret_cast<const char *>(text.data()), text.size()}));
  MTP_RETURN_IF_ERROR(checkTiling(tensors, rest - length));
  for (auto &[name, entry] : tensors)
    entry.offset += kLengthBytes + length;
  return tensors;
}

} // namespace mtp
