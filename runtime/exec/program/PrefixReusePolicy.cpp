//===- PrefixReusePolicy.cpp - What a session may share -------------------===//

#include "runtime/exec/program/PrefixReusePolicy.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace mtp;

namespace {
/// The states and layers that a program names.
struct Names {
  explicit Names(const Program &program) {
    for (const Place &place : program.places) {
      if (place.space == schema::Space::State)
        states.insert(place.index);
      if (place.space == schema::Space::Kv)
        layers.emplace(place.index, place.offset.base);
    }
  }

  std::set<uint32_t> states;
  /// Pairs of a cache and a layer.
  std::set<std::pair<uint32_t, int64_t>> layers;
};
} // namespace

PrefixReusePolicy mtp::prefixReusePolicy(const Artifact &artifact,
                                         const ProgramTable &programs,
                                         uint32_t k) {
  uint32_t chunk = artifact.envelope->prefill_chunk();
  Names prefill(programs.program(programs.prefill(chunk, k > 0)));
  PrefixReusePolicy rule;
  // A prefill that does not distinguish drafts reads ahead in any case.
  bool readsAhead = k > 0 || !programs.hasDraftingPrefill();
  rule.lookahead = readsAhead ? artifact.ahead : 0;
  for (auto [cache, layer] : prefill.layers)
    rule.filled.emplace_back(cache, uint32_t(layer));
  std::set<uint32_t> states = prefill.states;
  for (uint32_t drafts = 0; drafts <= k; ++drafts) {
    Names round(programs.program(programs.decode(1, drafts)));
    rule.layers.push_back(
        size_t(std::ranges::count_if(prefill.layers, [&](const auto &layer) {
          return round.layers.contains(layer);
        })));
    rule.roundsFill.push_back(rule.layers.back() == prefill.layers.size());
    states.insert(round.states.begin(), round.states.end());
  }
  rule.layers.push_back(prefill.layers.size());
  for (uint32_t state : states) {
    const StateRule &of = artifact.states[state].rule;
    if (of.shared)
      continue;
    if (of.rebuild == schema::Rebuild::Never)
      rule.isAllowed = false;
    if (of.rebuild == schema::Rebuild::Run)
      rule.needsSnapshots = true;
    if (of.rebuild == schema::Rebuild::Rows)
      rule.rerun = std::max(rule.rerun, of.rows);
  }
  return rule;
}
