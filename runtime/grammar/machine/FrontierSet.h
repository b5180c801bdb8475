//===- FrontierSet.h - Sets of places ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MACHINE_FRONTIERSET_H
#define MTP_RUNTIME_GRAMMAR_MACHINE_FRONTIERSET_H

#include "runtime/grammar/machine/StackPool.h"

namespace mtp::grammar {

/// A state, and the return addresses above the frame of its frontier.
struct Place {
  StateId state = 0;
  StackId stack = kEmptyStack;

  auto operator<=>(const Place &) const = default;
};

using FrontierId = uint32_t;
/// The frontier without places that does not exit.
constexpr FrontierId kDeadFrontier = 0;

/// A set of places that is cleared often. Takes constant time to clear.
class PlaceSet {
public:
  PlaceSet() : slots(64) {}
  void clear();
  /// Adds a place. Returns false if the set has it.
  bool insert(Place place);
  size_t size() const { return count; }

private:
  struct Slot {
    Place place;
    uint32_t epoch = 0;
  };
  Slot &slotOf(std::vector<Slot> &table, Place place) const;

  std::vector<Slot> slots;
  uint32_t epoch = 1;
  size_t count = 0;
};

/// All frontiers of a machine. Equal sets of places have equal ids.
class FrontierSet {
public:
  FrontierSet();

  /// Returns the id of a set of sorted places. `isNew` says whether the set was
  /// unknown.
  FrontierId intern(std::span<const Place> places, bool exits, bool &isNew);

  std::span<const Place> places(FrontierId id) const {
    const Frontier &frontier = frontiers[id];
    return {allPlaces.data() + frontier.begin, frontier.count};
  }
  bool exits(FrontierId id) const { return frontiers[id].exits; }
  size_t size() const { return frontiers.size(); }
  size_t bytes() const;

private:
  struct Frontier {
    uint32_t begin = 0, count = 0;
    bool exits = false;
  };

  std::vector<Place> allPlaces;
  std::vector<Frontier> frontiers;
  std::unordered_multimap<uint64_t, FrontierId> byHash;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MACHINE_FRONTIERSET_H
