//===- ThreadChoice.cpp - How many threads a session uses -----------------===//

#include "runtime/profile/ThreadChoice.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::profile;

/// The ratio of times below which fewer threads are used.
static constexpr double kFewerThreads = 0.97;

/// Compares the rounds that both numbers of threads have.
static ThreadOption compare(const MachineCosts &one,
                            const MachineCosts &usual) {
  ThreadOption option;
  option.threads = one.threads;
  double sum = 0, squares = 0, noise = 0;
  for (const Cost &cost : one.costs)
    for (const Cost &same : usual.costs) {
      if (cost.work != Work::Round || !cost.isOfShape(same))
        continue;
      double ratio = std::log(one.secondsOf(cost) / usual.secondsOf(same));
      sum += ratio;
      squares += ratio * ratio;
      noise += std::pow(cost.doubt(), 2) + std::pow(same.doubt(), 2);
      ++option.rounds;
    }
  if (option.rounds == 0)
    return option;
  auto count = double(option.rounds);
  double mean = sum / count;
  double variance = std::max(squares / count - mean * mean, 0.0);
  option.ratio = std::exp(mean);
  // Noise of the times, or the spread between shapes if it is larger.
  option.error = option.ratio * std::max(std::sqrt(noise) / count,
                                         std::sqrt(variance / count));
  return option;
}

ThreadChoice profile::chooseThreads(const Profile &profile,
                                    const std::string &machine,
                                    uint32_t usable) {
  ThreadChoice choice;
  choice.threads = choice.usualThreads = usable;
  auto isOwn = [&](const MachineCosts &of) {
    return of.name == machine && of.threads == usable;
  };
  auto own = std::ranges::find_if(profile.machines, isOwn);
  if (own == profile.machines.end())
    return choice;
  double best = kFewerThreads;
  for (const MachineCosts &of : profile.machines) {
    if (of.name != machine || of.threads == 0 || of.threads >= usable)
      continue;
    const ThreadOption &option = choice.options.emplace_back(compare(of, *own));
    if (option.ratio >= best)
      continue;
    best = option.ratio;
    choice.threads = of.threads;
    choice.gain = 1 / option.ratio;
    choice.doubt = option.error * choice.gain * choice.gain;
  }
  return choice;
}
