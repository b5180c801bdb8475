//===- Gguf.cpp - Reading GGUF files --------------------------------------===//

#include "compiler/Weights/Gguf.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <set>

namespace mtp {

namespace {

constexpr std::string_view kMagic = "GGUF";
/// Limits on the numbers of tensors and keys. The largest published models have
/// a few thousand tensors and a hundred keys.
constexpr uint64_t kMostTensors = 1 << 16, kMostKeys = 1 << 16;
constexpr uint64_t kMostNameBytes = 63, kMostKeyBytes = 65535;
constexpr uint32_t kMostDimensions = 4;
constexpr uint64_t kDefaultAlignment = 32, kMostAlignment = 1 << 20;
constexpr const char *kAlignmentKey = "general.alignment";

/// The number of bytes of a value, indexed by GgufType. 0: it varies.
constexpr uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// A tensor type by the format's number.
struct TensorType {
  uint32_t id;
  WeightType type;
};

constexpr TensorType kTensorTypes[] = {
    {0, WeightType::F32},     {1, WeightType::F16},     {2, WeightType::Q4_0},
    {3, WeightType::Q4_1},    {6, WeightType::Q5_0},    {7, WeightType::Q5_1},
    {8, WeightType::Q8_0},    {10, WeightType::Q2_K},   {11, WeightType::Q3_K},
    {12, WeightType::Q4_K},   {13, WeightType::Q5_K},   {14, WeightType::Q6_K},
    {20, WeightType::IQ4_NL}, {23, WeightType::IQ4_XS}, {24, WeightType::I8},
    {25, WeightType::I16},    {26, WeightType::I32},    {27, WeightType::I64},
    {28, WeightType::F64},    {30, WeightType::BF16},   {39, WeightType::MXFP4},
    {40, WeightType::NVFP4},
};

/// Names of tensor types that are refused.
struct RefusedType {
  uint32_t id;
  std::string_view name;
};

constexpr RefusedType kRefusedTypes[] = {
    {4, "Q4_2"},        {5, "Q4_3"},        {9, "Q8_1"},
    {15, "Q8_K"},       {16, "IQ2_XXS"},    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},    {19, "IQ1_S"},      {21, "IQ3_S"},
    {22, "IQ2_S"},      {29, "IQ1_M"},      {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},   {34, "TQ1_0"},
    {35, "TQ2_0"},      {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"},
    {38, "IQ4_NL_8_8"}, {41, "Q1_0"},       {42, "Q2_0"},
    {133, "Q6_0"},      {137, "IQ2_K"},     {138, "IQ3_K"},
    {139, "IQ4_K"},     {140, "IQ5_K"},     {141, "IQ6_K"},
    {144, "IQ4_KS"},    {145, "IQ2_KS"},    {146, "IQ4_KSS"},
    {152, "IQ5_KS"},
};

Result<WeightType> findType(uint32_t id) {
  for (const TensorType &type : kTensorTypes)
    if (type.id == id)
      return type.type;
  for (const RefusedType &type : kRefusedTypes)
    if (type.id == id)
      return unimplemented("tensors of type " + std::string(type.name) +
                           " are not read");
  return invalidArgument("unknown tensor type " + std::to_string(id));
}

template <typename T>
T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Returns the double with the shortest decimal form of an f32.
double widen(float value) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  double wide = value;
  if (error == std::errc())
    std::from_chars(text, end, wide);
  return wide;
}

/// Takes values from the front of the file.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : all(bytes) {}

  uint64_t position() const { return at; }
  uint64_t left() const { return all.size() - at; }

  Result<std::span<const uint8_t>> take(uint64_t size) {
    if (size > left())
      return dataLoss("expected " + std::to_string(size) + " bytes at offset " +
                      std::to_string(at) + ", got " + std::to_string(left()));
    std::span<const uint8_t> bytes = all.subspan(at, size);
    at += size;
    return bytes;
  }

  template <typename T>
  Result<T> number() {
    MTP_ASSIGN_OR_RETURN(std::span<const uint8_t> bytes, take(sizeof(T)));
    return load<T>(bytes.data());
  }

  Result<std::string_view> text(uint64_t most) {
    MTP_ASSIGN_OR_RETURN(uint64_t size, number<uint64_t>());
    if (size > most)
      return outOfRange("expected a string of at most " + std::to_string(most) +
                        " bytes at offset " + std::to_string(at) + ", got " +
                        std::to_string(size));
    MTP_ASSIGN_OR_RETURN(std::span<const uint8_t> bytes, take(size));
    return textOf(bytes);
  }

private:
  std::span<const uint8_t> all;
  uint64_t at = 0;
};

Result<GgufType> readType(Reader &reader) {
  MTP_ASSIGN_OR_RETURN(uint32_t number, reader.number<uint32_t>());
  if (number >= std::size(kValueBytes))
    return invalidArgument("unknown value type " + std::to_string(number));
  return GgufType(number);
}

/// Skips the elements of a value.
Status skip(Reader &reader, GgufType type, uint64_t count) {
  uint64_t bytes = kValueBytes[size_t(type)];
  if (bytes > 0) {
    if (count > reader.left() / bytes)
      return dataLoss("expected " + std::to_string(count) + " elements, got " +
                      std::to_string(reader.left()) + " bytes");
    return reader.take(count * bytes).status();
  }
  // Each string has a length of 8 bytes.
  if (count > reader.left() / 8)
    return dataLoss("expected " + std::to_string(count) + " strings, got " +
                    std::to_string(reader.left()) + " bytes");
  for (uint64_t i = 0; i < count; ++i)
    MTP_RETURN_IF_ERROR(
        reader.text(std::numeric_limits<int64_t>::max()).status());
  return okStatus();
}

Result<GgufValue> readValue(Reader &reader, std::span<const uint8_t> bytes) {
  MTP_ASSIGN_OR_RETURN(GgufType type, readType(reader));
  bool isArray = type == GgufType::Array;
  uint64_t count = 1;
  if (isArray) {
    MTP_ASSIGN_OR_RETURN(type, readType(reader));
    if (type == GgufType::Array)
      return unimplemented("an array of arrays is not read");
    MTP_ASSIGN_OR_RETURN(count, reader.number<uint64_t>());
  }
  uint64_t begin = reader.position();
  MTP_RETURN_IF_ERROR(skip(reader, type, count));
  return GgufValue(type, isArray, count,
                   bytes.subspan(begin, reader.position() - begin));
}

Status readValues(Reader &reader, std::span<const uint8_t> bytes,
                  uint64_t count, GgufHeader &header) {
  for (uint64_t i = 0; i < count; ++i) {
    MTP_ASSIGN_OR_RETURN(std::string_view key, reader.text(kMostKeyBytes));
    Result<GgufValue> value = readValue(reader, bytes);
    if (!value)
      return value.status().withContext("key \"" + std::string(key) + "\"");
    if (!header.values.emplace(std::string(key), *value).second)
      return invalidArgument("duplicate key \"" + std::string(key) + "\"");
  }
  return okStatus();
}

/// Sets the shape and size of a tensor from its extents, fastest first.
Status setShape(std::span<const uint64_t> extents, GgufTensor &tensor) {
  uint64_t block = blockElements(tensor.type);
  if (extents.empty())
    return invalidArgument("expected 1 to 4 dimensions, got none");
  if (extents.front() % block != 0)
    return invalidArgument("expected rows of whole " +
                           std::string(toString(tensor.type)) + " blocks of " +
                           std::to_string(block) + ", got " +
                           std::to_string(extents.front()) + " elements");
  uint64_t elements = 1;
  for (uint64_t extent : extents) {
    if (extent > uint64_t(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(elements, extent, &elements))
      return outOfRange("the shape has more elements than can be counted");
    tensor.shape.insert(tensor.shape.begin(), int64_t(extent));
  }
  if (__builtin_mul_overflow(elements / block, blockBytes(tensor.type),
                             &tensor.size))
    return outOfRange("the shape has more bytes than can be counted");
  return okStatus();
}

/// Reads the rest of a row of the table after the name. The offset is still
/// relative to the data.
Status readTensor(Reader &reader, GgufTensor &tensor) {
  MTP_ASSIGN_OR_RETURN(uint32_t dimensions, reader.number<uint32_t>());
  if (dimensions > kMostDimensions)
    return invalidArgument("expected 1 to 4 dimensions, got " +
                           std::to_string(dimensions));
  std::vector<uint64_t> extents;
  for (uint32_t i = 0; i < dimensions; ++i) {
    MTP_ASSIGN_OR_RETURN(uint64_t extent, reader.number<uint64_t>());
    extents.push_back(extent);
  }
  MTP_ASSIGN_OR_RETURN(uint32_t type, reader.number<uint32_t>());
  MTP_ASSIGN_OR_RETURN(tensor.type, findType(type));
  MTP_ASSIGN_OR_RETURN(tensor.offset, reader.number<uint64_t>());
  return setShape(extents, tensor);
}

Status readTensors(Reader &reader, uint64_t count, GgufHeader &header) {
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t offset = reader.position();
    MTP_ASSIGN_OR_RETURN(std::string_view name, reader.text(kMostNameBytes));
    std::string context = "tensor \"" + std::string(name) + "\" at offset " +
                          std::to_string(offset);
    if (!names.insert(name).second)
      return invalidArgument("duplicate " + context);
    GgufTensor tensor{std::string(name), WeightType::F32, {}};
    MTP_RETURN_IF_ERROR(readTensor(reader, tensor).withContext(context));
    header.tensors.push_back(std::move(tensor));
  }
  return okStatus();
}

Result<uint64_t> readAlignment(const GgufHeader &header) {
  const GgufValue *value = header.find(kAlignmentKey);
  if (!value)
    return kDefaultAlignment;
  std::optional<int64_t> number = header.integer(kAlignmentKey);
  uint64_t alignment = uint64_t(number.value_or(0));
  if (alignment == 0 || alignment > kMostAlignment ||
      (alignment & (alignment - 1)) != 0)
    return invalidArgument(
        std::string("key \"") + kAlignmentKey +
        "\": expected a power of two up to " + std::to_string(kMostAlignment) +
        ", got " + (number ? std::to_string(*number) : value->describe()));
  return alignment;
}

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Fails unless the tensors lie in the order of the table, each at the next
/// multiple of the alignment, and only padding follows the last one.
Status placeTensors(GgufHeader &header, uint64_t begin, uint64_t fileBytes,
                    uint64_t alignment) {
  // A file without tensors may end without padding.
  uint64_t data = std::min(alignUp(begin, alignment), fileBytes);
  uint64_t room = fileBytes - data, next = 0, end = 0;
  for (GgufTensor &tensor : header.tensors) {
    std::string context = "tensor \"" + tensor.name + "\"";
    if (tensor.offset != next)
      return invalidArgument(context + ": expected to begin at " +
                             std::to_string(next) + " in the data, got " +
                             std::to_string(tensor.offset));
    if (next > room || tensor.size > room - next)
      return dataLoss(context + ": expected " + std::to_string(tensor.size) +
                      " bytes at offset " + std::to_string(data + next) +
                      ", got " + std::to_string(next > room ? 0 : room - next));
    tensor.offset = data + next;
    end = next + tensor.size;
    next = alignUp(end, alignment);
  }
  if (room > next)
    return dataLoss("expected " + std::to_string(next) +
                    " bytes of tensors, got " + std::to_string(room));
  return okStatus();
}

/// Reads magic, version and numbers. Sets the numbers of tensors and keys.
Status readFront(Reader &reader, uint64_t &tensors, uint64_t &keys) {
  MTP_ASSIGN_OR_RETURN(std::span<const uint8_t> magic,
                       reader.take(kMagic.size()));
  if (textOf(magic) != kMagic)
    return invalidArgument("expected GGUF in the first four bytes");
  MTP_ASSIGN_OR_RETURN(uint32_t version, reader.number<uint32_t>());
  if (version != 0 && (version & 0xffff) == 0)
    return unimplemented("a big-endian file is not read");
  if (version != 2 && version != 3)
    return unimplemented("expected version 2 or 3 of GGUF, got " +
                         std::to_string(version));
  MTP_ASSIGN_OR_RETURN(tensors, reader.number<uint64_t>());
  MTP_ASSIGN_OR_RETURN(keys, reader.number<uint64_t>());
  if (tensors > kMostTensors)
    return outOfRange("expected at most " + std::to_string(kMostTensors) +
                      " tensors, got " + std::to_string(tensors));
  if (keys > kMostKeys)
    return outOfRange("expected at most " + std::to_string(kMostKeys) +
                      " keys, got " + std::to_string(keys));
  return okStatus();
}

} // namespace

std::optional<std::vector<int64_t>> GgufValue::integers() const {
  auto read = [&](auto zero) -> std::optional<std::vector<int64_t>> {
    using T = decltype(zero);
    std::vector<int64_t> numbers;
    numbers.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      T number = load<T>(bytes.data() + i * sizeof(T));
      if constexpr (std::is_same_v<T, uint64_t>)
        if (number > uint64_t(std::numeric_limits<int64_t>::max()))
          return std::nullopt;
      numbers.push_back(int64_t(number));
    }
    return numbers;
  };
  switch (type) {
  case GgufType::U8:
    return read(uint8_t());
  case GgufType::I8:
    return read(int8_t());
  case GgufType::U16:
    return read(uint16_t());
  case GgufType::I16:
    return read(int16_t());
  case GgufType::U32:
    return read(uint32_t());
  case GgufType::I32:
    return read(int32_t());
  case GgufType::U64:
    return read(uint64_t());
  case GgufType::I64:
    return read(int64_t());
  default:
    return std::nullopt;
  }
}

std::optional<std::vector<double>> GgufValue::numbers() const {
  std::vector<double> wide;
  if (type == GgufType::F32 || type == GgufType::F64) {
    wide.reserve(count);
    for (uint64_t i = 0; i < count; ++i)
      wide.push_back(type == GgufType::F32
                         ? widen(load<float>(bytes.data() + 4 * i))
                         : load<double>(bytes.data() + 8 * i));
    return wide;
  }
  std::optional<std::vector<int64_t>> whole = integers();
  if (!whole)
    return std::nullopt;
  wide.assign(whole->begin(), whole->end());
  return wide;
}

std::optional<std::vector<bool>> GgufValue::flags() const {
  if (type != GgufType::Bool)
    return std::nullopt;
  std::vector<bool> flags;
  flags.reserve(count);
  for (uint8_t byte : bytes)
    flags.push_back(byte != 0);
  return flags;
}

std::optional<std::vector<std::string_view>> GgufValue::texts() const {
  if (type != GgufType::String)
    return std::nullopt;
  std::vector<std::string_view> texts;
  texts.reserve(count);
  const uint8_t *at = bytes.data();
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = load<uint64_t>(at);
    texts.emplace_back(reinterpret_cast<const char *>(at) + 8, size);
    at += 8 + size;
  }
  return texts;
}

const char *GgufValue::describe() const {
  if (array)
    return isText() ? "an array of strings" : "an array";
  switch (type) {
  case GgufType::Bool:
    return "a boolean";
  case GgufType::String:
    return "a string";
  case GgufType::F32:
  case GgufType::F64:
    return "a float";
  default:
    return "an integer";
  }
}

const GgufValue *GgufHeader::find(std::string_view key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::string_view GgufHeader::text(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value || value->isArray() || !value->isText())
    return {};
  return value->texts()->front();
}

std::optional<int64_t> GgufHeader::integer(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value || value->isArray())
    return std::nullopt;
  std::optional<std::vector<int64_t>> numbers = value->integers();
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

bool isGguf(std::span<const uint8_t> bytes) {
  return textOf(bytes).starts_with(kMagic);
}

Result<GgufHeader> parseGguf(std::span<const uint8_t> bytes) {
  Reader reader(bytes);
  uint64_t tensors = 0, keys = 0;
  MTP_RETURN_IF_ERROR(readFront(reader, tensors, keys));
  GgufHeader header;
  MTP_RETURN_IF_ERROR(readValues(reader, bytes, keys, header));
  MTP_ASSIGN_OR_RETURN(uint64_t alignment, readAlignment(header));
  MTP_RETURN_IF_ERROR(readTensors(reader, tensors, header));
  MTP_RETURN_IF_ERROR(
      placeTensors(header, reader.position(), bytes.size(), alignment));
  return header;
}

} // namespace mtp
