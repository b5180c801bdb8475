//===- ReuseRule.cpp - What a session may share ---------------------------===//

#include "runtime/exec/ReuseRule.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/artifact/StateRule.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace mtp;

namespace {
/// What a program names.
struct Names {
  explicit Names(const schema::Program &program) {
    for (uint32_t i = 0; i < vectorSize(program.commands()); ++i) {
      const auto *bindings = program.commands()->Get(i)->bindings();
      for (uint32_t b = 0; b < vectorSize(bindings); ++b)
        add(*bindings->Get(b));
    }
  }
  void add(const schema::Binding &binding) {
    if (binding.space() == schema::Space::State)
      states.insert(binding.index());
    if (binding.space() == schema::Space::Kv)
      layers.emplace(binding.index(), binding.offset());
  }

  std::set<uint32_t> states;
  /// Caches and layers.
  std::set<std::pair<uint32_t, uint64_t>> layers;
};
} // namespace

ReuseRule mtp::reuseRule(const schema::Artifact &artifact,
                         const ProgramTable &programs, uint32_t k) {
  uint32_t ahead = k == 0 ? 0 : placesAhead(artifact);
  uint32_t chunk = artifact.envelope()->prefill_chunk();
  Names prefill(*artifact.programs()->Get(programs.prefill(chunk, ahead)));
  Names round(*artifact.programs()->Get(programs.decode(1, k)));
  ReuseRule rule;
  rule.lookahead = ahead;
  rule.roundsFill = std::includes(round.layers.begin(), round.layers.end(),
                                  prefill.layers.begin(), prefill.layers.end());
  for (const Names *names : {&prefill, &round})
    for (uint32_t state : names->states) {
      StateRule of = ruleOf(*artifact.states()->Get(state));
      if (of.shared)
        continue;
      if (of.rebuild == schema::Rebuild::Never)
        rule.isAllowed = false;
      if (of.rebuild == schema::Rebuild::Rows)
        rule.rerun = std::max(rule.rerun, of.rows);
    }
  return rule;
}
