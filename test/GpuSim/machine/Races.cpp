//===- Races.cpp - Races between threads and between blocks ---------------===//

#include "Races.h"

#include <algorithm>

using namespace mtp::gpusim;

void Races::findPage(uintptr_t page) {
  auto &entry = pages[page];
  if (!entry)
    entry = std::make_unique<Page>();
  recents[page % recents.size()] = {page, entry.get()};
}

/// Describes the race of an access with the one that `update` found.
const Race *Races::raceWith(const Marks &marks, uintptr_t address, Mark who) {
  bool isWritten = !marks.writer.isOrdered(who) &&
                   !(who.isAtomic() && marks.writer.isAtomic());
  found = {address, isWritten ? "written" : "read",
           isWritten ? marks.writer : marks.reader};
  return &found;
}

const Race *Races::accessBytes(Word &word, uintptr_t begin, uintptr_t end,
                               uint32_t flags, Mark who) {
  if (!word.isSplit()) {
    size_t index = bytes.size();
    bytes.push_back({word.marks, word.marks, word.marks, word.marks});
    word.marks.writer.place = kSplit;
    word.marks.reader.place = index;
  }
  for (uintptr_t byte = begin; byte < end; ++byte) {
    Marks &marks = bytes[word.marks.reader.place][byte % 4];
    if (!update(marks, flags, who))
      return raceWith(marks, byte, who);
  }
  return nullptr;
}

/// Records an access to a word that is split or races.
const Race *Races::accessWord(Word &word, uintptr_t address, uint32_t flags,
                              Mark who) {
  if (word.isSplit())
    return accessBytes(word, address, address + 4, flags, who);
  return update(word.marks, flags, who) ? nullptr
                                        : raceWith(word.marks, address, who);
}

const Race *Races::accessSlowly(uintptr_t address, uint64_t count,
                                uint32_t flags, Mark who) {
  uintptr_t end = address + count;
  while (address < end) {
    uintptr_t next = std::min(end, (address & ~uintptr_t(3)) + 4);
    Word &word = wordAt(address / 4);
    const Race *race = next - address < 4
                           ? accessBytes(word, address, next, flags, who)
                           : accessWord(word, address, flags, who);
    if (race)
      return race;
    address = next;
  }
  return nullptr;
}

void Races::clear() {
  pages.clear();
  bytes.resize(1);
  recents = {};
}
