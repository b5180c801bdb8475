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

/// Thread and time of an access. `stamp` is the launch's number for global
/// memory and the block's number for shared memory.
struct Who {
  uint32_t stamp;
  uint32_t block;
  uint32_t epoch, warpEpoch;
  uint16_t thread;
};

/// Last accesses of one kind to a word. Several threads that are not ordered
/// are represented by the smallest group that contains them.
struct Mark {
  uint32_t stamp = 0, block = 0, epoch = 0, warpEpoch = 0;
  uint16_t thread = 0;
  uint16_t atomic = 0;
};

struct Race {
  uintptr_t address;
  /// "written" or "read", and the thread, for the message.
  const char *earlier;
  Mark mark;
};

class Races {
public:
  /// Records an access. Returns true if it races with an earlier one, which
  /// `race` then describes.
  bool access(uintptr_t address, uint64_t bytes, uint32_t flags, const Who &who,
              Race &race);
  /// Forgets all accesses. Worth calling between launches after the shadow has
  /// grown.
  void clear();
  size_t pageCount() const { return pages.size(); }

private:
  struct Marks {
    Mark writer, reader;
  };
  /// If the bytes of the word differ, `split` is an index into `bytes`.
  struct Word {
    Marks marks;
    uint32_t split = 0;
  };
  static constexpr uintptr_t kWordsOfPage = 1024;
  using Page = std::array<Word, kWordsOfPage>;

  Word &wordAt(uintptr_t index);
  static const char *update(Marks &marks, uint32_t flags, const Who &who,
                            Mark &other);

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  std::vector<std::array<Marks, 4>> bytes{1};
  uintptr_t lastIndex = ~uintptr_t(0);
  Page *lastPage = nullptr;
};

inline constexpr uint16_t kManyOfBlock = 0xffff;
inline constexpr uint16_t kManyOfWarp = 0x8000;
inline constexpr uint32_t kManyBlocks = 0xffffffff;

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_RACES_H
