//===- TextSlice.cpp - Tokens of plain text -------------------------------===//
//
// Both functions run one automaton of UTF-8, which has a state per rest of a
// character: the number of trailing bytes, and the range of the next byte. The
// ranges come from the Unicode Standard, table 3-7.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/mask/TextSlice.h"

#include <algorithm>
#include <utility>

using namespace mtp::grammar;

namespace {

/// Bytes `first` to `last`, after which `next` is read.
struct Arc {
  uint8_t first, last, next;
};

/// States: 0 is between characters. 1 to 3 need one to three bytes. 4 to 7
/// follow E0, ED, F0 and F4.
constexpr Arc kBetween[] = {{0x20, 0x21, 0}, {0x23, 0x5B, 0}, {0x5D, 0x7F, 0},
                            {0xC2, 0xDF, 1}, {0xE0, 0xE0, 4}, {0xE1, 0xEC, 2},
                            {0xED, 0xED, 5}, {0xEE, 0xEF, 2}, {0xF0, 0xF0, 6},
                            {0xF1, 0xF3, 3}, {0xF4, 0xF4, 7}};
constexpr Arc kInside[] = {{0x80, 0xBF, 0}, {0x80, 0xBF, 1}, {0x80, 0xBF, 2},
                           {0xA0, 0xBF, 1}, {0x80, 0x9F, 1}, {0x90, 0xBF, 2},
                           {0x80, 0x8F, 2}};

std::span<const Arc> arcsOf(uint8_t state) {
  if (state == 0)
    return kBetween;
  return {&kInside[state - 1], 1};
}

/// The largest number of points that a search visits.
constexpr size_t kMaxPoints = 1024;

/// A frontier in frames that the check has opened, and the state of UTF-8.
struct Point {
  FrontierId frontier;
  StackId frames;
  uint8_t state;
};

/// Explores all plain text after a frontier, one character at a time.
class PlainSearch {
public:
  explicit PlainSearch(Machine &machine) : machine(machine) {}

  uint32_t run(FrontierId frontier, uint32_t most) {
    reach({frontier, kEmptyStack, 0});
    for (uint32_t length = 0; length < most; ++length) {
      std::vector<Point> level = std::exchange(between, {});
      if (level.empty())
        return kAnyLength;
      for (Point point : level)
        if (!readCharacter(point) || visited.size() > kMaxPoints)
          return length;
    }
    return most;
  }

private:
  void reach(Point point) {
    // The states fit into three bits.
    if (visited.insert({point.frontier, point.frames * 8 + point.state}))
      (point.state == 0 ? between : inside).push_back(point);
  }

  /// Reads all characters after `point`. Returns false if one is not allowed.
  bool readCharacter(Point point) {
    inside.push_back(point);
    while (!inside.empty()) {
      Point at = inside.back();
      inside.pop_back();
      for (Arc arc : arcsOf(at.state))
        if (!readArc(at, arc))
          return false;
    }
    return true;
  }

  bool readArc(Point at, Arc arc) {
    const uint8_t *classes = machine.classes();
    for (uint32_t byte = arc.first; byte <= arc.last; ++byte) {
      // Bytes of a class have one step.
      if (byte > arc.first && classes[byte] == classes[byte - 1])
        continue;
      Step step = machine.step(at.frontier, static_cast<uint8_t>(byte));
      if (step.frontier == kDeadFrontier)
        return false;
      Point to = {step.frontier, at.frames, arc.next};
      for (StateId address : step.opened)
        to.frames = frames.push(to.frames, address);
      while (machine.exits(to.frontier) && to.frames != kEmptyStack)
        mergeInto(to);
      reach(to);
    }
    return true;
  }

  void mergeInto(Point &point) {
    Step step = machine.merge(point.frontier, frames.top(point.frames));
    point.frontier = step.frontier;
    point.frames = frames.below(point.frames);
    for (StateId address : step.opened)
      point.frames = frames.push(point.frames, address);
  }

  Machine &machine;
  StackPool frames;
  PlaceSet visited;
  std::vector<Point> between, inside;
};

} // namespace

std::optional<uint32_t> mtp::grammar::plainLength(std::string_view bytes) {
  uint32_t length = 0;
  uint8_t state = 0;
  for (char c : bytes) {
    auto byte = static_cast<uint8_t>(c);
    length += state == 0;
    auto arcs = arcsOf(state);
    auto arc = std::find_if(arcs.begin(), arcs.end(), [&](Arc a) {
      return a.first <= byte && byte <= a.last;
    });
    if (arc == arcs.end())
      return std::nullopt;
    state = arc->next;
  }
  return length;
}

uint32_t mtp::grammar::allowedPlainLength(Machine &machine, FrontierId frontier,
                                          uint32_t most) {
  return PlainSearch(machine).run(frontier, most);
}
