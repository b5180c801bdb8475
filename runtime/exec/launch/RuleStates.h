//===- RuleStates.h - The rules of a slot's logits --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_RULESTATES_H
#define MTP_RUNTIME_EXEC_LAUNCH_RULESTATES_H

#include "mtp/session.h"
#include "runtime/device/Device.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mtp {

/// Whether the logits of the request's rows change before tokens are picked.
bool hasRules(const Request &request);

/// Returns the names of the request's rules by which tokens cannot be picked
/// after `output` tokens: "allowed tokens, min tokens". Empty if it has none.
std::string nameTokenRules(const Request &request, size_t output);

/// Returns whether bias, allowed tokens, bad words of one token, and `ends`
/// that may not be picked at first leave a token of `vocab` tokens. Tokens that
/// the request names must be below `vocab`.
bool leaveToken(const Request &request, std::span<const int32_t> ends,
                uint64_t vocab);

/// Writes the states from which programs change logits
/// (runtime/schema/LogitRules.h).
class RuleStates {
public:
  /// Both must outlive it. Needs an artifact with an envelope.
  RuleStates(const Artifact &artifact, Executable &executable);

  /// Whether the artifact's programs apply rules.
  bool exist() const { return rules.has_value(); }

  /// Writes the rules of a sequence that gets a slot. A prefill will run
  /// `tokens`, of which the first `prompt` are the prompt; `ends` are the
  /// tokens that end the sequence. Returns the device's errors.
  Status write(uint32_t slot, const Request &request,
               std::span<const int32_t> tokens, std::span<const int32_t> ends);

private:
  Status writeWords(uint32_t state, uint32_t slot,
                    const std::vector<int32_t> &words, uint64_t width);

  Executable &executable;
  uint64_t vocab;
  std::optional<uint32_t> rules;
  uint32_t counts = 0, bias = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_RULESTATES_H
