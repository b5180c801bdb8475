//===- InputFile.h - A read-only file in memory ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_INPUTFILE_H
#define MTP_COMPILER_WEIGHTS_INPUTFILE_H

#include "runtime/core/Result.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

namespace mtp {

/// A regular file, mapped read-only for as long as the object lives.
class InputFile {
public:
  /// Maps the whole file. Refuses devices, pipes, sockets and directories
  /// without blocking on them, and Git LFS pointers. An empty file has no
  /// bytes.
  static Result<InputFile> open(const std::string &path);

  InputFile() = default;
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;
  ~InputFile();

  std::span<const uint8_t> bytes() const { return {data, size}; }
  const std::string &path() const { return name; }

  /// Fails if the file's size or time changed since it was mapped. Reading a
  /// mapped file that was truncated raises SIGBUS, so long copies call this
  /// function between pieces.
  Status checkUnchanged() const;

private:
  std::string name;
  const uint8_t *data = nullptr;
  size_t size = 0;
  int descriptor = -1;
  timespec modified = {};
};

/// Reads a small text file, such as config.json. Fails if the file has more
/// than `maxBytes`.
Result<std::string> readTextFile(const std::string &path, size_t maxBytes);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_INPUTFILE_H
