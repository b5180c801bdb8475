//===- SlotStates.cpp - What a slot begins with ---------------------------===//

#include "runtime/exec/memory/SlotStates.h"

#include "runtime/schema/LogitRules.h"

#include <algorithm>
#include <cstring>

using namespace mtp;

template <typename T>
static void fill(std::vector<uint8_t> &bytes, double value) {
  T element = T(value);
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T))
    std::memcpy(&bytes[at], &element, sizeof(T));
}

/// Returns `size` bytes of elements of that value. The verifier has made sure
/// that the type has it; types without a case here begin with 0.
static std::vector<uint8_t> filled(uint64_t size, schema::DType type,
                                   double value) {
  std::vector<uint8_t> bytes(size);
  if (type == schema::DType::F32)
    fill<float>(bytes, value);
  else if (type == schema::DType::I32)
    fill<int32_t>(bytes, value);
  else if (type == schema::DType::I64)
    fill<int64_t>(bytes, value);
  return bytes;
}

static Binding rangeOf(uint32_t state, uint64_t index, uint64_t bytes) {
  return {schema::Space::State, state, index * bytes, bytes};
}

Result<std::unique_ptr<SlotStates>> SlotStates::create(const Artifact &artifact,
                                                       Executable &executable) {
  std::unique_ptr<SlotStates> states(new SlotStates(executable));
  MTP_RETURN_IF_ERROR(states->start(artifact));
  return states;
}

Status SlotStates::start(const Artifact &artifact) {
  uint64_t slots = artifact.envelope->max_batch();
  for (uint32_t i = 0; i < artifact.states.size(); ++i) {
    const State &state = artifact.states[i];
    const StateRule &rule = state.rule;
    // Programs write the first value of a recurrent state, RuleStates the first
    // value of a state of rules. Both may be large.
    if (rule.rebuild == schema::Rebuild::Run || isRuleState(state.name))
      continue;
    if (!rule.shared) {
      bool isSaved = rule.rebuild == schema::Rebuild::Save;
      states.push_back({i, filled(state.bytes / slots, state.dtype, rule.init),
                        rule.rebuild == schema::Rebuild::Tokens, isSaved});
      saved += isSaved ? state.bytes / slots : 0;
      continue;
    }
    // The memory of states is zeroed.
    if (rule.init == 0)
      continue;
    std::vector<uint8_t> initial = filled(state.bytes, state.dtype, rule.init);
    MTP_RETURN_IF_ERROR(executable.write(rangeOf(i, 0, state.bytes),
                                         initial.data(), state.bytes));
  }
  return okStatus();
}

Status SlotStates::admit(uint32_t slot, std::span<const int32_t> tokens,
                         const InputBytes &inputs) {
  for (const PerSlot &state : states) {
    uint64_t size = state.initial.size();
    const uint8_t *source = state.initial.data();
    if (state.hasTokens) {
      buffer = state.initial;
      std::memcpy(buffer.data(), tokens.data(),
                  std::min<uint64_t>(tokens.size_bytes(), size));
      source = buffer.data();
    }
    if (auto given = inputs.find(state.state); given != inputs.end())
      source = given->second.data();
    MTP_RETURN_IF_ERROR(
        executable.write(rangeOf(state.state, slot, size), source, size));
  }
  return okStatus();
}

Status SlotStates::setInput(uint32_t slot, uint32_t state,
                            std::span<const uint8_t> bytes) {
  return executable.write(rangeOf(state, slot, bytes.size()), bytes.data(),
                          bytes.size());
}

template <typename CopyFn>
Status SlotStates::forEachSaved(uint32_t slot, CopyFn copy) {
  uint64_t at = 0;
  for (const PerSlot &state : states) {
    if (!state.isSaved)
      continue;
    uint64_t size = state.initial.size();
    MTP_RETURN_IF_ERROR(copy(rangeOf(state.state, slot, size), at));
    at += size;
  }
  return okStatus();
}

Status SlotStates::save(uint32_t slot, std::vector<uint8_t> &bytes) {
  bytes.resize(saved);
  return forEachSaved(slot, [&](const Binding &range, uint64_t at) {
    return executable.read(range, bytes.data() + at, range.bytes);
  });
}

Status SlotStates::restore(uint32_t slot, std::span<const uint8_t> bytes) {
  return forEachSaved(slot, [&](const Binding &range, uint64_t at) {
    return executable.write(range, bytes.data() + at, range.bytes);
  });
}
