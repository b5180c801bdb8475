//===- Races.h - Races between threads and between blocks -------*- C++ -*-===//
//
// A shadow of each word that threads touch: who wrote it last, and who read it
// since. Two threads of a block are ordered by a barrier between their
// accesses, two lanes of a warp by a bar.warp.sync of all lanes too; shuffles
// and mma order nothing, as in PTX. Blocks of a launch are not ordered at all,
// and launches always are (graphs check their edges otherwise).
//
//===----------------------------------------------------------------------===//

#ifndef TEST_GPUSIM_RACES_H
#define TEST_GPUSIM_RACES_H

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mtp::gpusim {

/// Who accesses, and when: `stamp` is the launch's number for global memory
/// and the block's for shared memory.
struct Who {
  uint32_t stamp;
  uint32_t block;
  uint32_t epoch, warpEpoch;
  uint16_t thread;
};

/// The last accesses of one kind to a word. Several threads that nothing
/// orders are kept as the smallest group that holds them.
struct Mark {
  uint32_t stamp = 0, block = 0, epoch = 0, warpEpoch = 0;
  uint16_t thread = 0;
  uint16_t atomic = 0;
};

struct Race {
  uintptr_t address;
  /// "written" or "read", and by whom, for the message.
  const char *earlier;
  Mark mark;
};

class Races {
public:
  /// Notes an access; true where it races with one before, which `race` then
  /// describes.
  bool access(uintptr_t address, uint64_t bytes, uint32_t flags, const Who &who,
              Race &race);
  /// Forgets everything; worth calling between launches when it grew.
  void clear();
  size_t pageCount() const { return pages.size(); }

private:
  struct Marks {
    Mark writer, reader;
  };
  /// `split` is an index into `bytes` where the word's bytes differ.
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

#endif // TEST_GPUSIM_RACES_H
