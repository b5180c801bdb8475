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
#include <functional>
#include <span>
#include <string_view>

namespace mtp {

/// Checks an artifact that the FlatBuffers verifier has passed. `segmentBytes`
/// is what the file holds behind the segment base. Messages start with a path:
/// "programs[3].commands[12].bindings[2]: ...".
Status verifySemantics(const schema::Artifact &artifact, uint64_t segmentBytes);

/// Checks the bytes of a FlatBuffer, which start at a multiple of 8: its
/// structure, then its meaning.
Status verifyTables(std::span<const uint8_t> tables, uint64_t segmentBytes);

//===----------------------------------------------------------------------===//
// Its parts
//===----------------------------------------------------------------------===//

/// Segments, images, blobs, states, caches, kernels, tokenizer.
Status verifyStorage(const schema::Artifact &artifact, uint64_t segmentBytes);

/// Commands, bindings and ports of all programs.
Status verifyPrograms(const schema::Artifact &artifact);

/// That a kernel's contract speaks of what the kernel has. Absent is fine.
Status verifyContract(const schema::Artifact &artifact,
                      const schema::Kernel &kernel);

/// That a command, whose bindings are in range, asks its kernel for nothing
/// that the contract does not allow. `kind` is that of its program.
Status verifyAgainstContract(const schema::Artifact &artifact,
                             const schema::Command &command,
                             schema::ProgramKind kind);

/// Calls `found` with the index of every constant that a command takes for page
/// numbers. The artifact must have passed the other checks.
void forPageTables(const schema::Artifact &artifact,
                   const std::function<void(uint32_t)> &found);

/// Whether kernels may write to what a binding names: the arena, caches, and
/// states that are not the host's.
Status verifyWritable(const schema::Artifact &artifact,
                      const schema::Binding &binding);

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
