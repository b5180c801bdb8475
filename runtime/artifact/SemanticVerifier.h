//===- SemanticVerifier.h - Does the artifact make sense? -------*- C++ -*-===//
//
// The FlatBuffers verifier proves that tables and vectors lie inside the
// buffer. This one proves the rest, once, so that nothing behind it checks
// again: every index, offset, size and enum is in range, every program stays
// inside its memory, and the whole envelope is there.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_ARTIFACT_SEMANTICVERIFIER_H
#define MTP_RUNTIME_ARTIFACT_SEMANTICVERIFIER_H

#include "runtime/core/Status.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <cstdint>
#include <string_view>

namespace mtp {

/// Checks an artifact that the FlatBuffers verifier has passed. `segmentBytes`
/// is what the file holds behind the segment base. Messages start with a path:
/// "programs[3].commands[12].bindings[2]: ...".
Status verifySemantics(const schema::Artifact &artifact, uint64_t segmentBytes);

//===----------------------------------------------------------------------===//
// Its parts
//===----------------------------------------------------------------------===//

/// Segments, images, blobs, states, caches, kernels, tokenizer.
Status verifyStorage(const schema::Artifact &artifact, uint64_t segmentBytes);

/// Commands, bindings and ports of all programs.
Status verifyPrograms(const schema::Artifact &artifact);

/// The envelope, the states it asks for, and that every program is there.
Status verifyEnvelope(const schema::Artifact &artifact);

/// Puts a step of a path before a failure's message, which may start with the
/// rest of the path: "commands[12]" and "bindings[2]: ..." give
/// "commands[12].bindings[2]: ...".
Status withPath(const Status &status, std::string_view step);

/// The length of a vector that may be absent.
template <typename T>
uint32_t vectorSize(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// Whether [offset, offset + bytes) lies in [0, size).
inline bool inRange(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_SEMANTICVERIFIER_H
