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
static bool isOrdered(const Mark &mark, const Mark &who) {
  if (mark.stamp != who.stamp)
    return true;
  if (mark.block != who.block)
    return false;
  if (mark.thread == who.thread || mark.epoch != who.epoch)
    return true;
  return mark.thread != kManyOfBlock && warpOf(mark) == who.thread / 32u &&
         mark.warpEpoch != who.warpEpoch;
}

/// Returns true if adding `who` would not change a mark: most reads are by
/// threads of a block, or blocks, whose other members have read the word.
static bool includes(const Mark &mark, const Mark &who) {
  if (mark.stamp != who.stamp || mark.atomic)
    return false;
  return mark.block == kManyBlocks ||
         (mark.block == who.block && mark.thread == kManyOfBlock &&
          mark.epoch == who.epoch);
}

/// Adds `who` to a mark: replaces the mark if it is ordered before `who`, else
/// widens its group.
static void add(Mark &mark, const Mark &who, bool atomic) {
  if (isOrdered(mark, who)) {
    mark = who;
    mark.atomic = atomic;
    return;
  }
  if (mark.block != who.block) {
    mark.block = kManyBlocks;
    mark.thread = kManyOfBlock;
  } else if (mark.thread != kManyOfBlock && warpOf(mark) == who.thread / 32u) {
    mark.thread = kManyOfWarp | (who.thread / 32u);
  } else {
    mark.thread = kManyOfBlock;
  }
  mark.atomic &= atomic;
}

/// Adds an access to a word or byte. Returns true if it races with an earlier
/// one, which `found` then describes. Two atomic accesses do not race.
bool Races::update(Marks &marks, uint32_t flags, const Mark &who) {
  bool atomic = flags & kAtomic, races = false;
  if (!isOrdered(marks.writer, who) && !(atomic && marks.writer.atomic)) {
    found = {0, "written", marks.writer};
    races = true;
  } else if (flags & kWrite && !isOrdered(marks.reader, who) &&
             !(atomic && marks.reader.atomic)) {
    found = {0, "read", marks.reader};
    races = true;
  }
  if (flags & kWrite)
    add(marks.writer, who, atomic);
  if (flags & kRead && !includes(marks.reader, who))
    add(marks.reader, who, atomic);
  return races;
}

Races::Word &Races::wordAt(uintptr_t index) {
  uintptr_t page = index / kWordsOfPage;
  Recent &recent = recents[page % recents.size()];
  if (page != recent.index) {
    auto &entry = pages[page];
    if (!entry)
      entry = std::make_unique<Page>();
    recent = {page, entry.get()};
  }
  return (*recent.page)[index % kWordsOfPage];
}

const Race *Races::accessBytes(Word &word, uintptr_t begin, uintptr_t end,
                               uint32_t flags, const Mark &who) {
  if (!word.isSplit()) {
    size_t index = bytes.size();
    bytes.push_back({word.marks, word.marks, word.marks, word.marks});
    word.marks.writer.stamp = kSplit;
    word.marks.reader.stamp = uint32_t(index);
  }
  for (uintptr_t byte = begin; byte < end; ++byte)
    if (update(bytes[word.marks.reader.stamp][byte % 4], flags, who)) {
      found.address = byte;
      return &found;
    }
  return nullptr;
}

const Race *Races::access(uintptr_t address, uint64_t count, uint32_t flags,
                          const Mark &who) {
  uintptr_t end = address + count;
  while (address < end) {
    uintptr_t next = std::min(end, (address & ~uintptr_t(3)) + 4);
    Word &word = wordAt(address / 4);
    if (next - address < 4 || word.isSplit()) {
      if (const Race *race = accessBytes(word, address, next, flags, who))
        return race;
    } else if (update(word.marks, flags, who)) {
      found.address = address;
      return &found;
    }
    address = next;
  }
  return nullptr;
}

void Races::clear() {
  pages.clear();
  bytes.resize(1);
  recents = {};
}
