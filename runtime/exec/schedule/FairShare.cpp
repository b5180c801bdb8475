//===- FairShare.cpp - Tokens by who asks for them ------------------------===//

#include "runtime/exec/schedule/FairShare.h"

#include <algorithm>

using namespace mtp;

void FairShare::enter(uint64_t group) {
  uint64_t least = UINT64_MAX;
  for (const auto &[name, other] : groups)
    if (other.sequences > 0)
      least = std::min(least, other.had);
  Group &own = groups[group];
  if (own.sequences++ == 0 && least != UINT64_MAX)
    own.had = std::max(own.had, least);
}

void FairShare::leave(uint64_t group) {
  --groups[group].sequences;
  // Counts matter only while a group has sequences.
  auto isAway = [](const auto &entry) { return entry.second.sequences == 0; };
  if (std::ranges::all_of(groups, isAway))
    groups.clear();
}

uint64_t FairShare::had(uint64_t group) const {
  auto found = groups.find(group);
  return found == groups.end() ? 0 : found->second.had;
}
