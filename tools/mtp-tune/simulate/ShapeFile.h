//===- ShapeFile.h - An artifact whose weights are not read -----*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_SIMULATE_SHAPEFILE_H
#define MTP_TOOLS_MTP_TUNE_SIMULATE_SHAPEFILE_H

#include "runtime/artifact/ArtifactFile.h"

#include <memory>
#include <string>

namespace mtp::tune {

/// The tables of an artifact, or of a file of `mtpc --omit-weights`. The
/// weights of such a file are zeros that take no memory.
class ShapeFile {
public:
  /// Opens and checks a file. Messages start with its path.
  static Result<std::unique_ptr<ShapeFile>> open(const std::string &path);

  ~ShapeFile();
  ShapeFile(const ShapeFile &) = delete;
  ShapeFile &operator=(const ShapeFile &) = delete;

  const Artifact &artifact() const { return file->artifact(); }

private:
  ShapeFile() = default;
  Status fill(std::span<const uint8_t> weightless);

  /// Reserved memory of a file without weights.
  void *memory = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const ArtifactFile> file;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_SIMULATE_SHAPEFILE_H
