//===- PrefixIndex.cpp - Which pages hold which prefix --------------------===//

#include "runtime/exec/memory/PrefixIndex.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <unordered_set>

using namespace mtp;

Hash128 PrefixIndex::hashTokens(Hash128 seed, std::span<const int32_t> tokens) {
  XXH128_hash_t digest =
      XXH3_128bits_withSeed(tokens.data(), tokens.size_bytes(), seed.low);
  uint64_t words[] = {digest.low64, digest.high64, seed.high};
  digest = XXH3_128bits(words, sizeof(words));
  return {digest.low64, digest.high64};
}

const PrefixIndex::Entry *
PrefixIndex::find(const Place &place, std::span<const int32_t> tokens) const {
  auto found = entries.find(hash(place.chain, tokens));
  if (found == entries.end() || found->second.parent != place.parent ||
      !std::equal(tokens.begin(), tokens.end(), found->second.tokens.begin(),
                  found->second.tokens.end()))
    return nullptr;
  return &found->second;
}

const PrefixIndex::Entry *PrefixIndex::insert(const Place &place,
                                              std::span<const int32_t> tokens,
                                              uint32_t page) {
  Hash128 key = hash(place.chain, tokens);
  auto [slot, fresh] = entries.try_emplace(key);
  if (!fresh)
    return find(place, tokens);
  slot->second = {nextId++, page, place.parent,
                  std::vector<int32_t>(tokens.begin(), tokens.end())};
  keyOfPage[page] = key;
  return &slot->second;
}

PrefixIndex::Place PrefixIndex::next(const Place &place, const Entry &entry,
                                     size_t pageTokens) const {
  std::span<const int32_t> own(entry.tokens.data(), pageTokens);
  return {entry.id, hash(place.chain, own)};
}

void PrefixIndex::move(uint32_t from, uint32_t to) {
  Hash128 key = keyOfPage.at(from);
  keyOfPage.erase(from);
  keyOfPage[to] = key;
  entries.at(key).page = to;
}

void PrefixIndex::erase(uint32_t page) {
  auto found = keyOfPage.find(page);
  if (found == keyOfPage.end())
    return;
  entries.erase(found->second);
  keyOfPage.erase(found);
}

std::vector<uint32_t> PrefixIndex::lostPages() const {
  // An entry has a higher number than its parent.
  std::map<EntryId, const Entry *> inOrder;
  for (const auto &[key, entry] : entries)
    inOrder.emplace(entry.id, &entry);
  std::unordered_set<EntryId> reached = {kRoot};
  std::vector<uint32_t> lost;
  for (auto [id, entry] : inOrder)
    if (reached.contains(entry->parent))
      reached.insert(id);
    else
      lost.push_back(entry->page);
  return lost;
}
