//===- FrontierSet.cpp - Sets of places -----------------------------------===//

#include "runtime/grammar/machine/FrontierSet.h"

#include <algorithm>

using namespace mtp::grammar;

namespace {

/// Mixes a value into a hash, as MurmurHash3 ends.
uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value;
  hash *= 0xFF51AFD7ED558CCDull;
  hash ^= hash >> 33;
  hash *= 0xC4CEB9FE1A85EC53ull;
  return hash ^ (hash >> 29);
}

uint64_t keyOf(Place place) {
  return (uint64_t(place.state) << 32) | place.stack;
}

} // namespace

void PlaceSet::clear() {
  count = 0;
  if (++epoch == 0) {
    std::fill(slots.begin(), slots.end(), Slot());
    epoch = 1;
  }
}

PlaceSet::Slot &PlaceSet::slotOf(std::vector<Slot> &table, Place place) const {
  size_t mask = table.size() - 1;
  size_t i = mix(0, keyOf(place)) & mask;
  while (table[i].epoch == epoch && table[i].place != place)
    i = (i + 1) & mask;
  return table[i];
}

bool PlaceSet::insert(Place place) {
  Slot &slot = slotOf(slots, place);
  if (slot.epoch == epoch)
    return false;
  slot = {place, epoch};
  if (++count * 2 <= slots.size())
    return true;
  std::vector<Slot> larger(slots.size() * 2);
  for (const Slot &old : slots)
    if (old.epoch == epoch)
      slotOf(larger, old.place) = old;
  slots = std::move(larger);
  return true;
}

FrontierSet::FrontierSet() {
  bool isNew;
  intern({}, false, isNew);
}

FrontierId FrontierSet::intern(std::span<const Place> places, bool exits,
                               bool &isNew) {
  uint64_t hash = exits;
  for (Place place : places)
    hash = mix(hash, keyOf(place));
  auto [begin, end] = byHash.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    auto known = this->places(entry->second);
    if (this->exits(entry->second) == exits &&
        std::equal(known.begin(), known.end(), places.begin(), places.end())) {
      isNew = false;
      return entry->second;
    }
  }
  isNew = true;
  auto id = static_cast<FrontierId>(frontiers.size());
  frontiers.push_back({static_cast<uint32_t>(allPlaces.size()),
                       static_cast<uint32_t>(places.size()), exits});
  allPlaces.insert(allPlaces.end(), places.begin(), places.end());
  byHash.emplace(hash, id);
  return id;
}

size_t FrontierSet::bytes() const {
  return allPlaces.size() * sizeof(Place) +
         frontiers.size() * (sizeof(Frontier) + 64);
}
