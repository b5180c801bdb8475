//===- PairTimer.cpp - Two artifacts in alternation -----------------------===//

#include "tools/mtp-tune/PairTimer.h"
#include "runtime/exec/SessionFactory.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace mtp;
using namespace mtp::tune;

/// Pairs from which a ratio has a standard error, and the number of pairs that
/// is enough.
static constexpr size_t kLeastPairs = 8, kMostPairs = 60;
/// Runs of a time, of which the shortest counts.
static constexpr uint32_t kRuns = 4;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Request PairTimer::requestOf(uint32_t slot, uint32_t tokens) const {
  Request request;
  for (uint32_t i = 0; i < tokens; ++i)
    request.prompt.push_back(text[(i + slot) % text.size()]);
  request.ignoreEos = true;
  return request;
}

/// Fills all slots and reads their prompts.
Status PairTimer::fill(const PairShape &shape, Session &session) {
  MTP_RETURN_IF_ERROR(drain(session));
  uint32_t most = models[0]->envelope()->maxContext;
  for (uint32_t slot = 0; slot < shape.batch; ++slot) {
    Request request = requestOf(slot, shape.context);
    request.maxTokens = most - shape.context;
    MTP_RETURN_IF_ERROR(session.add(std::move(request)).status());
  }
  while (session.counts().waiting > 0 || session.counts().prefilling > 0)
    MTP_RETURN_IF_ERROR(session.step().status());
  return okStatus();
}

/// Removes all sequences.
Status PairTimer::drain(Session &session) {
  for (SequenceId id : session.unfinished())
    MTP_RETURN_IF_ERROR(session.cancel(id));
  while (!session.idle())
    MTP_RETURN_IF_ERROR(session.step().status());
  return okStatus();
}

/// Opens sessions for a shape. Sessions of a shape that differs in k only stay
/// open.
Status PairTimer::open(const PairShape &shape) {
  PairShape wanted = shape;
  wanted.k = 0;
  if (opened == wanted)
    return okStatus();
  opened = wanted;
  for (size_t which : {0, 1}) {
    SessionOptions o = options;
    o.k = models[which]->envelope()->maxK;
    o.automaticK = false;
    o.maxSlots = shape.batch;
    o.prefixCache = false;
    o.kvPages = 0;
    o.roundsPerLaunch = 1;
    SessionSetup setup;
    setup.beforeRound = [this](SequenceId, uint32_t &k, DrafterProgress &) {
      k = currentK;
    };
    MTP_ASSIGN_OR_RETURN(
        sessions[which],
        SessionFactory::create(models[which], o, std::move(setup)));
  }
  return okStatus();
}

Result<double> PairTimer::timeRounds(const PairShape &shape, Session &session) {
  // Slots that end leave another shape. Both artifacts write equal tokens, so
  // both begin again at the same pair.
  double best = 0;
  for (uint32_t run = 0; run < kRuns; ++run) {
    if (session.counts().running < shape.batch)
      MTP_RETURN_IF_ERROR(fill(shape, session));
    Clock::time_point begin = Clock::now();
    MTP_RETURN_IF_ERROR(session.step().status());
    double seconds = secondsSince(begin);
    best = run == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

Result<double> PairTimer::timePrompt(const PairShape &shape, Session &session) {
  Request request = requestOf(/*slot=*/0, shape.context);
  request.maxTokens = 1;
  Clock::time_point begin = Clock::now();
  MTP_RETURN_IF_ERROR(session.add(std::move(request)).status());
  while (!session.idle())
    MTP_RETURN_IF_ERROR(session.step().status());
  return secondsSince(begin);
}

Result<double> PairTimer::time(const PairShape &shape, size_t which) {
  return shape.work == profile::Work::Round
             ? timeRounds(shape, *sessions[which])
             : timePrompt(shape, *sessions[which]);
}

Result<std::optional<profile::Alternative>>
PairTimer::compare(const PairShape &shape, double seconds) {
  Clock::time_point begin = Clock::now();
  currentK = shape.k;
  MTP_RETURN_IF_ERROR(open(shape));
  std::vector<double> logs;
  // The first pair, which makes pages and caches warm, does not count.
  for (size_t pair = 0;
       logs.size() < kMostPairs && secondsSince(begin) < seconds; ++pair) {
    std::array<double, 2> times;
    for (size_t i : {pair % 2, 1 - pair % 2}) {
      Result<double> one = time(shape, i);
      MTP_RETURN_IF_ERROR(one.status());
      times[i] = *one;
    }
    if (pair > 0)
      logs.push_back(std::log(times[1] / times[0]));
  }
  if (logs.size() < kLeastPairs)
    return std::optional<profile::Alternative>();
  double mean = 0, squares = 0, count = double(logs.size());
  for (double one : logs)
    mean += one / count;
  for (double one : logs)
    squares += (one - mean) * (one - mean);
  profile::Alternative result;
  result.work = shape.work;
  result.batch = shape.batch;
  result.k = shape.k;
  bool isRound = shape.work == profile::Work::Round;
  result.rows = isRound ? shape.batch * (shape.k + 1) : shape.context;
  result.positions = isRound ? uint64_t(shape.batch) * shape.context : 0;
  result.ratio = std::exp(mean);
  result.error = result.ratio * std::sqrt(squares / (count - 1) / count);
  result.pairs = logs.size();
  return std::optional(result);
}
