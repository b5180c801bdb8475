//===- Races.cpp - Races between threads and between blocks ---------------===//

#include "Races.h"

#include "test/GpuSim/target/SimAbi.h"
#include <algorithm>

using namespace mtp::gpusim;

/// Returns the warp of a mark of one thread or of several lanes.
static unsigned warpOf(const Mark &mark) {
  return mark.thread & kManyOfWarp ? mark.thread & 0x7fff : mark.thread / 32;
}

/// Returns true if all accesses of a mark happen before an access of `who`.
static bool isOrdered(const Mark &mark, const Who &who) {
  if (mark.stamp != who.stamp)
    return true;
  if (mark.block != who.block)
    return false;
  if (mark.thread == who.thread || mark.epoch != who.epoch)
    return true;
  return mark.thread != kManyOfBlock && warpOf(mark) == who.thread / 32u &&
         mark.warpEpoch != who.warpEpoch;
}

/// Adds `who` to a mark: replaces the mark if it is ordered before `who`, else
/// widens its group.
static void add(Mark &mark, const Who &who, bool atomic) {
  if (isOrdered(mark, who)) {
    mark = {who.stamp,     who.block,  who.epoch,
            who.warpEpoch, who.thread, uint16_t(atomic)};
    return;
  }
  if (mark.block != who.block) {
    mark.block = kManyBlocks;
    mark.thread = kManyOfBlock;
  } else if (mark.thread != kManyOfBlock && warpOf(mark) == who.thread / 32u) {
    mark.thread = kManyOfWarp | who.thread / 32;
  } else {
    mark.thread = kManyOfBlock;
  }
  mark.atomic &= atomic;
}

/// Returns the kind of the earlier access that races, or null. Two atomic
/// accesses do not race.
const char *Races::update(Marks &marks, uint32_t flags, const Who &who,
                          Mark &other) {
  bool atomic = flags & kAtomic;
  const char *race = nullptr;
  if (!isOrdered(marks.writer, who) && !(atomic && marks.writer.atomic)) {
    race = "written";
    other = marks.writer;
  } else if (flags & kWrite && !isOrdered(marks.reader, who) &&
             !(atomic && marks.reader.atomic)) {
    race = "read";
    other = marks.reader;
  }
  if (flags & kWrite)
    add(marks.writer, who, atomic);
  if (flags & kRead)
    add(marks.reader, who, atomic);
  return race;
}

Races::Word &Races::wordAt(uintptr_t index) {
  uintptr_t page = index / kWordsOfPage;
  if (page != lastIndex) {
    auto &entry = pages[page];
    if (!entry)
      entry = std::make_unique<Page>();
    lastIndex = page;
    lastPage = entry.get();
  }
  return (*lastPage)[index % kWordsOfPage];
}

bool Races::access(uintptr_t address, uint64_t count, uint32_t flags,
                   const Who &who, Race &race) {
  uintptr_t end = address + count;
  while (address < end) {
    uintptr_t next = std::min(end, (address & ~uintptr_t(3)) + 4);
    Word &word = wordAt(address / 4);
    bool whole = next - address == 4;
    if (!whole && !word.split) {
      word.split = bytes.size();
      bytes.push_back({word.marks, word.marks, word.marks, word.marks});
    }
    if (!word.split) {
      race.earlier = update(word.marks, flags, who, race.mark);
      race.address = address;
      if (race.earlier)
        return true;
    } else {
      for (uintptr_t byte = address; byte < next; ++byte) {
        race.earlier =
            update(bytes[word.split][byte % 4], flags, who, race.mark);
        race.address = byte;
        if (race.earlier)
          return true;
      }
    }
    address = next;
  }
  return false;
}

void Races::clear() {
  pages.clear();
  bytes.resize(1);
  lastIndex = ~uintptr_t(0);
  lastPage = nullptr;
}
