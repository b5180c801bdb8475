//===- ProgramTable.h - Find programs, states and ports ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAMTABLE_H
#define MTP_RUNTIME_EXEC_PROGRAMTABLE_H

#include "runtime/core/Result.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace mtp {

/// Looks up what a session needs of a verified artifact.
class ProgramTable {
public:
  explicit ProgramTable(const schema::Artifact &artifact);

  /// The program of exactly that shape. The verifier guarantees it within the
  /// envelope.
  uint32_t decode(uint32_t batch, uint32_t k) const;
  uint32_t prefill(uint32_t chunk, uint32_t modules) const;

  /// Whether prompts can be cut into chunks of this size.
  bool hasChunk(uint32_t chunk) const;
  /// All chunk sizes, ascending.
  std::vector<uint32_t> chunks() const;

  /// The chunk that the next `rest` tokens of a prompt should go through, of
  /// those up to `largest`, which must be one. README.md has the rule.
  uint32_t nextChunk(uint64_t rest, uint32_t largest) const;

  /// The exported function, or NotFound.
  Result<uint32_t> function(std::string_view name) const;

  /// The rows of logits that a Decode or Prefill program leaves.
  const schema::Binding &logits(uint32_t program) const {
    return logitsOf.at(program);
  }

private:
  static uint64_t key(uint32_t a, uint32_t b) { return uint64_t(a) << 32 | b; }

  std::vector<uint32_t> chunkSizes;
  std::unordered_map<uint64_t, uint32_t> decodes;
  std::unordered_map<uint64_t, uint32_t> prefills;
  std::unordered_map<std::string_view, uint32_t> functions;
  std::unordered_map<uint32_t, schema::Binding> logitsOf;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAMTABLE_H
