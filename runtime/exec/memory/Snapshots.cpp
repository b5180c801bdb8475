//===- Snapshots.cpp - Recurrent states behind prefixes -------------------===//

#include "runtime/exec/memory/Snapshots.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cstring>

using namespace mtp;

Snapshots::Snapshots(const Artifact &artifact, Executable &executable,
                     const SnapshotLimits &limits)
    : artifact(artifact), executable(executable), limits(limits) {
  if (!artifact.envelope)
    return;
  uint64_t slots = artifact.envelope->max_batch();
  for (uint32_t i = 0; i < artifact.states.size(); ++i) {
    const State &state = artifact.states[i];
    if (state.rule.rebuild != schema::Rebuild::Run)
      continue;
    parts.push_back({i, state.bytes / slots});
    size += parts.back().bytes;
  }
  for (auto [cache, layer] : limits.layers)
    pageSize += artifact.pageBytes(cache);
}

/// Returns a slot's part of a state.
static Binding rangeOf(uint32_t state, uint32_t slot, uint64_t bytes) {
  return {schema::Space::State, state, slot * bytes, bytes};
}

//===----------------------------------------------------------------------===//
// Which one
//===----------------------------------------------------------------------===//

/// Returns the number of pages whose entries a copy has.
uint64_t Snapshots::pagesOf(const Copy &copy) const {
  uint64_t page = limits.pageTokens;
  return (copy.position + page - 1) / page - copy.end / page;
}

/// Returns whether a copy was made of the prefix's tokens, and does not cover
/// the tokens that must run. The copy is attached to the prefix's page, or to
/// none.
bool Snapshots::isOf(const Copy &copy, const Prefix &prefix) const {
  uint64_t behind = std::max(limits.lookahead, limits.rerun);
  if (copy.position < prefix.end ||
      copy.position + behind > prefix.tokens.size() ||
      !std::ranges::equal(copy.tokens,
                          prefix.tokens.subspan(copy.end, copy.tokens.size())))
    return false;
  // The states must come from pages of the makers that the sequence's pages
  // have.
  const PageKey &key = prefix.key;
  uint64_t first = copy.end / limits.pageTokens, pages = copy.makers.size();
  if (!key.isExact)
    pages = std::min(pages, (std::max(prefix.end, copy.end) - copy.end) /
                                limits.pageTokens);
  for (size_t i = 0; i < pages; ++i)
    if (copy.makers[i] != key.of(first + i))
      return false;
  return copy.page != 0 ||
         (copy.inputs == key.inputs && std::ranges::equal(copy.salt, key.salt));
}

/// Returns the furthest copy that is attached to a page.
const Snapshots::Copy *Snapshots::behind(uint32_t page,
                                         const Prefix &prefix) const {
  const Copy *best = nullptr;
  auto [begin, end] = byPage.equal_range(page);
  for (auto at = begin; at != end; ++at) {
    const Copy &copy = copies.at(at->second);
    if ((!best || copy.position > best->position) && isOf(copy, prefix))
      best = &copy;
  }
  return best;
}

const Snapshots::Copy *Snapshots::find(const Prefix &prefix) const {
  const Copy *whole = behind(0, prefix);
  const Copy *own = prefix.page ? behind(prefix.page, prefix) : nullptr;
  return own && (!whole || own->position >= whole->position) ? own : whole;
}

const Snapshots::Copy *Snapshots::get(Id id, const Prefix &prefix) const {
  auto found = copies.find(id);
  bool isUsable = found != copies.end() && isOf(found->second, prefix);
  return isUsable ? &found->second : nullptr;
}

/// Drops a copy of equal tokens in the same place, unless a sequence keeps it
/// for itself.
void Snapshots::dropSame(const Copy &copy) {
  auto isSame = [&](const auto &entry) {
    const Copy &other = copies.at(entry.second);
    return !other.isKept && other.position == copy.position &&
           other.tokens == copy.tokens && other.inputs == copy.inputs &&
           other.salt == copy.salt && other.makers == copy.makers;
  };
  auto [begin, end] = byPage.equal_range(copy.page);
  auto same = std::find_if(begin, end, isSame);
  if (same != end)
    drop(same->second);
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

/// Marks a copy as the one used last.
void Snapshots::use(Copy &copy, Id id) {
  if (copy.tick)
    byUse.erase(copy.tick);
  copy.tick = ++clock;
  byUse.emplace(copy.tick, id);
}

bool Snapshots::canMakeRoom(uint64_t bytes, const MemoryLimit &memory) const {
  return bytes <= addBytes(hostMemory().left(memory), counted.bytes);
}

/// Drops older copies until there is room for a new one.
bool Snapshots::makeRoom(uint64_t bytes, const MemoryLimit &memory,
                         MemoryReservation &reserved) {
  if (bytes > limits.bytes || !canMakeRoom(bytes, memory))
    return false;
  while (counted.bytes + bytes > limits.bytes)
    dropOldest();
  do {
    auto taken =
        hostMemory().reserve(bytes, "a snapshot of recurrent states", memory);
    if (taken.isOk()) {
      reserved = std::move(*taken);
      return true;
    }
  } while (dropOldest());
  return false;
}

Status Snapshots::read(Copy &copy, uint32_t slot,
                       std::span<const int32_t> table) {
  std::vector<ReadPart> reads;
  uint8_t *to = copy.data.get();
  for (const Part &part : parts) {
    reads.push_back({rangeOf(part.state, slot, part.bytes), 0, 0, 0, to});
    to += part.bytes;
  }
  uint64_t all = limits.pageTokens, first = copy.end / all;
  for (uint64_t i = first; i < first + pagesOf(copy); ++i)
    for (auto [cache, layer] : limits.layers) {
      uint64_t entries = std::min(all, copy.position - i * all);
      // Later entries of the page are written back, too.
      if (entries < all)
        std::memset(to, 0, artifact.pageBytes(cache));
      reads.push_back({{schema::Space::Kv, cache},
                       layer,
                       uint32_t(table[i]),
                       uint32_t(entries),
                       to});
      to += artifact.pageBytes(cache);
    }
  return executable.readAll(reads);
}

/// Returns a copy without data.
Snapshots::Copy Snapshots::copyOf(const Prefix &prefix,
                                  const Place &place) const {
  Copy copy(place, prefix);
  if (copy.position > prefix.end) {
    auto behind = prefix.tokens.subspan(
        prefix.end, copy.position + limits.lookahead - prefix.end);
    copy.tokens.assign(behind.begin(), behind.end());
  }
  for (uint64_t i = 0; i < pagesOf(copy); ++i)
    copy.makers.push_back(prefix.key.of(prefix.end / limits.pageTokens + i));
  if (prefix.page == 0) {
    copy.inputs = prefix.key.inputs;
    copy.salt.assign(prefix.key.salt.begin(), prefix.key.salt.end());
  }
  return copy;
}

/// Makes room for the data of a copy; returns false if memory is short.
bool Snapshots::makeData(Copy &copy, const MemoryLimit &memory) {
  uint64_t bytes = size + pagesOf(copy) * pageSize;
  if (!isOn() || !makeRoom(bytes, memory, copy.memory))
    return false;
  copy.data = std::make_unique_for_overwrite<uint8_t[]>(bytes);
  copy.bytes = bytes;
  return true;
}

/// Adds a copy that has its data.
Snapshots::Id Snapshots::keep(Copy copy) {
  if (!copy.isKept)
    dropSame(copy);
  Id id = ++last;
  use(copy, id);
  byPage.emplace(copy.page, id);
  counted.bytes += copy.bytes;
  copies.emplace(id, std::move(copy));
  ++counted.made;
  return id;
}

Snapshots::Id Snapshots::store(const Prefix &prefix, const Place &place,
                               uint32_t slot, std::span<const int32_t> table,
                               const MemoryLimit &memory) {
  Copy copy = copyOf(prefix, place);
  if (!makeData(copy, memory) || !read(copy, slot, table).isOk())
    return 0;
  return keep(std::move(copy));
}

Snapshots::Id Snapshots::adopt(const Prefix &prefix, const Place &place,
                               std::span<const uint8_t> data,
                               const MemoryLimit &memory) {
  Copy copy = copyOf(prefix, place);
  if (data.size() != size + pagesOf(copy) * pageSize || !makeData(copy, memory))
    return 0;
  std::ranges::copy(data, copy.data.get());
  return keep(std::move(copy));
}

std::vector<const Snapshots::Copy *>
Snapshots::attached(const Prefix &prefix) const {
  std::vector<const Copy *> found;
  auto [begin, end] = byPage.equal_range(prefix.page);
  for (auto at = begin; at != end; ++at)
    if (const Copy &copy = copies.at(at->second);
        !copy.isKept && copy.end == prefix.end && isOf(copy, prefix))
      found.push_back(&copy);
  std::ranges::sort(found, {}, &Copy::position);
  return found;
}

Status Snapshots::restore(const Copy &copy, uint32_t slot,
                          std::span<const int32_t> table, uint64_t taken) {
  const uint8_t *from = copy.data.get();
  for (const Part &part : parts) {
    MTP_RETURN_IF_ERROR(executable.write(rangeOf(part.state, slot, part.bytes),
                                         from, part.bytes));
    from += part.bytes;
  }
  uint64_t first = copy.end / limits.pageTokens;
  for (uint64_t i = first; i < first + pagesOf(copy); ++i)
    for (auto [cache, layer] : limits.layers) {
      if (i >= taken)
        MTP_RETURN_IF_ERROR(
            executable.writePage(cache, layer, uint32_t(table[i]), from));
      from += artifact.pageBytes(cache);
    }
  Id id = byUse.at(copy.tick);
  use(copies.at(id), id);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Forgetting
//===----------------------------------------------------------------------===//

void Snapshots::drop(Id id) {
  auto found = copies.find(id);
  if (found == copies.end())
    return;
  auto [begin, end] = byPage.equal_range(found->second.page);
  byPage.erase(std::find_if(
      begin, end, [id](const auto &entry) { return entry.second == id; }));
  byUse.erase(found->second.tick);
  counted.bytes -= found->second.bytes;
  ++counted.dropped;
  copies.erase(found);
}

bool Snapshots::dropOldest() {
  if (byUse.empty())
    return false;
  drop(byUse.begin()->second);
  return true;
}

void Snapshots::forget(uint32_t page) {
  for (auto at = byPage.find(page); at != byPage.end(); at = byPage.find(page))
    drop(at->second);
}

void Snapshots::move(uint32_t from, uint32_t to) {
  for (auto at = byPage.find(from); at != byPage.end();
       at = byPage.find(from)) {
    Id id = at->second;
    byPage.erase(at);
    byPage.emplace(to, id);
    copies.at(id).page = to;
  }
}

Status Snapshots::checkInvariant(const KvCacheManager &kv) const {
  uint64_t bytes = 0;
  for (const auto &[id, copy] : copies) {
    if (copy.page != 0 && !kv.isActive(copy.page))
      return internalError(strCat("a snapshot of ", copy.position,
                                  " tokens stands behind page ", copy.page,
                                  ", which holds nothing"));
    auto used = byUse.find(copy.tick);
    if (used == byUse.end() || used->second != id)
      return internalError(strCat("snapshot ", id, " has no use"));
    if (copy.memory.bytes() != copy.bytes)
      return internalError(strCat("snapshot ", id, " has ", copy.bytes,
                                  " bytes, and reserved ",
                                  copy.memory.bytes()));
    bytes += copy.bytes;
  }
  if (bytes != counted.bytes || bytes > limits.bytes ||
      byUse.size() != copies.size() || byPage.size() != copies.size() ||
      counted.made - counted.dropped != copies.size())
    return internalError(strCat(copies.size(), " snapshots of ", bytes,
                                " bytes are not the ", counted.bytes,
                                " bytes that were counted"));
  return okStatus();
}
