//===- RecordedRounds.h - Times of rounds for replays -----------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_RECORDEDROUNDS_H
#define MTP_TEST_RUNTIME_SUPPORT_RECORDEDROUNDS_H

#include "runtime/exec/schedule/RoundCostModel.h"

#include <array>

namespace mtp::test {

inline constexpr uint32_t kMaxK = 4;

/// Rounds of a model by k, in microseconds: the first rounds, and those after
/// 900 tokens.
struct Recorded {
  const char *name;
  uint32_t batch;
  std::array<double, kMaxK + 1> first, last;
  /// The rows' share of the cost of drafts.
  double rowShare = 0.6;

  double full(uint32_t k, double tokens) const {
    return 1e-6 * (first[k] + (last[k] - first[k]) * tokens / 900);
  }
  /// Returns the seconds of a round, without the rows that it lacks.
  double seconds(const RoundCostModel::Work &work, double tokens) const {
    double all = full(work.k, tokens);
    if (work.k == 0)
      return all;
    double row = rowShare * (all - full(0, tokens)) / (work.k * batch);
    return all - row * (batch * (work.k + 1) - work.rows);
  }
};

/// At one context: `step` milliseconds, and the factors of rounds.
inline constexpr Recorded at(const char *name, uint32_t batch, double step,
                             std::array<double, kMaxK> times) {
  Recorded of{name, batch, {1000 * step}, {}};
  for (uint32_t k = 1; k <= kMaxK; ++k)
    of.first[k] = 1000 * step * times[k - 1];
  of.last = of.first;
  return of;
}
/// The bundled model on one thread (an EPYC with AVX-512, bf16 and VNNI), and
/// SmolLM2-135M with its drafter on two (tools/mtp-tune/MEASURED.md). Also the
/// 1.10 B shape and the shape with experts from
/// tools/mtp-bench/MEASURED.md, on processors that read weights up to few rows
/// and up to many.
inline constexpr Recorded kRecorded[] = {
    {"bundled", 1, {146, 217, 288, 359, 433}, {205, 327, 452, 559, 692}},
    {"bundled", 2, {188, 269, 428, 505, 731}, {326, 531, 784, 991, 1344}},
    {"bundled", 4, {226, 392, 669, 829, 1051}, {546, 875, 1362, 1662, 2089}},
    {"bundled",
     8,
     {338, 734, 1193, 1598, 1902},
     {1078, 1751, 2438, 2926, 3636}},
    {"bundled",
     16,
     {616, 1316, 2280, 2981, 3686},
     {2162, 3370, 4596, 5568, 6708}},
    {"smollm2",
     1,
     {2200, 2350, 2840, 3050, 3180},
     {3240, 3740, 3950, 4140, 4390},
     0.9},
    {"smollm2",
     2,
     {2340, 2710, 3160, 3330, 4030},
     {4200, 4690, 5130, 5340, 6140},
     0.9},
    {"smollm2",
     4,
     {2390, 3120, 4230, 4790, 5720},
     {6060, 6580, 7680, 8300, 10420},
     0.9},
    {"smollm2",
     16,
     {4140, 8100, 12350, 15820, 21010},
     {17700, 22580, 27770, 31930, 36560},
     0.9},
    at("bf16_zen5", 1, 90, {1.11, 1.25, 1.38, 1.54}),
    at("bf16_zen5", 4, 90, {1.13, 1.70, 1.94, 2.48}),
    at("int4_4096_zen5", 1, 25, {1.18, 1.31, 1.47, 1.63}),
    at("experts_bf16_zen5", 1, 13, {1.70, 2.49, 2.89, 3.38}),
    at("int4_amx", 1, 24.9, {1.20, 1.42, 1.53, 1.66}),
    at("int4_amx", 4, 34.9, {1.21, 1.57, 1.69, 2.20}),
    at("int8_zen3", 1, 35.5, {0.94, 1.10, 1.42, 1.86}),
    at("int4_zen3", 1, 18.8, {1.27, 1.38, 1.79, 2.25}),
    at("bf16_zen3", 4, 71.1, {1.95, 3.21, 4.12, 5.40}),
    at("int4_zen3", 4, 28.2, {1.99, 3.48, 5.42, 6.01}),
    at("experts_int4_zen3", 1, 5.7, {1.70, 2.22, 3.15, 3.90}),
    at("experts_int4_zen3", 4, 15.5, {1.73, 2.55, 3.15, 3.80})};

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_RECORDEDROUNDS_H
