//===- Acceptance.cpp - How often drafts are accepted ---------------------===//

#include "runtime/profile/Acceptance.h"
#include "runtime/schema/Limits.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::profile;

void profile::countIn(std::vector<uint64_t> &histogram, uint64_t value) {
  size_t bucket = std::min<size_t>(bucketOf(value), kMostBuckets - 1);
  if (histogram.size() <= bucket)
    histogram.resize(bucket + 1);
  ++histogram[bucket];
}

void profile::addCounts(std::vector<uint64_t> &into,
                        const std::vector<uint64_t> &from) {
  into.resize(std::max(into.size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i)
    into[i] += from[i];
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

void Outcomes::add(uint32_t drafts, uint32_t kept) {
  if (tried.size() < drafts) {
    tried.resize(drafts);
    accepted.resize(drafts);
  }
  for (uint32_t j = 0; j < drafts && j <= kept; ++j) {
    ++tried[j];
    accepted[j] += j < kept;
  }
}

void Outcomes::add(const Outcomes &other) {
  addCounts(tried, other.tried);
  addCounts(accepted, other.accepted);
}

void Outcomes::merge(const Outcomes &other) {
  add(other);
  while (!tried.empty() && tried[0] > kMostTried)
    for (size_t j = 0; j < tried.size(); ++j) {
      tried[j] /= 2;
      accepted[j] /= 2;
    }
}

bool profile::isKindName(std::string_view name) {
  auto isPlain = [](char of) {
    return (of >= 'a' && of <= 'z') || (of >= 'A' && of <= 'Z') ||
           (of >= '0' && of <= '9') || of == '-' || of == '_';
  };
  return !name.empty() && name.size() <= kMostKindBytes &&
         std::ranges::all_of(name, isPlain);
}

Outcomes *profile::outcomesOfKind(std::vector<KindOutcomes> &kinds,
                                  const std::string &name) {
  auto found = std::ranges::find(kinds, name, &KindOutcomes::name);
  if (found != kinds.end())
    return &found->outcomes;
  if (!isKindName(name) || kinds.size() >= kMostKinds)
    return nullptr;
  return &kinds.emplace_back(name, Outcomes()).outcomes;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void NodeOutcomes::add(std::span<const int32_t> parents, uint32_t verified,
                       std::span<const uint32_t> accepted) {
  uint32_t nodes = uint32_t(std::min<size_t>(parents.size(), verified));
  uint32_t parent = 0;
  Path path;
  for (size_t depth = 0; depth <= accepted.size() && depth < kMostK; ++depth) {
    uint32_t next = depth < accepted.size() ? accepted[depth] : 0;
    int rank = 0, keptRank = -1;
    for (uint32_t node = parent + 1; node < nodes; ++node) {
      if (parents[node] != int32_t(parent) || rank >= int(kMostNodes))
        continue;
      path.push_back(uint8_t(rank));
      bool isFull = counts.size() >= kMostTreeNodes && !counts.contains(path);
      if (!isFull) {
        DraftCount &count = counts[path];
        ++count.tried;
        count.accepted += node == next;
      }
      path.pop_back();
      if (node == next && !isFull)
        keptRank = rank;
      ++rank;
    }
    if (keptRank < 0)
      return;
    path.push_back(uint8_t(keptRank));
    parent = next;
  }
}

void NodeOutcomes::addChain(uint32_t drafts, uint32_t kept) {
  Path path;
  for (uint32_t j = 0; j < drafts && j <= kept && j < kMostK; ++j) {
    path.push_back(0);
    if (counts.size() >= kMostTreeNodes && !counts.contains(path))
      return;
    DraftCount &count = counts[path];
    ++count.tried;
    count.accepted += j < kept;
  }
}

void NodeOutcomes::merge(const NodeOutcomes &other) {
  uint64_t most = 0;
  for (const auto &[path, count] : other.counts) {
    DraftCount &into = counts[path];
    into.tried += count.tried;
    into.accepted += count.accepted;
  }
  for (const auto &[path, count] : counts)
    most = std::max(most, count.tried);
  for (; most > kMostTried; most /= 2)
    for (auto &[path, count] : counts) {
      count.tried /= 2;
      count.accepted /= 2;
    }
  // A parent is tried more often than its children, and comes before them.
  std::vector<std::pair<uint64_t, Path>> order;
  for (const auto &[path, count] : counts)
    order.emplace_back(count.tried, path);
  std::ranges::stable_sort(order, std::greater(),
                           [](auto &of) { return of.first; });
  for (size_t i = kMostTreeNodes; i < order.size(); ++i)
    counts.erase(order[i].second);
}

//===----------------------------------------------------------------------===//
// Confidence and tokens
//===----------------------------------------------------------------------===//

void ConfidenceOutcomes::add(std::span<const float> confidences,
                             uint32_t kept) {
  for (uint32_t j = 0; j < confidences.size() && j <= kept; ++j) {
    // Also false for a value that is no number.
    float value = confidences[j] >= 0 ? std::min(confidences[j], 1.0f) : 0;
    auto bucket = std::min(size_t(value * float(kConfidenceBuckets)),
                           kConfidenceBuckets - 1);
    ++tried[bucket];
    accepted[bucket] += j < kept;
  }
}

void ConfidenceOutcomes::merge(const ConfidenceOutcomes &other) {
  for (size_t i = 0; i < kConfidenceBuckets; ++i) {
    tried[i] += other.tried[i];
    accepted[i] += other.accepted[i];
  }
  while (std::ranges::max(tried) > kMostTried)
    for (size_t i = 0; i < kConfidenceBuckets; ++i) {
      tried[i] /= 2;
      accepted[i] /= 2;
    }
}

bool ConfidenceOutcomes::isEmpty() const {
  return std::ranges::max(tried) == 0;
}

void TokenCounts::merge(const TokenCounts &other) {
  uint64_t most = 0;
  for (const auto &[token, count] : other.counts) {
    Counts &into = counts[token];
    into.output += count.output;
    into.drafted += count.drafted;
    into.accepted += count.accepted;
  }
  for (const auto &[token, count] : counts)
    most = std::max({most, count.output, count.drafted});
  for (; most > kMostTried; most /= 2)
    for (auto &[token, count] : counts) {
      count.output /= 2;
      count.drafted /= 2;
      count.accepted /= 2;
    }
  if (counts.size() <= kMostCountedTokens)
    return;
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (const auto &[token, count] : counts)
    order.emplace_back(count.output + count.drafted, token);
  std::ranges::stable_sort(order, std::greater(),
                           [](auto &of) { return of.first; });
  for (size_t i = kMostCountedTokens; i < order.size(); ++i)
    counts.erase(order[i].second);
}

TokenCounts TokenCounts::writable() const {
  TokenCounts some;
  for (const auto &[token, count] : counts) {
    auto large = [](uint64_t of) { return of < kLeastTokenCount ? 0 : of; };
    Counts kept{large(count.output), large(count.drafted),
                large(count.accepted)};
    if (kept.output > 0 || kept.drafted > 0)
      some.counts[token] = kept;
  }
  return some;
}
