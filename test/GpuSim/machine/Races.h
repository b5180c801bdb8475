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

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mtp::gpusim {

/// Thread and time of an access, or of the last accesses of one kind to a word.
/// Several threads that are not ordered are represented by the smallest group
/// that contains them. `stamp` is the launch's number for global memory and the
/// block's number for shared memory. Numbers of barriers are modulo a power of
/// two, so that the marks of a word fill half a cache line.
struct Mark {
  uint32_t stamp = 0, block = 0;
  uint64_t epoch : 24 = 0, warpEpoch : 23 = 0, atomic : 1 = 0, thread : 16 = 0;
};

struct Race {
  uintptr_t address;
  /// "written" or "read", and the thread, for the message.
  const char *earlier;
  Mark mark;
};

class Races {
public:
  /// Records an access of a thread. Returns null, or the race with an earlier
  /// access.
  const Race *access(uintptr_t address, uint64_t bytes, uint32_t flags,
                     const Mark &who);
  /// Forgets all accesses. Worth calling between launches after the shadow has
  /// grown.
  void clear();
  size_t pageCount() const { return pages.size(); }

private:
  struct Marks {
    Mark writer, reader;
  };
  /// If the bytes of the word differ, the writer's stamp is kSplit, which no
  /// launch has, and the reader's stamp is an index into `bytes`.
  struct alignas(32) Word {
    Marks marks;

    bool isSplit() const { return marks.writer.stamp == kSplit; }
  };
  static constexpr uint32_t kSplit = 0xffffffff;
  static constexpr uintptr_t kWordsOfPage = 1024;
  using Page = std::array<Word, kWordsOfPage>;
  struct Recent {
    uintptr_t index = ~uintptr_t(0);
    Page *page = nullptr;
  };

  Word &wordAt(uintptr_t index);
  bool update(Marks &marks, uint32_t flags, const Mark &who);
  const Race *accessBytes(Word &word, uintptr_t begin, uintptr_t end,
                          uint32_t flags, const Mark &who);

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  std::vector<std::array<Marks, 4>> bytes{1};
  /// Pages that were used recently, by their index.
  std::array<Recent, 256> recents;
  Race found;
};

inline constexpr uint16_t kManyOfBlock = 0xffff;
inline constexpr uint16_t kManyOfWarp = 0x8000;
inline constexpr uint32_t kManyBlocks = 0xffffffff;

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_RACES_H
