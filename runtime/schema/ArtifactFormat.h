//===- ArtifactFormat.h - The bytes around the FlatBuffer -------*- C++ -*-===//
//
// Constants and layout that the writer in the compiler and the loader in the
// runtime share. FORMAT.md is the prose; this file must agree with it.
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

/// Major in the high half, minor in the low half. A reader takes this version
/// alone; README.md says what becomes of versions once one is released.
inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 4;
inline constexpr uint32_t kFormatVersion = kFormatMajor << 16 | kFormatMinor;

inline constexpr char kFileMagic[4] = {'M', 'T', 'P', 'C'};

/// Segments start at multiples of this many bytes of the file.
inline constexpr uint64_t kSegmentAlignment = 4096;

/// Weights, constants and states start at multiples of this in their memory.
inline constexpr uint64_t kBufferAlignment = 64;

/// The first bytes of a file. Little endian, as everything in it.
struct FileHeader {
  char magic[4];
  uint32_t version;
  /// Where the FlatBuffer starts; a multiple of 16.
  uint64_t programOffset;
  uint64_t programSize;
  /// The whole file, last segment included.
  uint64_t fileSize;
  uint8_t schemaHash[32];
};
static_assert(sizeof(FileHeader) == 64);

/// The XXH3-64 that guards a range of bytes.
inline uint64_t hashBytes(const void *data, uint64_t size) {
  return XXH3_64bits(data, size);
}

inline constexpr uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Where segments are counted from: the first page boundary behind the seal,
/// which is 8 bytes long and follows the FlatBuffer.
inline constexpr uint64_t segmentBase(uint64_t programOffset,
                                      uint64_t programSize) {
  return alignTo(programOffset + programSize + 8, kSegmentAlignment);
}

/// Everything of a file before its first segment: header, FlatBuffer, seal and
/// padding. `segmentBytes` is the end of the last segment, counted from the
/// segment base; zero when there are none.
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
