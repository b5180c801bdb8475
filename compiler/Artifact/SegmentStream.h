//===- SegmentStream.h - A segment while it is written ----------*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_SEGMENTSTREAM_H
#define MTP_COMPILER_ARTIFACT_SEGMENTSTREAM_H

#include "compiler/Artifact/AtomicFile.h"
#include "runtime/schema/ArtifactFormat.h"
#include <array>

namespace mtp::compiler {

/// Appends to one segment of the file, and computes its hash.
class SegmentStream {
public:
  SegmentStream(AtomicFile &file, uint64_t begin) : file(file), begin(begin) {
    XXH3_64bits_reset(&state);
  }

  Status append(std::span<const uint8_t> bytes) {
    MTP_RETURN_IF_ERROR(file.writeAt(begin + size, bytes));
    XXH3_64bits_update(&state, bytes.data(), bytes.size());
    size += bytes.size();
    return Status();
  }
  /// Appends zeros up to `offset` of the segment, at which a blob begins.
  Status padTo(uint64_t offset) {
    static const std::array<uint8_t, kBufferAlignment> zeros = {};
    return append(std::span(zeros).first(offset - size));
  }
  uint64_t bytes() const { return size; }
  uint64_t hash() const { return XXH3_64bits_digest(&state); }

private:
  AtomicFile &file;
  uint64_t begin;
  uint64_t size = 0;
  XXH3_state_t state;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_SEGMENTSTREAM_H
