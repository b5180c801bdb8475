//===- Snapshots.cpp - Recurrent states behind prefixes -------------------===//

#include "runtime/exec/Snapshots.h"

using namespace mtp;

Snapshots::Snapshots(const Artifact &artifact, Executable &executable,
                     uint64_t budget)
    : executable(executable), budget(budget) {
  if (!artifact.envelope)
    return;
  uint64_t slots = artifact.envelope->max_batch();
  for (uint32_t i = 0; i < artifact.states.size(); ++i) {
    const State &state = artifact.states[i];
    if (state.rule.rebuild != schema::Rebuild::Run)
      continue;
    parts.push_back({i, state.bytes / slots});
    size += parts.back().bytes;
  }
}

/// What a slot has of a state.
static Binding rangeOf(uint32_t state, uint32_t slot, uint64_t bytes) {
  return {schema::Space::State, state, slot * bytes, bytes};
}

/// Nobody else's copy was used later.
void Snapshots::use(Copy &copy, uint32_t page) {
  if (copy.tick)
    byUse.erase(copy.tick);
  copy.tick = ++clock;
  byUse.emplace(copy.tick, page);
}

Result<bool> Snapshots::store(uint32_t slot, uint32_t page,
                              const MemoryLimit &memory) {
  if (!isOn())
    return false;
  forget(page);
  while ((copies.size() + 1) * size > budget)
    forget(byUse.begin()->second);
  auto reserve = [&] {
    return hostMemory().reserve(size, "a snapshot of recurrent states", memory);
  };
  Result<MemoryReservation> reserved = reserve();
  if (!reserved.isOk() && !copies.empty()) {
    forget(byUse.begin()->second);
    reserved = reserve();
  }
  if (!reserved.isOk())
    return false;
  Copy copy{std::vector<uint8_t>(size), std::move(*reserved), 0};
  uint64_t at = 0;
  for (const Part &part : parts) {
    MTP_RETURN_IF_ERROR(executable.read(rangeOf(part.state, slot, part.bytes),
                                        copy.bytes.data() + at, part.bytes));
    at += part.bytes;
  }
  use(copies.emplace(page, std::move(copy)).first->second, page);
  return true;
}

Status Snapshots::restore(uint32_t slot, uint32_t page) {
  Copy &copy = copies.at(page);
  uint64_t at = 0;
  for (const Part &part : parts) {
    MTP_RETURN_IF_ERROR(executable.write(rangeOf(part.state, slot, part.bytes),
                                         copy.bytes.data() + at, part.bytes));
    at += part.bytes;
  }
  use(copy, page);
  return okStatus();
}

void Snapshots::forget(uint32_t page) {
  auto found = copies.find(page);
  if (found == copies.end())
    return;
  byUse.erase(found->second.tick);
  copies.erase(found);
}
