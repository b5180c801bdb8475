//===- GgufBuilder.h - Small GGUF files for tests ---------------*- C++ -*-===//

#ifndef MTP_TEST_WEIGHTS_GGUFBUILDER_H
#define MTP_TEST_WEIGHTS_GGUFBUILDER_H

#include "compiler/Weights/Gguf.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace mtp::test {

/// Returns the bytes of a number.
template <typename T>
std::string packed(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// Returns a string as the format stores it.
inline std::string packedText(const std::string &text) {
  return packed(uint64_t(text.size())) + text;
}

/// Collects keys and tensors and writes them as one file.
class GgufBuilder {
public:
  GgufBuilder &key(const std::string &name, GgufType type,
                   const std::string &value) {
    keys += packedText(name) + packed(uint32_t(type)) + value;
    ++keyCount;
    return *this;
  }
  GgufBuilder &number(const std::string &name, uint32_t value) {
    return key(name, GgufType::U32, packed(value));
  }
  GgufBuilder &text(const std::string &name, const std::string &value) {
    return key(name, GgufType::String, packedText(value));
  }
  GgufBuilder &list(const std::string &name, GgufType type, uint64_t count,
                    const std::string &values) {
    return key(name, GgufType::Array,
               packed(uint32_t(type)) + packed(count) + values);
  }

  /// Adds a tensor. Extents are in the order of the file, fastest first.
  GgufBuilder &tensor(const std::string &name, uint32_t type,
                      const std::vector<uint64_t> &extents,
                      const std::string &bytes) {
    table += packedText(name) + packed(uint32_t(extents.size()));
    for (uint64_t extent : extents)
      table += packed(extent);
    table += packed(type) + packed(uint64_t(data.size()));
    data += bytes;
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    ++tensorCount;
    return *this;
  }

  std::string build() const {
    std::string bytes = "GGUF" + packed(version) + packed(tensorCount) +
                        packed(keyCount) + keys + table;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data;
  }

  uint32_t version = 3;
  uint64_t alignment = 32;
  uint64_t tensorCount = 0, keyCount = 0;

private:
  std::string keys, table, data;
};

} // namespace mtp::test

#endif // MTP_TEST_WEIGHTS_GGUFBUILDER_H
