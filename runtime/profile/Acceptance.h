//===- Acceptance.h - How often drafts are accepted -------------*- C++ -*-===//
//
// Counts of drafts. Nothing here keeps the order of tokens.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_ACCEPTANCE_H
#define MTP_RUNTIME_PROFILE_ACCEPTANCE_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::profile {

/// Limits of a profile's outcomes. A writer keeps them, and a reader refuses a
/// file beyond them.
inline constexpr size_t kMostTreeNodes = 1024, kMostKinds = 16,
                        kMostKindBytes = 32, kMostCountedTokens = 1 << 16;
/// Elements of a histogram, and the limit on a count.
inline constexpr size_t kMostBuckets = 32;
inline constexpr uint64_t kMostCount = uint64_t(1) << 40;
/// The number of outcomes at one position beyond which older ones lose weight.
inline constexpr uint64_t kMostTried = uint64_t(1) << 20;
/// A smaller count of a token is not written: it could tell about one text.
inline constexpr uint64_t kLeastTokenCount = 20;
/// Ranges of a confidence from 0 to 1.
inline constexpr size_t kConfidenceBuckets = 16;

/// Returns the power of two of a value's bucket; 0 for 0.
inline uint32_t bucketOf(uint64_t value) {
  return value == 0 ? 0 : uint32_t(std::bit_width(value)) - 1;
}

/// Counts a value in a histogram.
void countIn(std::vector<uint64_t> &histogram, uint64_t value);

/// Adds counts. The list grows to the length of the longer one.
void addCounts(std::vector<uint64_t> &into, const std::vector<uint64_t> &from);

/// Outcomes of drafts by position. A draft counts as tried if all drafts before
/// it were accepted.
struct Outcomes {
  bool isSampled = false;
  /// The bucket of the context's tokens.
  uint32_t context = 0;
  std::vector<uint64_t> tried, accepted;

  /// Records a round with `drafts` drafts, the first `kept` of them accepted.
  void add(uint32_t drafts, uint32_t kept);
  /// Adds the counts of other outcomes.
  void add(const Outcomes &other);
  /// Adds the counts of other outcomes. Halves all counts until none is above
  /// kMostTried; halving keeps their order.
  void merge(const Outcomes &other);
  bool isOfKind(const Outcomes &other) const {
    return isSampled == other.isSampled && context == other.context;
  }
};

/// Outcomes of one draft.
struct DraftCount {
  uint64_t tried = 0, accepted = 0;
};

/// Outcomes of the nodes of draft trees, by path: the rank of each draft among
/// its siblings, from the first draft down. Equal paths of different trees are
/// one node.
struct NodeOutcomes {
  using Path = std::vector<uint8_t>;
  std::map<Path, DraftCount> counts;

  /// Records a round. `parents` has for each node the index of its parent, for
  /// the anchor any number; parents come first. Nodes from `verified` on were
  /// left out. `accepted` has the accepted nodes from the first draft down.
  void add(std::span<const int32_t> parents, uint32_t verified,
           std::span<const uint32_t> accepted);
  /// Records a round with a chain of `drafts` drafts, the first `kept` of them
  /// accepted. The drafts of a chain have rank 0.
  void addChain(uint32_t drafts, uint32_t kept);
  void merge(const NodeOutcomes &other);
};

/// Outcomes of the requests that named a kind.
struct KindOutcomes {
  std::string name;
  Outcomes outcomes;
};

/// Whether a text may name a kind: 1 to 32 letters, digits, "-" and "_". A
/// profile contains no other texts of requests.
bool isKindName(std::string_view name);

/// Returns the outcomes of a kind, which it adds to `kinds` if there is room;
/// null otherwise.
Outcomes *outcomesOfKind(std::vector<KindOutcomes> &kinds,
                         const std::string &name);

/// Outcomes by the drafter's confidence.
struct ConfidenceOutcomes {
  std::array<uint64_t, kConfidenceBuckets> tried = {}, accepted = {};

  /// Records the tried drafts of a round, the first `kept` of them accepted.
  void add(std::span<const float> confidences, uint32_t kept);
  void merge(const ConfidenceOutcomes &other);
  bool isEmpty() const;
};

/// Counts of tokens: in texts, among the drafts that the host saw, and among
/// accepted drafts.
struct TokenCounts {
  struct Counts {
    uint64_t output = 0, drafted = 0, accepted = 0;
  };
  std::map<uint32_t, Counts> counts;

  /// Adds counts. The most frequent tokens stay within the limit.
  void merge(const TokenCounts &other);
  /// Returns the counts that may be written: of at least kLeastTokenCount.
  TokenCounts writable() const;
};

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_ACCEPTANCE_H
