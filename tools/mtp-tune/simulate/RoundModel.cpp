//===- RoundModel.cpp - The time of a round on another machine ------------===//

#include "tools/mtp-tune/simulate/RoundModel.h"
#include "tools/mtp-bench/measure/Workload.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::tune;

/// Returns the bytes that a product's tasks read from the last cache: the
/// weight once, and all rows for each task.
double RoundModel::cacheBytes(const Program &program, const Command &command,
                              uint32_t n) const {
  const schema::Kernel &kernel = plan.kernelOf(command);
  const schema::Contract *contract = kernel.contract();
  if (!plan.isGpu() || !contract)
    return 0;
  double bytes = 0;
  bool hasRows = false;
  std::span<const Place> places = program.placesOf(command, kernel);
  for (uint32_t i = 0; i < places.size(); ++i) {
    const Place &place = places[i];
    if (place.space == schema::Space::Weight) {
      bytes += double(place.bytes.at(n));
      continue;
    }
    // The first buffer that is only read has the rows. Residuals and scales
    // after it are read once.
    if (hasRows || place.space != schema::Space::Arena ||
        contract->buffers()->Get(i)->written())
      continue;
    hasRows = true;
    bytes += double(contract->tasks()) * double(place.bytes.at(n));
  }
  return bytes;
}

void RoundModel::add(RoundTime &round, const Program &program,
                     const Command &command, uint32_t n, uint32_t context,
                     bool isJoined) const {
  bench::Work work =
      bench::commandWork(artifact, plan, program, command, n, context);
  bool isProduct = work.weightBytes > 0 && work.ops > 0;
  bool isAttention =
      bench::kindOf(plan.kernelOf(command)).starts_with("attention");
  double memory = (work.weightBytes + work.kvBytes) / machine.rates.bytes;
  double cache = isProduct && machine.cacheBytes > 0
                     ? cacheBytes(program, command, n) / machine.cacheBytes
                     : 0;
  double peak = machine.rates.peak(work.type);
  double arithmetic = peak > 0 ? work.ops / peak : 0;
  double longest = std::max({memory, cache, arithmetic});
  double start = isJoined      ? 0
                 : isProduct   ? machine.productSeconds
                 : isAttention ? machine.attentionSeconds
                               : machine.otherSeconds;
  (longest == memory  ? round.memory
   : longest == cache ? round.cache
                      : round.arithmetic) += longest;
  round.starts += start;
  round.seconds += longest + start;
  round.bytes += work.weightBytes + work.kvBytes;
  round.ops += work.ops;
  ++round.commands;
}

RoundTime RoundModel::predict(const Program &program, uint32_t n,
                              uint32_t context) const {
  RoundTime round;
  const CpuSchedule *schedule = program.scheduleFor(n);
  std::span<const Command> commands = program.ownCommands();
  for (size_t i = 0; i < commands.size(); ++i) {
    // A graph of rounds leaves out commands of logit rules.
    if (plan.kernelOf(commands[i]).for_rules())
      continue;
    add(round, program, commands[i], n, context,
        schedule && schedule->isJoined(i));
  }
  round.starts += machine.roundSeconds;
  round.seconds += machine.roundSeconds;
  return round;
}
