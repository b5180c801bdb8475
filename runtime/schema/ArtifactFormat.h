//===- ArtifactFormat.h - The bytes around the FlatBuffer -------*- C++ -*-===//
//
// Constants and layout that the compiler's writer and the runtime's loader
// share. FORMAT.md describes them in prose and must agree with this file.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_ARTIFACTFORMAT_H
#define MTP_RUNTIME_SCHEMA_ARTIFACTFORMAT_H

#include "runtime/schema/SchemaHash.h"

#include <cstdint>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mtp {

/// Major version in the high half, minor version in the low half. A reader
/// accepts this version only; README.md says how versions work after the first
/// release.
inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 4;
inline constexpr uint32_t kFormatVersion = kFormatMajor << 16 | kFormatMinor;

inline constexpr char kFileMagic[4] = {'M', 'T', 'P', 'C'};

/// Alignment of segments in the file, in bytes.
inline constexpr uint64_t kSegmentAlignment = 4096;

/// Alignment of weights, constants and states in their memory, in bytes.
inline constexpr uint64_t kBufferAlignment = 64;

/// The first bytes of a file. Little endian, as the whole file.
struct FileHeader {
  char magic[4];
  uint32_t version;
  /// Start of the FlatBuffer; a multiple of 16.
  uint64_t programOffset;
  uint64_t programSize;
  /// Size of the whole file, including the last segment.
  uint64_t fileSize;
  uint8_t schemaHash[32];
};
static_assert(sizeof(FileHeader) == 64);

/// Returns the XXH3-64 hash that guards a range of bytes.
inline uint64_t hashBytes(const void *data, uint64_t size) {
  return XXH3_64bits(data, size);
}

inline constexpr uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Returns the origin of segment offsets: the first page boundary after the
/// seal. The seal is 8 bytes long and follows the FlatBuffer.
inline constexpr uint64_t segmentBase(uint64_t programOffset,
                                      uint64_t programSize) {
  return alignTo(programOffset + programSize + 8, kSegmentAlignment);
}

/// Returns the bytes of a file before its first segment: header, FlatBuffer,
/// seal and padding. `segmentBytes` is the end of the last segment relative to
/// the segment base; zero without segments.
inline std::vector<uint8_t> makeFileFront(const uint8_t *program,
                                          uint64_t programSize,
                                          uint64_t segmentBytes) {
  FileHeader header = {};
  std::memcpy(header.magic, kFileMagic, sizeof(kFileMagic));
  header.version = kFormatVersion;
  header.programOffset = sizeof(FileHeader);
  header.programSize = programSize;
  uint64_t base = segmentBase(header.programOffset, programSize);
  header.fileSize = base + segmentBytes;
  std::memcpy(header.schemaHash, kSchemaHash, sizeof(kSchemaHash));

  std::vector<uint8_t> front(base, 0);
  std::memcpy(front.data(), &header, sizeof(header));
  std::memcpy(front.data() + header.programOffset, program, programSize);
  uint64_t sealed = header.programOffset + programSize;
  uint64_t seal = hashBytes(front.data(), sealed);
  std::memcpy(front.data() + sealed, &seal, sizeof(seal));
  return front;
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_ARTIFACTFORMAT_H
