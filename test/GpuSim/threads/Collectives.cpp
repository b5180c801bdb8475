//===- Collectives.cpp - Barriers, shuffles, votes and redux --------------===//

#include "Collectives.h"

#include "Calls.h"
#include <bit>
#include <cstdio>
#include <cstring>

using namespace mtp::gpusim;

static std::string hex(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

/// Faults, and names the lane of the mask that cannot come or waits elsewhere.
[[noreturn]] static void explainMissing(const char *name, uint32_t mask) {
  unsigned warp = running->self().id / 32, own = running->self().id % 32;
  if (!(mask >> own & 1))
    running->faultHere(std::string(name) +
                       ": expected the lane itself in the "
                       "mask, got " +
                       hex(mask));
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1))
      continue;
    const Thread *lane = running->lane(warp, i);
    if (!lane || lane->state == State::Done)
      running->faultHere(std::string(name) + ": expected lane " +
                         std::to_string(i) + " of mask " + hex(mask) +
                         (lane ? ", which ended" : ", which the block lacks"));
    if (lane->state == State::AtBarrier ||
        (lane->state == State::InWarp &&
         (lane->mask != mask || std::strcmp(lane->where, name) != 0)))
      running->faultHere(
          std::string(name) + " with mask " + hex(mask) + ": lane " +
          std::to_string(i) + " waits in " + lane->where +
          (lane->state == State::InWarp ? " with mask " + hex(lane->mask)
                                        : std::string()));
  }
  running->faultHere(std::string(name) + " with mask " + hex(mask) +
                     ": the lanes that wait are not those of one collective");
}

void mtp::gpusim::meet(const char *name, uint32_t mask, void *result,
                       const void *arguments, void (*compute)(const Lanes &)) {
  Thread &me = running->self();
  Warp &warp = running->warp(me.id / 32);
  uint32_t bit = 1u << me.id % 32;
  auto meeting = warp.meetings.begin();
  while (meeting != warp.meetings.end() &&
         (meeting->name != name || meeting->mask != mask))
    ++meeting;
  bool isNew = meeting == warp.meetings.end();
  // The waiting lanes of the mask must be exactly the lanes of this meeting.
  uint32_t absent = warp.ended | warp.atBarrier | ~warp.present;
  if (!(mask & bit) || mask & absent ||
      (warp.meeting & mask) != (isNew ? 0 : meeting->arrived))
    explainMissing(name, mask);
  if (isNew)
    meeting = warp.meetings.insert(meeting, {name, mask, 0});
  me.state = State::InWarp;
  me.where = name;
  me.mask = mask;
  me.arguments = arguments;
  me.result = result;
  meeting->arrived |= bit;
  warp.meeting |= bit;
  if (meeting->arrived != mask) {
    running->suspend();
    return;
  }
  warp.meetings.erase(meeting);
  warp.meeting &= ~mask;
  Lanes lanes{{}, mask};
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1)
      lanes.lane[i] = running->lane(me.id / 32, i);
  compute(lanes);
  for (Thread *lane : lanes.lane)
    if (lane)
      running->makeReady(*lane);
  running->suspend();
}

void calls::barrier_cta_sync_aligned_all(void *, const void *arguments) {
  int32_t id;
  std::memcpy(&id, arguments, sizeof id);
  if (id < 0 || id > 15)
    running->faultHere("expected a barrier from 0 to 15, got " +
                       std::to_string(id));
  running->barrier(id);
}

void calls::bar_warp_sync(void *result, const void *arguments) {
  uint32_t mask;
  std::memcpy(&mask, arguments, sizeof mask);
  meet("bar.warp.sync", mask, result, arguments, [](const Lanes &lanes) {
    // A barrier of some lanes orders only these lanes on the device. The check
    // keeps one time for a warp, so it reports accesses that only such a
    // barrier orders.
    Warp &warp = running->warp(running->self().id / 32);
    if (lanes.mask == warp.present)
      ++warp.epoch;
  });
}

namespace {
struct ShuffleArguments {
  uint32_t mask, value;
  int32_t offset;
  uint32_t clamp;
};
enum class Mode { Up, Down, Butterfly, Index };
} // namespace

/// Returns the source lane, and sets `inside` if it is in the segment, by the
/// formulas of the PTX manual. `clamp` holds the segment's mask above its last
/// lane.
static int sourceLane(Mode mode, int lane, const ShuffleArguments &arguments,
                      bool &inside) {
  int segment = arguments.clamp >> 8 & 31, clamp = arguments.clamp & 31;
  int offset = arguments.offset & 31;
  int last = (lane & segment) | (clamp & ~segment);
  int first = lane & segment, source = lane;
  switch (mode) {
  case Mode::Up:
    source = lane - offset;
    inside = source >= last;
    break;
  case Mode::Down:
    source = lane + offset;
    inside = source <= last;
    break;
  case Mode::Butterfly:
    source = lane ^ offset;
    inside = source <= last;
    break;
  case Mode::Index:
    source = first | (offset & ~segment);
    inside = source <= last;
    break;
  }
  return inside ? source : lane;
}

template <Mode mode, bool withPredicate>
static void shuffleLanes(const Lanes &lanes) {
  uint32_t values[32];
  bool insides[32];
  for (int i = 0; i < 32; ++i) {
    if (!lanes.lane[i])
      continue;
    ShuffleArguments arguments;
    std::memcpy(&arguments, lanes.lane[i]->arguments, sizeof arguments);
    int source = sourceLane(mode, i, arguments, insides[i]);
    if (!lanes.lane[source])
      running->faultHere("shfl.sync: lane " + std::to_string(i) +
                         " reads lane " + std::to_string(source) +
                         ", which is not in mask " + hex(lanes.mask));
    ShuffleArguments other;
    std::memcpy(&other, lanes.lane[source]->arguments, sizeof other);
    values[i] = other.value;
  }
  for (int i = 0; i < 32; ++i)
    if (lanes.lane[i]) {
      auto *result = static_cast<char *>(lanes.lane[i]->result);
      std::memcpy(result, &values[i], 4);
      if (withPredicate)
        result[4] = insides[i];
    }
}

template <Mode mode, bool withPredicate>
static void shuffle(const char *name, void *result, const void *arguments) {
  uint32_t mask;
  std::memcpy(&mask, arguments, sizeof mask);
  meet(name, mask, result, arguments, shuffleLanes<mode, withPredicate>);
}

#define MTP_SHUFFLE(mode, call, text)                                          \
  void calls::shfl_sync_##call##_i32(void *result, const void *arguments) {    \
    shuffle<mode, false>(text, result, arguments);                             \
  }                                                                            \
  void calls::shfl_sync_##call##_f32(void *result, const void *arguments) {    \
    shuffle<mode, false>(text, result, arguments);                             \
  }                                                                            \
  void calls::shfl_sync_##call##_i32p(void *result, const void *arguments) {   \
    shuffle<mode, true>(text, result, arguments);                              \
  }                                                                            \
  void calls::shfl_sync_##call##_f32p(void *result, const void *arguments) {   \
    shuffle<mode, true>(text, result, arguments);                              \
  }
MTP_SHUFFLE(Mode::Up, up, "shfl.sync.up")
MTP_SHUFFLE(Mode::Down, down, "shfl.sync.down")
MTP_SHUFFLE(Mode::Butterfly, bfly, "shfl.sync.bfly")
MTP_SHUFFLE(Mode::Index, idx, "shfl.sync.idx")
#undef MTP_SHUFFLE

namespace {
struct VoteArguments {
  uint32_t mask;
  uint8_t vote;
};
struct ReduxArguments {
  uint32_t value, mask;
};
} // namespace

/// Returns the lanes of the mask that voted yes.
static uint32_t ballot(const Lanes &lanes) {
  uint32_t yes = 0;
  for (int i = 0; i < 32; ++i)
    if (lanes.lane[i]) {
      VoteArguments vote;
      std::memcpy(&vote, lanes.lane[i]->arguments, sizeof vote);
      yes |= uint32_t(vote.vote & 1) << i;
    }
  return yes;
}

template <typename T>
static void giveAll(const Lanes &lanes, T value) {
  for (Thread *lane : lanes.lane)
    if (lane)
      std::memcpy(lane->result, &value, sizeof value);
}

static void vote(const char *name, void *result, const void *arguments,
                 void (*compute)(const Lanes &)) {
  VoteArguments own;
  std::memcpy(&own, arguments, sizeof own);
  meet(name, own.mask, result, arguments, compute);
}

void calls::vote_all_sync(void *result, const void *arguments) {
  vote("vote.sync.all", result, arguments, [](const Lanes &lanes) {
    giveAll<uint8_t>(lanes, ballot(lanes) == lanes.mask);
  });
}
void calls::vote_any_sync(void *result, const void *arguments) {
  vote("vote.sync.any", result, arguments,
       [](const Lanes &lanes) { giveAll<uint8_t>(lanes, ballot(lanes) != 0); });
}
void calls::vote_uni_sync(void *result, const void *arguments) {
  vote("vote.sync.uni", result, arguments, [](const Lanes &lanes) {
    uint32_t yes = ballot(lanes);
    giveAll<uint8_t>(lanes, yes == 0 || yes == lanes.mask);
  });
}
void calls::vote_ballot_sync(void *result, const void *arguments) {
  vote("vote.sync.ballot", result, arguments,
       [](const Lanes &lanes) { giveAll<uint32_t>(lanes, ballot(lanes)); });
}

template <uint32_t (*combine)(uint32_t, uint32_t)>
static void reduceLanes(const Lanes &lanes) {
  bool first = true;
  uint32_t total = 0;
  for (const Thread *lane : lanes.lane)
    if (lane) {
      ReduxArguments own;
      std::memcpy(&own, lane->arguments, sizeof own);
      total = first ? own.value : combine(total, own.value);
      first = false;
    }
  giveAll(lanes, total);
}

static uint32_t addBoth(uint32_t a, uint32_t b) { return a + b; }
static uint32_t andBoth(uint32_t a, uint32_t b) { return a & b; }
static uint32_t orBoth(uint32_t a, uint32_t b) { return a | b; }
static uint32_t xorBoth(uint32_t a, uint32_t b) { return a ^ b; }
static uint32_t lesser(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t lesserSigned(uint32_t a, uint32_t b) {
  return int32_t(a) < int32_t(b) ? a : b;
}
static uint32_t greaterSigned(uint32_t a, uint32_t b) {
  return int32_t(a) > int32_t(b) ? a : b;
}

#define MTP_REDUX(call, combine)                                               \
  void calls::redux_sync_##call(void *result, const void *arguments) {         \
    ReduxArguments own;                                                        \
    std::memcpy(&own, arguments, sizeof own);                                  \
    meet("redux.sync." #call, own.mask, result, arguments,                     \
         reduceLanes<combine>);                                                \
  }
MTP_REDUX(add, addBoth)
MTP_REDUX(min, lesserSigned)
MTP_REDUX(max, greaterSigned)
MTP_REDUX(umin, lesser)
MTP_REDUX(umax, greater)
MTP_REDUX(and, andBoth)
MTP_REDUX(or, orBoth)
MTP_REDUX(xor, xorBoth)
#undef MTP_REDUX
