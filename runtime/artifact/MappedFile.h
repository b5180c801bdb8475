//===- MappedFile.h - A file in memory, read only ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_MAPPEDFILE_H
#define MTP_RUNTIME_ARTIFACT_MAPPEDFILE_H

#include "runtime/core/MemoryAccount.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <memory>
#include <string>

namespace mtp {

/// The bytes of a regular file, read only. They live as long as the object,
/// even if the file is renamed or deleted meanwhile.
class MappedFile {
public:
  /// Maps a file privately. Refuses anything but a regular file, without
  /// waiting for it. Truncating the file in place makes later reads fault
  /// (SIGBUS): writers must replace a file by rename and never rewrite it.
  static Result<std::unique_ptr<MappedFile>> open(const std::string &path);

  /// Reads a file into memory of its own, with large pages if the system has
  /// them. The memory is reserved in the host's account. DataLoss if the file
  /// ends early.
  static Result<std::unique_ptr<MappedFile>> copy(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  /// Returns the first byte, page aligned. Null if the file is empty.
  const uint8_t *data() const { return bytes; }
  uint64_t size() const { return length; }

private:
  MappedFile(const uint8_t *bytes, uint64_t length)
      : bytes(bytes), length(length) {}

  const uint8_t *bytes;
  uint64_t length;
  /// The memory of a copy.
  MemoryReservation reservation;
};

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_MAPPEDFILE_H
