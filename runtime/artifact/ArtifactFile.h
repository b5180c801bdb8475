//===- ArtifactFile.h - A verified artifact ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_ARTIFACTFILE_H
#define MTP_RUNTIME_ARTIFACT_ARTIFACTFILE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/Result.h"
#include "runtime/schema/ArtifactFormat.h"

#include <memory>
#include <span>
#include <string>

namespace mtp {

/// The segments whose bytes are hashed when a file is opened. Header and
/// FlatBuffer are always hashed.
enum class HashCheck {
  None,
  /// Segments of up to 16 MiB: images, tokenizer, constants, small weights.
  /// Opening a file must not read all of its weights.
  Small,
  All,
};

enum class FileMemory { Mapped, Copied };

/// A file that has passed every check: magic, version, schema, sizes, seal,
/// structure, meaning. Immutable, so any thread may use it. Header and tables
/// are copied before they are checked. A later write to a mapped file changes
/// weights and code, but no checked data.
class ArtifactFile {
public:
  /// Maps or copies a file and checks it. Messages start with the path.
  static Result<std::shared_ptr<const ArtifactFile>>
  open(const std::string &path, HashCheck hashes = HashCheck::Small,
       FileMemory memory = FileMemory::Mapped);

  /// Checks the bytes of an artifact and returns them as a file. The bytes must
  /// outlive the object and start at an address that is a multiple of 64.
  static Result<std::shared_ptr<const ArtifactFile>>
  fromMemory(std::span<const uint8_t> bytes,
             HashCheck hashes = HashCheck::Small);

  const FileHeader &header() const { return fileHeader; }
  const Artifact &artifact() const { return contents; }

  /// Returns header and FlatBuffer, which has the hashes of all segments. Two
  /// artifacts with equal bytes here are equal.
  std::span<const uint8_t> tables() const {
    return {front.get(), fileHeader.programOffset + fileHeader.programSize};
  }

  /// Returns the bytes of a segment; `index` must be in range.
  std::span<const uint8_t> segment(uint32_t index) const;

  /// Returns the bytes of a weight or constant of this file.
  std::span<const uint8_t> blob(const schema::Blob &blob) const;

  /// Compares a segment's bytes with its hash.
  Status checkHash(uint32_t index) const;

private:
  ArtifactFile() = default;
  Status check(HashCheck hashes);
  Status checkHeader();
  Status copyFront();
  Status checkStructure();
  Status checkZeros() const;
  Status checkPageTables(const Plan &plan) const;

  std::unique_ptr<MappedFile> file;
  std::span<const uint8_t> bytes;
  /// Header, FlatBuffer and seal.
  std::unique_ptr<uint8_t[]> front;
  FileHeader fileHeader = {};
  uint64_t base = 0;
  Artifact contents;
};

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_ARTIFACTFILE_H
