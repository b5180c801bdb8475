//===- TestFiles.h - Small checkpoints for tests ----------------*- C++ -*-===//

#ifndef MTP_TEST_WEIGHTS_TESTFILES_H
#define MTP_TEST_WEIGHTS_TESTFILES_H

#include "compiler/Weights/WeightType.h"
#include "runtime/schema/WeightFormat.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace mtp::test {

/// Formats of packed weights.
inline constexpr WeightFormat kF32{WeightElements::F32},
    kBF16{WeightElements::BF16};

/// Returns a file's bytes: the header's length, the header, the data.
inline std::string makeFile(const std::string &header,
                            const std::string &data = "") {
  uint64_t length = header.size();
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[size_t(i)] = char(length >> (8 * i) & 0xff);
  return bytes + header + data;
}

/// Collects tensors and writes them as one valid file.
class FileBuilder {
public:
  FileBuilder &add(const std::string &name, const std::string &type,
                   const std::vector<int64_t> &shape, const std::string &data) {
    std::string dims;
    for (int64_t dim : shape)
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    header += (header.empty() ? "" : ",") + ("\"" + name + "\"") +
              ":{\"dtype\":\"" + type + "\",\"shape\":[" + dims +
              "],\"data_offsets\":[" + std::to_string(bytes.size()) + "," +
              std::to_string(bytes.size() + data.size()) + "]}";
    bytes += data;
    return *this;
  }

  FileBuilder &addF32(const std::string &name,
                      const std::vector<int64_t> &shape,
                      const std::vector<float> &values) {
    std::string data(values.size() * sizeof(float), '\0');
    std::memcpy(data.data(), values.data(), data.size());
    return add(name, "F32", shape, data);
  }

  FileBuilder &addBF16(const std::string &name,
                       const std::vector<int64_t> &shape,
                       const std::vector<float> &values) {
    std::string data;
    for (float value : values) {
      uint16_t half = roundToBF16(value);
      data.append(reinterpret_cast<const char *>(&half), sizeof(half));
    }
    return add(name, "BF16", shape, data);
  }

  std::string build() const { return makeFile("{" + header + "}", bytes); }

private:
  std::string header, bytes;
};

/// A folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "mtp-").string() +
        std::string(6, 'X');
    root = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(root); }

  std::string path(const std::string &name = "") const {
    return (root / name).string();
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << bytes;
    return path(name);
  }

private:
  std::filesystem::path root;
};

} // namespace mtp::test

#endif // MTP_TEST_WEIGHTS_TESTFILES_H
