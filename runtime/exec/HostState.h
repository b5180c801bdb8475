//===- HostState.h - The states that the host writes and reads --*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_HOSTSTATE_H
#define MTP_RUNTIME_EXEC_HOSTSTATE_H

#include "runtime/device/Device.h"
#include "runtime/device/SamplingRow.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mtp {

/// The host's side of the table "States" in runtime/schema/FORMAT.md.
class HostState {
public:
  /// Both must outlive it. Needs an artifact with an envelope.
  HostState(const schema::Artifact &artifact, Executable &executable);

  void setActive(std::span<const int32_t> slots);
  void setPageTable(uint32_t slot, std::span<const int32_t> table);
  void setSampling(uint32_t slot, const SamplingRow &row);

  /// The chunk `tokens[start .. start+count)` of a prompt, with the tokens
  /// behind it that drafter modules read.
  void setPrefill(uint32_t slot, uint32_t start, uint32_t count,
                  std::span<const int32_t> tokens);

  /// What the last round emitted for a slot. Empty when the program broke its
  /// promise to emit 1 to K+1 tokens.
  std::span<const int32_t> emitted(uint32_t slot);

private:
  /// Where a row of a state begins.
  schema::Binding row(uint32_t state, uint64_t index) const;
  uint32_t find(std::string_view name) const;

  const schema::Artifact &artifact;
  Executable &executable;
  uint32_t active, pageTable, sampling, info, tokens, outTokens, outCount;
  std::vector<int32_t> buffer;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_HOSTSTATE_H
