//===- AtomicFile.h - A file that appears whole or not at all ---*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ATOMICFILE_H
#define MTP_COMPILER_ARTIFACT_ATOMICFILE_H

#include "runtime/core/Result.h"
#include <cstdint>
#include <span>
#include <string>

namespace mtp::compiler {

/// A file that is written beside its destination and moves there with commit().
/// Before commit(), the destination is unchanged in every case. If a process is
/// killed, no file remains on file systems that have O_TMPFILE.
class AtomicFile {
public:
  /// Creates a new file in the folder of `path`. `path` may exist as a regular
  /// file, which commit() replaces.
  static Result<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other);
  AtomicFile &operator=(AtomicFile &&) = delete;
  /// Deletes the written file unless commit() was called.
  ~AtomicFile();

  Status writeAt(uint64_t offset, std::span<const uint8_t> bytes);
  /// Sets the size. Bytes that are never written read as zero.
  Status resize(uint64_t size);
  /// Makes the bytes durable and moves the file to its destination.
  Status commit();

private:
  AtomicFile(std::string path, int fd, std::string temporary)
      : path(std::move(path)), temporary(std::move(temporary)), fd(fd) {}

  Status fail(const char *what);

  std::string path;
  /// Name of the file before commit(); empty if it has none.
  std::string temporary;
  int fd;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ATOMICFILE_H
