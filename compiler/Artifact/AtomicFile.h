//===- AtomicFile.h - A file that appears whole or not at all ---*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ATOMICFILE_H
#define MTP_COMPILER_ARTIFACT_ATOMICFILE_H

#include "runtime/core/Result.h"
#include <cstdint>
#include <span>
#include <string>

namespace mtp::compiler {

/// Writes a file beside its destination and moves it there with commit(). Until
/// then, and whatever happens, the destination is as it was; a process that is
/// killed leaves no file behind where the file system has O_TMPFILE.
class AtomicFile {
public:
  /// Opens a new file in the folder of `path`. `path` may exist as a regular
  /// file, which commit() replaces.
  static Result<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other);
  AtomicFile &operator=(AtomicFile &&) = delete;
  /// Drops what was written unless commit() was called.
  ~AtomicFile();

  Status writeAt(uint64_t offset, std::span<const uint8_t> bytes);
  /// Sets the size; bytes never written read as zero.
  Status resize(uint64_t size);
  /// Makes the bytes durable and puts the file in its place.
  Status commit();

private:
  AtomicFile(std::string path, int fd, std::string temporary)
      : path(std::move(path)), temporary(std::move(temporary)), fd(fd) {}

  Status fail(const char *what);

  std::string path;
  /// The name that the file has before commit(); empty while it has none.
  std::string temporary;
  int fd;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ATOMICFILE_H
