//===- SemanticVerifier.h - Checks an artifact's meaning --------*- C++ -*-===//
//
// The FlatBuffers verifier proves that tables and vectors lie inside the
// buffer. The semantic verifier proves the rest. Every index, offset, size
// and enum is in range. Every program stays inside its memory for every n of
// its range. There is a program for every point of the envelope. The verifier
// runs once; later code does not check again.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_ARTIFACT_SEMANTICVERIFIER_H
#define MTP_RUNTIME_ARTIFACT_SEMANTICVERIFIER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace mtp {

/// Checks the structure, then the meaning, of a FlatBuffer. The bytes start at
/// a multiple of 8 and must outlive the result. `segmentBytes` is the size of
/// the file after the segment base. Messages start with a path:
/// "plans[0].programs[3].commands[12].bindings[2]: ...".
Result<Artifact> readTables(std::span<const uint8_t> tables,
                            uint64_t segmentBytes);

/// Checks as readTables() does, without the result.
Status verifyTables(std::span<const uint8_t> tables, uint64_t segmentBytes);

//===----------------------------------------------------------------------===//
// Checks that readTables() consists of
//===----------------------------------------------------------------------===//

/// Fails if two names are equal, or if a name is long or not printable.
Status verifyNames(const char *what,
                   const std::vector<std::string_view> &names);

/// Checks what plans share: segments, caches, tokenizer.
Status verifyShared(const Artifact &artifact, uint64_t segmentBytes);

/// Checks sizes and names of the chat templates, which are not parsed.
Status verifyChat(const schema::Chat *chat);

/// Reads and checks the states. Needs the envelope.
Status readStates(const schema::Artifact &root, Artifact &artifact);

/// Checks images, blobs, kernels, memories, and the offsets of the states.
Status verifyStorage(const Artifact &artifact, const Plan &plan);

/// Reads the programs of a plan. Its kernels must have passed verifyStorage.
/// `tableBytes` bounds the work.
Status readPrograms(const schema::Plan &source, uint64_t tableBytes,
                    Plan &plan);

/// Checks commands, places and ports of all programs.
Status verifyPrograms(const Artifact &artifact, const Plan &plan);

/// Checks that a kernel of an image has a contract, which names only buffers
/// and params of the kernel.
Status verifyContract(const Plan &plan, const schema::Kernel &kernel);

struct CommandContext;

/// Checks of plans for a GPU: an image's format, a kernel's launch, and the
/// rest of a plan before its programs are read.
Status verifyFormatOf(const Plan &plan, const schema::Image &image);
Status verifyLaunch(const Plan &plan, const schema::Kernel &kernel);
Status verifyGpuPlan(const Plan &plan);
/// Checks of a GPU library's products: a kernel that is a product, a command
/// that calls it and keeps its contract, and the plan's algorithms.
Status verifyGemm(const Plan &plan, const schema::Kernel &kernel);
Status verifyGemmCall(const CommandContext &context);
Status verifyGemmAlgorithms(const Plan &plan);

/// A command of a program, with the context that its checks need.
struct CommandContext {
  const Artifact &artifact;
  const Plan &plan;
  const Program &program;
  const Command &command;

  const schema::Kernel &kernel() const { return plan.kernelOf(command); }
  std::span<const Place> places() const {
    return program.placesOf(command, kernel());
  }
  std::span<const Count> params() const {
    return program.paramsOf(command, kernel());
  }
  /// Return the smallest and the largest n.
  uint64_t first() const { return program.begin; }
  uint64_t last() const { return program.end - 1; }
};

/// Checks at every n that a command keeps the contract of its kernel. Its
/// places must be in range.
Status verifyAgainstContract(const CommandContext &context);

/// Checks a builtin kernel's command at every n of its program.
Status checkBuiltin(const CommandContext &context);

/// Checks that a GPU can start one block for each task of a command. The
/// command must keep its contract.
Status verifyBlocks(const CommandContext &context);

/// Calls `found` with the index of every constant that a command uses as page
/// numbers. The artifact must have passed the other checks.
void forPageTables(const Plan &plan,
                   const std::function<void(uint32_t)> &found);

/// Checks that kernels may write to a place: the arena, a cache, or a state
/// that is not the host's.
Status verifyWritable(const Artifact &artifact, const Place &place);

/// Checks the limits of the envelope, the generation settings and the states
/// that the host needs. Sets how far prefills read ahead.
Status verifyEnvelope(Artifact &artifact);

/// Checks that there is a program for every point of the envelope.
Status verifyCoverage(const Artifact &artifact, const Plan &plan);

/// Checks that programs and host agree on the layout of the states that they
/// share. The artifact must have passed the other checks.
Status verifyHostStates(const Artifact &artifact, const Plan &plan);

/// Returns the bytes of a buffer that a kernel may touch at n, from the
/// buffer's start. The command must keep the contract.
uint64_t touchedBytes(const schema::BufferContract &buffer,
                      const CommandContext &context, uint64_t n);

/// The index of a term that names no param.
inline constexpr uint32_t kNoParam = 255;

/// Whether a count is at least `least` and at most `most` from n = `first` to n
/// = `last`.
bool isWithin(const Count &count, uint64_t first, uint64_t last, int64_t least,
              int64_t most);

/// Puts a step of a path before a failure's message, which may start with the
/// rest of the path: "commands[12]" and "bindings[2]: ..." give
/// "commands[12].bindings[2]: ...".
Status withPath(const Status &status, std::string_view step);

/// Returns the length of a vector that may be absent.
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
