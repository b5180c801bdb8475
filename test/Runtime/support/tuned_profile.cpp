//===- tuned_profile.cpp - Write a profile that prefers values ------------===//
//
// Writes a profile of an artifact's model, in which a value of a tunable takes
// RATIO of the default's time. THREADS is 0 for a GPU. TOKENS=n: drafts of the
// first n tokens are accepted, and the drafter's head is most of its cost.
// CHAIN=a,b and BLOCK=a,b: a percent of the first drafts are accepted, and then
// b percent of the second ones, in rounds of four slots or of one slot.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace mtp;

/// Adds the cost of a round of `k` drafts of each slot.
static void addCost(profile::MachineCosts &machine, uint32_t batch, uint32_t k,
                    double seconds) {
  profile::Cost cost;
  cost.batch = batch;
  cost.k = k;
  cost.rows = batch * (k + 1);
  cost.lower = cost.median = cost.upper = seconds;
  cost.count = 30;
  machine.costs.push_back(cost);
}

/// Adds costs, and outcomes of the drafts of a chain or a block. A row takes
/// 0.2 ms, a chain's pass 0.3 ms, and a block 4 ms.
static void addDrafts(profile::Profile &made, profile::MachineCosts &machine,
                      const char *rates, bool isBlock) {
  profile::Outcomes &outcomes = made.outcomes.emplace_back();
  uint64_t tried = 10'000;
  for (char *end = nullptr; *rates; rates = *end ? end + 1 : end) {
    outcomes.tried.push_back(tried);
    tried = tried * uint64_t(std::strtoul(rates, &end, 10)) / 100;
    outcomes.accepted.push_back(tried);
  }
  made.load.slots.resize(isBlock ? 1 : 3);
  made.load.slots.back() = 100;
  auto most = uint32_t(outcomes.tried.size());
  for (uint32_t batch : {1, 2, 4})
    for (uint32_t k = 0; k <= most; ++k) {
      double drafter = isBlock ? (k > 0 ? 4e-3 : 0) : 3e-4 * k;
      addCost(machine, batch, k, 5e-3 + 2e-4 * (batch * (k + 1) - 1) + drafter);
    }
}

/// Adds costs, and outcomes of drafts whose accepted ones are `count` tokens. A
/// tree's nodes have two ranks at the first depth.
static void addVocabulary(profile::Profile &made,
                          profile::MachineCosts &machine, uint32_t vocab,
                          uint32_t count) {
  made.head = {vocab, 0.9};
  made.outcomes.push_back({false, 5, {10'000, 8000}, {8000, 6000}});
  for (uint32_t token = 0; token < count; ++token)
    made.tokens.counts[token] = {14'000, 14'000, 14'000 / count};
  for (uint32_t batch : {1, 2})
    for (uint32_t k = 0; k <= 2; ++k)
      addCost(machine, batch, k, 1e-3 + 5e-4 * k);
  const std::string &name = made.model.drafter;
  if (name.find(":tree:") != name.npos || name.find(":dynamic:") != name.npos)
    made.nodes.counts = {{{0}, {10'000, 6000}},
                         {{1}, {10'000, 2000}},
                         {{0, 0}, {6000, 4500}},
                         {{1, 0}, {2000, 1500}}};
}

int main(int argc, char **argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: tuned_profile ARTIFACT PROFILE THREADS "
                                "(NAME=VALUE=RATIO|TOKENS=N|CHAIN=RATES|"
                                "BLOCK=RATES)...\n"),
           2;
  auto file = ArtifactFile::open(argv[1]);
  if (!file)
    return std::fprintf(stderr, "%s\n", file.status().toString().c_str()), 1;
  const Artifact &artifact = (*file)->artifact();
  profile::Profile made;
  made.model = profile::modelKeyOf(artifact, artifact.plans[0]);
  profile::MachineCosts machine;
  machine.threads = uint32_t(std::atoi(argv[3]));
  machine.name = machine.threads ? profile::processorName() : "a GPU";
  for (int i = 4; i < argc; ++i) {
    std::string text = argv[i];
    size_t value = text.find('='), ratio = text.rfind('=');
    if (text.starts_with("TOKENS=")) {
      addVocabulary(made, machine, artifact.envelope->vocab(),
                    uint32_t(std::atoi(text.c_str() + value + 1)));
      continue;
    }
    if (text.starts_with("CHAIN=") || text.starts_with("BLOCK=")) {
      addDrafts(made, machine, text.c_str() + value + 1,
                text.starts_with("BLOCK="));
      continue;
    }
    profile::Alternative one;
    one.tunable = text.substr(0, value);
    one.value = std::atoll(text.c_str() + value + 1);
    one.ratio = std::atof(text.c_str() + ratio + 1);
    one.error = 0.001;
    one.pairs = 20;
    machine.alternatives.push_back(one);
  }
  made.machines.push_back(machine);
  std::vector<uint8_t> bytes = profile::writeProfile(made);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char *>(bytes.data()),
            std::streamsize(bytes.size()));
  return out.good() ? 0 : 1;
}
