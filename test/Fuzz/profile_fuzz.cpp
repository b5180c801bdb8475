//===- profile_fuzz.cpp - Fuzz the reader of profiles ---------------------===//
//
// Wraps the input as the FlatBuffer of a well-formed file and reads it. The
// first byte chooses the form: with 0 the rest is a whole file instead. A
// profile that is read can be written, merged and read again. Whatever its
// numbers are, each choice from it is within its limits.
//
//===----------------------------------------------------------------------===//

#include "runtime/profile/Alternatives.h"
#include "runtime/profile/CaptureChoice.h"
#include "runtime/profile/LaunchChoice.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/RowLimit.h"
#include "runtime/profile/ThresholdChoice.h"
#include "runtime/profile/TreeChoice.h"
#include "runtime/profile/VocabularyChoice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace mtp;

/// Slots of the model, and limits of small searches.
static constexpr uint32_t kSlots = 4;
static const profile::TreeLimits kTrees = {.nodes = 8, .depth = 4};

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static bool isSpeed(double gain) { return gain > 0 && std::isfinite(gain); }

static void chooseDrafts(const profile::Profile &of,
                         const profile::MachineCosts &machine) {
  auto trees = profile::chooseTree(of, machine, kTrees, kSlots, {});
  if (trees) {
    require(isSpeed(trees->tree.gain) && isSpeed(trees->chain.gain));
    require(trees->tree.paths.size() <= kTrees.nodes);
    require(!profile::treeText(*trees).empty());
  }
  auto threshold = profile::chooseThreshold(of, machine, {});
  if (threshold) {
    const profile::Threshold &best = threshold->best;
    require(best.least >= 0 && best.least < 1 && best.k >= 1 && best.k <= 16);
    require(isSpeed(best.gain) && isSpeed(threshold->gain));
    require(std::isfinite(threshold->doubt));
  }
  auto rows = profile::chooseRowLimit(of, machine, {{0}, {0, 0}}, kSlots);
  require(!rows || (rows->rows <= rows->allRows && isSpeed(rows->gain)));
  auto words = profile::chooseVocabulary(of, machine);
  if (words) {
    require(isSpeed(words->gain) && std::ranges::is_sorted(words->tokens));
    for (int32_t token : words->tokens)
      require(token >= 0 && uint32_t(token) < words->vocab);
  }
}

static void chooseGraphs(const profile::Profile &of,
                         const profile::MachineCosts &machine) {
  if (auto launch = profile::launchOf(of, machine)) {
    require(launch->rounds >= 1 && launch->rounds <= 32);
    for (const profile::LaunchOption &option : launch->options)
      require(isSpeed(option.seconds) && isSpeed(option.gain));
    require(!profile::launchText(*launch).empty());
  }
  if (auto captures = profile::capturesOf(machine, of.load)) {
    require(isSpeed(captures->seconds) && isSpeed(captures->exactSeconds));
    for (const auto &[k, sizes] : captures->sizes)
      require(std::ranges::is_sorted(sizes));
  }
  for (const profile::TunedChoice &one :
       profile::chooseTuning(machine, of.load))
    require(isSpeed(one.ratio) && one.value >= one.tunable->least &&
            one.value <= one.tunable->most);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  std::vector<uint8_t> file = data[0] == 0
                                  ? std::vector<uint8_t>(data + 1, data + size)
                                  : profile::frameTables({data + 1, size - 1});
  Result<profile::Profile> read = profile::readProfile(file);
  if (!read)
    return 0;
  std::vector<uint8_t> bytes = profile::writeProfile(*read);
  Result<profile::Profile> again = profile::readProfile(bytes);
  require(again.isOk() && profile::writeProfile(*again) == bytes);
  for (const profile::MachineCosts &machine : read->machines) {
    chooseDrafts(*read, machine);
    chooseGraphs(*read, machine);
  }
  profile::Profile merged = *read;
  profile::merge(merged, *again);
  require(profile::readProfile(profile::writeProfile(merged)).isOk());
  return 0;
}
