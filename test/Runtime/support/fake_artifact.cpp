//===- fake_artifact.cpp - Write the fake model to a file -----------------===//
//
// With --profile, writes a small profile of the model, too.
//
//===----------------------------------------------------------------------===//

#include "FakeModel.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/core/Processors.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"

#include <cstdio>
#include <fstream>
#include <string_view>

using namespace mtp;

static bool write(const char *path, const std::vector<uint8_t> &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  return file.good();
}

/// Adds the costs of rounds and launches of a GPU.
static void addGpu(profile::Profile &made) {
  profile::MachineCosts &gpu = made.machines.emplace_back();
  gpu.setKey({"a GPU", 0, {13000, 1'980'000, 2'619'000}});
  for (uint32_t batch : {1, 2, 4})
    for (uint32_t k = 0; k <= 2; ++k) {
      profile::Cost &cost = gpu.costs.emplace_back();
      cost.batch = batch;
      cost.k = k;
      cost.rows = batch * (k + 1);
      cost.lower = cost.median = cost.upper = 1e-3 + 1e-4 * cost.rows;
      cost.count = 20;
      cost.nodes = 100 * (k + 1);
      made.load.rounds[{batch, k}] = 10;
    }
  for (uint32_t rounds : {1u, 8u}) {
    profile::LaunchCost &cost = gpu.launches.emplace_back();
    cost.rounds = rounds;
    cost.lower = cost.median = cost.upper = 1e-4 + 1e-3 * rounds;
    cost.count = 9;
  }
}

/// Writes a profile with costs of this machine: a round of k drafts costs
/// 1 + k / 4 steps.
static bool writeProfile(const char *artifact, const char *path) {
  auto file = ArtifactFile::open(artifact);
  if (!file)
    return false;
  const Plan &plan = (*file)->artifact().plans[0];
  profile::Profile made;
  made.model = profile::modelKeyOf((*file)->artifact(), plan);
  made.check.tried = {100, 60};
  made.check.accepted = {60, 30};
  made.outcomes.push_back(made.check);
  profile::MachineCosts machine;
  machine.name = profile::processorName();
  machine.threads = usableProcessors();
  std::vector<uint64_t> keys = profile::ProgramKeys(plan).all();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Program &program = plan.programs[i];
    if (program.kind != schema::ProgramKind::Decode)
      continue;
    profile::Cost cost;
    cost.program = keys[i];
    cost.batch = program.begin;
    cost.k = program.k;
    cost.rows = cost.batch * (cost.k + 1);
    cost.lower = cost.median = cost.upper = 0.001 * (1 + 0.25 * cost.k);
    cost.count = 20;
    machine.costs.push_back(cost);
  }
  profile::Alternative other;
  other.tunable = "cpu-block-rows";
  other.value = 4;
  other.ratio = 0.98;
  other.error = 0.01;
  other.pairs = 12;
  machine.alternatives.push_back(other);
  machine.gemms.push_back({13, "a GPU", 16, 24, 64, 1024, {1, 2, 3}});
  made.machines.push_back(machine);
  addGpu(made);
  made.load.outputs = {0, 2, 3};
  made.confidence.tried[3] = made.confidence.tried[12] = 60;
  made.confidence.accepted[12] = 50;
  made.tokens.counts = {{3, {90, 60, 40}}, {5, {60, 40, 30}}};
  made.head = {64, 0.5};
  return write(path, profile::writeProfile(made));
}

int main(int argc, char **argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: fake_artifact OUTPUT [--profile FILE | "
                                "FEATURE]...\n"),
           2;
  test::ArtifactBuilder artifact = test::makeFakeModel({});
  const char *profile = nullptr;
  for (int i = 2; i < argc; ++i)
    if (std::string_view(argv[i]) == "--profile" && i + 1 < argc)
      profile = argv[++i];
    else
      artifact.features.push_back(argv[i]);
  if (!write(argv[1], artifact.finish()))
    return 1;
  return !profile || writeProfile(argv[1], profile) ? 0 : 1;
}
