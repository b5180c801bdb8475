//===- Tunables.h - Constants that affect only speed ------------*- C++ -*-===//
//
// No output bit depends on these constants. The style check refuses constants
// of this kind elsewhere in compiler/Codegen, passes/exec and runtime/exec,
// unless a comment says "Semantic:" and why the constant is no choice.
//
// Machines: "Zen 5" is two shared processors of an EPYC with AVX-512, "H100" is
// an H100 with 132 multiprocessors.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_TUNABLES_H
#define MTP_RUNTIME_SCHEMA_TUNABLES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace mtp {

/// The machines that a tunable concerns.
enum class TunedFor : uint8_t { Cpu, Gpu, Session };

/// A constant that affects only speed.
struct Tunable {
  static constexpr size_t kMostAlternatives = 4;
  /// Values that mtp-tune compares with the default.
  struct Alternatives {
    std::array<int64_t, kMostAlternatives> values = {};
    size_t count = 0;

    constexpr Alternatives() = default;
    constexpr Alternatives(std::initializer_list<int64_t> list)
        : count(list.size()) {
      std::copy(list.begin(), list.end(), values.begin());
    }
    constexpr const int64_t *begin() const { return values.data(); }
    constexpr const int64_t *end() const { return values.data() + count; }
  };

  /// Name in profiles and in `mtpc --tune`.
  std::string_view name;
  TunedFor machine;
  int64_t value;
  /// Machine and result of the measurement, or its page.
  std::string_view measured;
  /// Limits of a value from a profile or a flag; 0 and 0: it is fixed.
  int64_t least = 0, most = 0;
  Alternatives alternatives = {};

  /// Returns whether a profile may override the value.
  constexpr bool isTuned() const { return most > 0; }
};

namespace tunable {

//===--- Products and attention of the CPU --------------------------------===//

/// Bytes between a multiplication and the prefetch of weights: the bytes that a
/// core reads in twice the latency of memory.
inline constexpr Tunable kPrefetchBytes{
    "cpu-prefetch-bytes",
    TunedFor::Cpu,
    8192,
    "Zen 5, bf16: eight rows take 1.4 times one row's time with 512 bytes, "
    "1.1 times with 8 KiB",
    512,
    1 << 16,
    {2048, 4096, 16384, 32768}};
/// Limit on the rows of a full block that vector registers multiply at once:
/// 8 with 16 lanes, 4 with 8 lanes, and this value, rounded down to a power of
/// two.
inline constexpr Tunable kBlockRows{
    "cpu-block-rows", TunedFor::Cpu, 8, "not measured apart", 1, 8, {2, 4}};
/// Shares in which attention prefetches the next block of positions.
inline constexpr Tunable kPrefetchShares{"cpu-prefetch-shares", TunedFor::Cpu,
                                         4, "compiler/Codegen/DESIGN.md"};
/// Rows up to which vector registers multiply integers faster than AMX's tiles.
inline constexpr Tunable kVectorRows{"cpu-vector-rows", TunedFor::Cpu, 8,
                                     "not measured apart"};
/// Rows that tiles prepare and multiply before the next panel.
inline constexpr Tunable kTilePassRows{"cpu-tile-pass-rows", TunedFor::Cpu, 128,
                                       "not measured apart"};
/// Rows whose products of tiles are added at once.
inline constexpr Tunable kAddedRows{"cpu-added-rows", TunedFor::Cpu, 4,
                                    "not measured apart"};
/// Elements of a call's activations up to which one thread runs the call.
inline constexpr Tunable kSoloElements{
    "cpu-solo-elements",       TunedFor::Cpu, 16384,
    "not measured apart",      256,           1 << 24,
    {4096, 8192, 32768, 65536}};
/// Tasks of attention that keep a processor's threads busy; 0: the number of
/// threads. Calls with fewer tasks split their positions.
inline constexpr Tunable kAttentionTasks{"cpu-attention-tasks",
                                         TunedFor::Cpu,
                                         0,
                                         "not measured apart",
                                         0,
                                         1 << 16,
                                         {1}};

//===--- GPUs -------------------------------------------------------------===//

/// Rows up to which each block of a product rounds them to bf16.
inline constexpr Tunable kPrepareRows{
    "gpu-prepare-rows",
    TunedFor::Gpu,
    4,
    "H100: the first loss of rounding in each block",
    0,
    1 << 20,
    {0, 2, 8, 16}};
/// Rows up to which each block of a product quantises them.
inline constexpr Tunable kPrepareIntegerRows{
    "gpu-prepare-integer-rows",
    TunedFor::Gpu,
    0,
    "H200: one row in int4 0.83 of the time, in int8 equal",
    0,
    1 << 20,
    {1, 2, 4, 8}};
/// Least rows of a prompt's chunk that the vendor's library multiplies.
inline constexpr Tunable kLibraryRows{
    "gpu-library-rows", TunedFor::Gpu, 128, "not measured apart", 0, 4096,
    {0, 64, 256, 512}};
/// Blocks of attention that keep a GPU's memory busy: two for each of the 132
/// multiprocessors of an H100. Programs are equal for all chips.
inline constexpr Tunable kAttentionBlocks{"gpu-attention-blocks",
                                          TunedFor::Gpu,
                                          264,
                                          "compiler/Codegen/GPU/DESIGN.md",
                                          1,
                                          1 << 16,
                                          {132, 528}};
/// Positions beyond the first split up to which a round without splits is
/// faster: a block sums them in the time of a combining call.
inline constexpr Tunable kShortPositions{
    "gpu-short-positions", TunedFor::Gpu, 192, "estimated", 0, 1 << 20,
    {64, 128, 384, 768}};
/// Splits whose values a thread of attention's combining call loads ahead.
inline constexpr Tunable kSplitsAhead{"gpu-splits-ahead", TunedFor::Gpu, 4,
                                      "not measured apart"};
/// Loads that a thread of attention without tensor cores has in flight.
inline constexpr Tunable kLoadsAhead{"gpu-loads-ahead", TunedFor::Gpu, 4,
                                     "not measured apart"};
/// Loads of keys that a lane of attention on tensor cores has in flight, for
/// each of two rows of eight positions.
inline constexpr Tunable kKeysAhead{"gpu-keys-ahead", TunedFor::Gpu, 4,
                                    "not measured apart"};
/// Steps of 16 positions whose values a lane loads at once, if it does not load
/// all of them ahead.
inline constexpr Tunable kStepsAhead{"gpu-steps-ahead", TunedFor::Gpu, 2,
                                     "not measured apart"};
/// Limit on the words of values that a lane loads ahead.
inline constexpr Tunable kWordsAhead{"gpu-words-ahead", TunedFor::Gpu, 32,
                                     "not measured apart"};

//===--- Sessions ---------------------------------------------------------===//

/// Limit on the padding rows of a pass if padding saves other passes: fewer
/// than the smallest chunk has.
inline constexpr Tunable kPaddingRows{"session-padding-rows", TunedFor::Session,
                                      7, "not measured apart"};
/// Last rounds of a trial of k, which have only the rows that pay.
inline constexpr Tunable kFewerRowsRounds{
    "session-fewer-rows-rounds", TunedFor::Session, 1,
    "replays in test/Runtime/policy_test.cpp"};
/// Rows that a pass over prompts may have in any case: fewer cost little less.
inline constexpr Tunable kLeastPassRows{
    "session-least-pass-rows", TunedFor::Session, 16, "not measured apart"};
/// Rounds of a launch on a GPU: its start is a small part of their time, and
/// few rounds have rows of sequences that have ended.
inline constexpr Tunable kRoundsPerLaunch{"session-rounds-per-launch",
                                          TunedFor::Session, 16,
                                          "not measured; a profile decides"};
/// Nodes of the graphs of rounds that a session builds at its start. Each takes
/// 10 us on an H100.
inline constexpr Tunable kPreparedNodes{"session-prepared-nodes",
                                        TunedFor::Session, 4096,
                                        "tools/gpu-check/MEASURED.md"};

} // namespace tunable

/// All tunables.
inline constexpr auto kTunables = std::to_array<Tunable>(
    {tunable::kPrefetchBytes,  tunable::kPrefetchShares,
     tunable::kVectorRows,     tunable::kTilePassRows,
     tunable::kBlockRows,      tunable::kAttentionTasks,
     tunable::kAddedRows,      tunable::kSoloElements,
     tunable::kPrepareRows,    tunable::kPrepareIntegerRows,
     tunable::kLibraryRows,    tunable::kAttentionBlocks,
     tunable::kShortPositions, tunable::kSplitsAhead,
     tunable::kLoadsAhead,     tunable::kKeysAhead,
     tunable::kStepsAhead,     tunable::kWordsAhead,
     tunable::kPaddingRows,    tunable::kFewerRowsRounds,
     tunable::kLeastPassRows,  tunable::kRoundsPerLaunch,
     tunable::kPreparedNodes});

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_TUNABLES_H
