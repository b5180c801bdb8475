//===- Races.h - Races between threads and between blocks -------*- C++ -*-===//
//
// A shadow of each word that threads touch: the thread that wrote it last, and
// the threads that have read it since. A barrier between their accesses orders
// two threads of a block. A bar.warp.sync of all lanes also orders two lanes of
// a warp. Shuffles and mma order nothing, as in PTX. Blocks of a launch are
// never ordered. Launches always are (graphs check their edges separately).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_GPUSIM_MACHINE_RACES_H
#define MTP_TEST_GPUSIM_MACHINE_RACES_H

#include "test/GpuSim/target/SimAbi.h"
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mtp::gpusim {

inline constexpr uint16_t kManyOfBlock = 0xffff;
inline constexpr uint16_t kManyOfWarp = 0x8000;
inline constexpr uint32_t kManyBlocks = 0xffffffff;

/// Thread and time of an access, or of the last accesses of one kind to a word.
/// Several threads that are not ordered are represented by the smallest group
/// that contains them. `stamp` is the launch's number for global memory and the
/// block's number for shared memory. Numbers of barriers are modulo a power of
/// two, so that the marks of a word fill half a cache line. A mark is two words
/// of 64 bits, which stay in registers; the compiler would build bitfields in
/// memory.
class Mark {
public:
  Mark() = default;
  Mark(uint32_t stamp, uint32_t block, uint32_t epoch, uint32_t warpEpoch,
       uint16_t thread, bool atomic)
      : place(stamp | uint64_t(block) << 32),
        time((epoch & kEpoch) | (uint64_t(warpEpoch) << 24 & kWarpEpoch) |
             (atomic ? kAtomicBit : 0) | uint64_t(thread) << 48) {}

  uint32_t stamp() const { return uint32_t(place); }
  uint32_t block() const { return place >> 32; }
  uint16_t thread() const { return time >> 48; }
  bool isAtomic() const { return time & kAtomicBit; }
  /// Returns the warp of a mark of one thread or of several lanes.
  unsigned warp() const {
    return thread() & kManyOfWarp ? thread() & 0x7fff : thread() / 32;
  }

  /// Returns true if all accesses of the mark happen before an access of one
  /// thread.
  bool isOrdered(Mark who) const {
    if (stamp() != who.stamp())
      return true;
    if (place != who.place)
      return false;
    uint64_t differs = time ^ who.time;
    if (differs >> 48 == 0 || differs & kEpoch)
      return true;
    return differs & kWarpEpoch && thread() != kManyOfBlock &&
           warp() == who.thread() / 32u;
  }
  /// Returns true if widening the mark by `who` would not change it: most reads
  /// are by threads of a block, or blocks, whose other members have read the
  /// word.
  bool includes(Mark who) const {
    if (stamp() != who.stamp() || isAtomic())
      return false;
    return block() == kManyBlocks ||
           (place == who.place && thread() == kManyOfBlock &&
            !((time ^ who.time) & kEpoch));
  }
  /// Widens the group of a mark that is not ordered before `who`.
  void widen(Mark who) {
    uint16_t group = kManyOfBlock;
    if (place != who.place)
      place |= uint64_t(kManyBlocks) << 32;
    else if (thread() != kManyOfBlock && warp() == who.thread() / 32u)
      group = kManyOfWarp | (who.thread() / 32u);
    time = (time & ~kThread & (who.time | ~kAtomicBit)) | uint64_t(group) << 48;
  }

  friend class Races;

private:
  static constexpr uint64_t kEpoch = 0xffffff, kWarpEpoch = 0x7fffff000000,
                            kAtomicBit = uint64_t(1) << 47,
                            kThread = uint64_t(0xffff) << 48;

  uint64_t place = 0, time = 0;
};

struct Race {
  uintptr_t address;
  /// "written" or "read", and the thread, for the message.
  const char *earlier;
  Mark mark;
};

class Races {
public:
  /// Records an access of a thread, whose mark has the flags' kAtomic. Returns
  /// null, or the race with an earlier access.
  const Race *access(uintptr_t address, uint64_t bytes, uint32_t flags,
                     Mark who) {
    uintptr_t first = address / 4, count = bytes / 4;
    if ((address | bytes) % 4 || first % kWordsOfPage + count > kWordsOfPage)
      return accessSlowly(address, bytes, flags, who);
    Word *word = &wordAt(first);
    for (Word *end = word + count; word != end; ++word, address += 4)
      if (!update(word->marks, flags, who)) [[unlikely]]
        if (const Race *race = accessWord(*word, address, flags, who))
          return race;
    return nullptr;
  }
  /// Forgets all accesses. Worth calling between launches after the shadow has
  /// grown.
  void clear();
  size_t pageCount() const { return pages.size(); }

private:
  struct Marks {
    Mark writer, reader;
  };
  /// If the bytes of the word differ, the writer's stamp is kSplit, which no
  /// launch has, and the reader's place is an index into `bytes`.
  struct alignas(32) Word {
    Marks marks;

    bool isSplit() const { return marks.writer.stamp() == kSplit; }
  };
  static constexpr uint32_t kSplit = 0xffffffff;
  static constexpr uintptr_t kWordsOfPage = 1024;
  using Page = std::array<Word, kWordsOfPage>;
  struct Recent {
    uintptr_t index = ~uintptr_t(0);
    Page *page = nullptr;
  };

  Word &wordAt(uintptr_t index) {
    uintptr_t page = index / kWordsOfPage;
    Recent &recent = recents[page % recents.size()];
    if (page != recent.index) [[unlikely]]
      findPage(page);
    return (*recent.page)[index % kWordsOfPage];
  }
  static bool update(Marks &marks, uint32_t flags, Mark who);
  void findPage(uintptr_t page);
  const Race *raceWith(const Marks &marks, uintptr_t address, Mark who);
  const Race *accessWord(Word &word, uintptr_t address, uint32_t flags,
                         Mark who);
  const Race *accessBytes(Word &word, uintptr_t begin, uintptr_t end,
                          uint32_t flags, Mark who);
  const Race *accessSlowly(uintptr_t address, uint64_t bytes, uint32_t flags,
                           Mark who);

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  std::vector<std::array<Marks, 4>> bytes{1};
  /// Pages that were used recently, by their index.
  std::array<Recent, 256> recents;
  Race found;
};

/// Adds an access to a word or byte: replaces a mark that is ordered before
/// `who`, else widens its group. Returns false and changes nothing if the
/// access races with an earlier one, or if the word is split. Two atomic
/// accesses do not race.
inline bool Races::update(Marks &marks, uint32_t flags, Mark who) {
  Mark writer = marks.writer, reader = marks.reader;
  if (writer.stamp() == kSplit)
    return false;
  bool isAfterWriter = writer.isOrdered(who);
  if (!isAfterWriter && !(who.isAtomic() && writer.isAtomic()))
    return false;
  if (flags & kWrite) {
    if (!reader.isOrdered(who) && !(who.isAtomic() && reader.isAtomic()))
      return false;
    if (isAfterWriter)
      writer = who;
    else
      writer.widen(who);
    marks.writer = writer;
  }
  if (flags & kRead && !reader.includes(who)) {
    if (reader.isOrdered(who))
      reader = who;
    else
      reader.widen(who);
    marks.reader = reader;
  }
  return true;
}

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_RACES_H
