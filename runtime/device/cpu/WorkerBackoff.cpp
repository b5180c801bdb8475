//===- WorkerBackoff.cpp - When to run without a thread -------------------===//

#include "runtime/device/cpu/WorkerBackoff.h"

#include <algorithm>

using namespace mtp;

/// Smallest and largest factor of the absence, and the longest quiet time.
static constexpr uint64_t kFirstTimes = 4, kMostTimes = 16;
static constexpr uint64_t kLongest = 200'000'000;

/// Factor that stands for the cost of one thread less, which is not known: a
/// second thread makes small models 1.25 times as fast and large ones nearly
/// twice. This value is right for small models. With it, a thread may be away
/// for 1 / (4 (workers - 1) + 1) of the time.
static constexpr uint64_t kLeastRan = 4;

/// Allowed absence beyond that share, in nanoseconds: two time slices of a
/// system with 250 ticks a second. Daemons wake in pairs.
static constexpr uint64_t kMostOwed = 8'000'000;

uint64_t WorkerBackoff::add(uint64_t begin, uint64_t end) {
  uint64_t absence = end - begin;
  uint64_t ran = begin - std::min(until.load(std::memory_order_relaxed), begin);
  uint64_t paid = ran / (kLeastRan * (workers - 1));
  uint64_t sum = owed.load(std::memory_order_relaxed) + absence;
  sum -= std::min(sum, paid);
  uint64_t factor = 0, quiet = 0;
  if (sum > kMostOwed) {
    factor = std::clamp(2 * times.load(std::memory_order_relaxed), kFirstTimes,
                        kMostTimes);
    quiet = absence > kLongest / factor ? kLongest : absence * factor;
  }
  owed.store(std::min(sum, kMostOwed), std::memory_order_relaxed);
  times.store(factor, std::memory_order_relaxed);
  until.store(end + quiet, std::memory_order_relaxed);
  return quiet;
}
