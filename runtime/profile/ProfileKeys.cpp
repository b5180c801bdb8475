//===- ProfileKeys.cpp - What a profile's numbers belong to ---------------===//

#include "runtime/profile/ProfileKeys.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/ArtifactFormat.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

using namespace mtp;
using namespace mtp::profile;

namespace {
/// Collects numbers and texts for a hash. Texts carry their lengths.
class HashInput {
public:
  void clear() { values.clear(); }
  void add(uint64_t number) { values.push_back(number); }
  void add(std::string_view text) {
    add(text.size());
    add(hashBytes(text.data(), text.size()));
  }
  void add(std::span<const Count> counts) {
    for (Count count : counts) {
      add(uint64_t(count.base));
      add(uint64_t(count.step));
    }
  }
  uint64_t hash() const {
    return hashBytes(values.data(), values.size() * sizeof(uint64_t));
  }

private:
  std::vector<uint64_t> values;
};
} // namespace

/// Returns a drafting method without the confidence at which drafts end:
/// sessions may choose another one, and measurements do not depend on it.
static std::string withoutThreshold(std::string method) {
  constexpr std::string_view kConfidence = ":confidence:";
  if (size_t at = method.find(kConfidence); at != std::string::npos) {
    size_t from = at + kConfidence.size() - 1;
    size_t to = method.find_first_of(": ", from + 1);
    method.erase(from, to == std::string::npos ? to : to - from);
  }
  return method;
}

ModelKey profile::modelKeyOf(const Artifact &artifact, const Plan &plan) {
  ModelKey key;
  if (artifact.model)
    key.name = artifact.model->str();
  if (key.name.size() > kMostNameBytes)
    key.name.resize(kMostNameBytes);
  key.drafter =
      withoutThreshold(std::string(artifact.method)).substr(0, kMostNameBytes);
  std::set<uint32_t> segments;
  for (uint32_t i = 0; i < vectorSize(plan.weights); ++i)
    segments.insert(plan.weights->Get(i)->segment());
  HashInput weights;
  for (uint32_t segment : segments)
    weights.add(artifact.segments->Get(segment)->hash());
  key.weights = weights.hash();
  if (artifact.tokenizer >= 0)
    key.tokenizer =
        artifact.segments->Get(uint32_t(artifact.tokenizer))->hash();
  return key;
}

static std::string describe(const ModelKey &key) {
  char hashes[64];
  std::snprintf(hashes, sizeof(hashes), "weights %016llx, tokenizer %016llx",
                static_cast<unsigned long long>(key.weights),
                static_cast<unsigned long long>(key.tokenizer));
  return strCat("'", key.name.empty() ? "unnamed" : key.name, "' (", hashes,
                ", drafter '", key.drafter, "')");
}

Status profile::checkModel(const ModelKey &expected, const ModelKey &given) {
  if (expected.isSame(given))
    return okStatus();
  return failedPrecondition(strCat("model: expected a profile of ",
                                   describe(expected), ", got one of ",
                                   describe(given)));
}

/// Returns the hash of a kernel's name and configuration.
static uint64_t kernelKey(const schema::Kernel &kernel) {
  HashInput input;
  input.add(kernel.symbol()->string_view());
  input.add(kernel.kind() ? kernel.kind()->string_view() : std::string_view());
  input.add(kernel.config() ? kernel.config()->string_view()
                            : std::string_view());
  return input.hash();
}

ProgramKeys::ProgramKeys(const Plan &plan) {
  struct KernelKey {
    uint64_t hash;
    uint32_t params;
  };
  std::vector<KernelKey> kernels;
  kernels.reserve(vectorSize(plan.kernels));
  for (uint32_t i = 0; i < vectorSize(plan.kernels); ++i) {
    const schema::Kernel &kernel = *plan.kernels->Get(i);
    kernels.push_back({kernelKey(kernel), kernel.params()});
  }
  HashInput input;
  keys.reserve(plan.programs.size());
  for (const Program &program : plan.programs) {
    input.clear();
    input.add(uint64_t(program.kind));
    input.add(program.k);
    std::span<const Count> params(program.params);
    for (const Command &command : program.commands) {
      const KernelKey &kernel = kernels[command.kernel];
      input.add(kernel.hash);
      input.add(params.subspan(command.firstParam, kernel.params));
    }
    keys.push_back(input.hash());
  }
  sorted = keys;
  std::ranges::sort(sorted);
}

bool ProgramKeys::contains(uint64_t key) const {
  return std::ranges::binary_search(sorted, key);
}

std::string profile::processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2, kMostNameBytes);
  }
  return "unknown processor";
}
