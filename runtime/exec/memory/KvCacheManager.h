//===- KvCacheManager.h - Who holds which KV page ---------------*- C++ -*-===//
// Bookkeeping only: it never touches the bytes of pages. One page table serves
// all caches, target and drafter alike, so a page here is that page of every
// layer of every cache.
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_KVCACHEMANAGER_H
#define MTP_RUNTIME_EXEC_MEMORY_KVCACHEMANAGER_H

#include "runtime/core/Status.h"
#include "runtime/exec/memory/PrefixIndex.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace mtp {

/// The maker of a page's entries: kernels of the plan, or these and a library
/// of the GPU's vendor, which adds up sums in another order.
enum class PageProvenance : uint8_t { Plan, Library };

/// The makers of a slot's first pages; kernels of the plan make all later ones.
/// `isExact`: other sequences' pages are taken only if they were made so.
/// Otherwise pages of any maker are taken, equal ones first. `inputs`: a hash
/// of what else entries may depend on. Pages with other inputs are not taken.
/// `takesNone`: no pages of other sequences are taken.
struct PageKey {
  std::span<const PageProvenance> pages;
  bool isExact = false;
  Hash128 inputs;
  /// Tells pages apart whose hashes are equal by chance. Valid during the call.
  std::span<const int32_t> salt;
  bool takesNone = false;

  PageProvenance of(size_t page) const {
    return page < pages.size() ? pages[page] : PageProvenance::Plan;
  }
};

/// Whole pages of a sequence's tokens, with which the sequence may begin.
struct Prefix {
  /// The last page; 0, the dummy, if there is none.
  uint32_t page = 0;
  /// Tokens up to the end of the last page.
  uint64_t end = 0;
  /// All tokens that the sequence has.
  std::span<const int32_t> tokens;
  PageKey key;
};

struct KvConfig {
  /// Pages of the pool; page 0 is the dummy and never handed out.
  uint32_t pages = 0;
  uint32_t pageTokens = 0;
  uint32_t slots = 0;
  /// Entries of one slot's page table.
  uint32_t tableWidth = 0;
  /// The number of tokens after a page on which its content depends.
  uint32_t lookahead = 0;
  /// The number of last tokens of a prompt that run in any case, at least 1:
  /// the pick of the last one is the first output.
  uint32_t rerun = 1;
  /// Pages that the prefix cache leaves free for padding slots. Sequences may
  /// take them if no page is cached.
  uint32_t spare = 0;
  bool prefixCache = true;
  PrefixIndex::HashFunction hash = PrefixIndex::hashTokens;
  /// Whether a sequence may begin after this prefix, whose making says how its
  /// pages were made. For models whose pages alone do not stand for a prefix.
  /// Null: after any prefix.
  std::function<bool(const Prefix &prefix)> mayEnd;
  /// Called when the content of a page becomes worthless. May be null.
  std::function<void(uint32_t page)> onForget;
  /// Called when `to` replaces `from` in the index, right before `from` is
  /// forgotten. Null: no page replaces another.
  std::function<void(uint32_t from, uint32_t to)> onMove;
};

/// Hands out pages to slots, and shares the pages of equal prompt prefixes.
///
/// A page is free (content worthless), cached (in the prefix index, held by no
/// slot), or held by one slot or more. Only whole pages whose entries are final
/// are shared. A slot writes only to pages that no other slot holds and that
/// are not in the index.
class KvCacheManager {
public:
  explicit KvCacheManager(const KvConfig &config);

  /// Returns the bytes that a pool's bookkeeping takes from the start.
  static uint64_t memoryBytes(const KvConfig &config);

  using PageKey = mtp::PageKey;

  /// Starts an empty slot: takes the pages that the index has of `tokens`, and
  /// new pages for `capacity` tokens in all. Returns the tokens taken, or -1,
  /// changing nothing, if pages are short. The tokens taken are a whole number
  /// of pages, and leave the last `rerun` tokens to prefill.
  int64_t begin(uint32_t slot, std::span<const int32_t> tokens,
                uint64_t capacity, PageKey key = {{}, false, {}, {}, false});

  /// Returns the makers of a slot's first pages: those that begin() was given,
  /// except for the pages that it took.
  std::span<const PageProvenance> makers(uint32_t slot) const {
    return slots[slot].makers;
  }

  /// Records that positions after those that begin() took, up to `length`, are
  /// final too, in pages that `makers` made.
  void fill(uint32_t slot, uint64_t length,
            std::span<const PageProvenance> makers);

  /// Returns the page of the index that ends the first `end` tokens, a whole
  /// number of pages made exactly as `key` says; 0 if there is none. The
  /// lookahead is among the tokens.
  uint32_t find(std::span<const int32_t> tokens, uint64_t end,
                const PageKey &key) const;

  /// A page that can be shared.
  struct Match {
    uint32_t page;
    PageProvenance maker;
  };
  /// Returns the pages of the index that hold the first tokens, in order. At
  /// least `behind` tokens follow each page. `behind` is the lookahead or more.
  std::vector<Match> chainOf(std::span<const int32_t> tokens, uint64_t behind,
                             const PageKey &key) const;

  /// Gives up the pages of the first tokens that no slot holds, from the last
  /// one on, down to the first one that a slot holds. Returns their number.
  /// Also gives up the cached pages after them, which are found no more.
  size_t forget(std::span<const int32_t> tokens, const PageKey &key);

  /// Whether a slot holds the page, or the index has it.
  bool isActive(uint32_t page) const {
    return page < pages.size() &&
           (pages[page].references > 0 || index.contains(page));
  }

  /// Makes room for positions 0 .. capacity-1. False, changing nothing, if
  /// pages are short. A padding slot takes free pages only.
  bool grow(uint32_t slot, uint64_t capacity, bool isPadding = false);

  /// Gives up the pages after positions 0 .. capacity-1, of which nothing is
  /// final.
  void shrink(uint32_t slot, uint64_t capacity);

  /// Records that positions below `length` are final. Later positions are
  /// rolled back: later rounds overwrite them.
  void commit(uint32_t slot, uint64_t length);

  /// Puts the whole pages of a slot's tokens into the index, except the last
  /// ones whose lookahead is not among the tokens. Pages of earlier calls are
  /// skipped; the tokens continue those of the last call. All their entries
  /// must be final.
  void publish(uint32_t slot, std::span<const int32_t> tokens);

  /// Gives up all pages of a slot.
  void release(uint32_t slot);

  /// Returns the slot's page table: page numbers, 0 for no page.
  std::span<const int32_t> table(uint32_t slot) const;

  /// Positions that the slot has pages for.
  uint64_t capacity(uint32_t slot) const {
    return uint64_t(slots[slot].pages.size()) * config.pageTokens;
  }

  /// Whether slots may take pages that other slots publish.
  bool sharesPrefixes() const { return config.prefixCache; }
  uint32_t freePages() const { return uint32_t(freeList.size()); }
  uint32_t cachedPages() const { return uint32_t(lru.size()); }
  uint32_t heldPages() const { return held; }
  /// Pages that a slot could still get.
  uint32_t availablePages() const { return freePages() + cachedPages(); }
  /// Pages that can be handed out at all.
  uint32_t usablePages() const { return config.pages - 1; }
  /// Entries of one slot's page table.
  uint32_t tableWidth() const { return config.tableWidth; }
  uint64_t pagesFor(uint64_t tokens) const {
    return (tokens + config.pageTokens - 1) / config.pageTokens;
  }

  /// Recounts everything. Internal, naming the first contradiction.
  Status checkInvariant() const;

private:
  struct Page {
    uint32_t references = 0;
    /// The time at which it became cached; its key in `lru`.
    uint64_t tick = 0;
  };
  struct Slot {
    std::vector<uint32_t> pages;
    /// The makers of the first pages; the plan makes the others.
    std::vector<PageProvenance> makers;
    std::vector<int32_t> salt;
    uint64_t length = 0;
    /// The number of pages in the index, and where the chain continues.
    uint32_t published = 0;
    PrefixIndex::Place place;
    /// Whether another slot's page, or a collision, has ended the chain.
    bool isChainOver = false;
    /// The number of pages of a padding slot; 0 for a sequence.
    uint32_t lent = 0;

    /// Adds a page, also to the slot's table.
    void append(uint32_t page, int32_t *table) {
      table[pages.size()] = int32_t(page);
      pages.push_back(page);
    }
  };

  std::vector<Match> match(std::span<const int32_t> tokens,
                           const PageKey &key) const;
  void evict(uint32_t least);
  void hold(uint32_t page);
  void drop(uint32_t page);
  Status checkSlot(uint32_t slot, std::vector<uint32_t> &references) const;

  KvConfig config;
  std::vector<Page> pages;
  std::vector<Slot> slots;
  /// The tables of all slots, config.tableWidth apart.
  std::vector<int32_t> tables;
  std::vector<uint32_t> freeList;
  /// Cached pages by age.
  std::map<uint64_t, uint32_t> lru;
  uint64_t clock = 0;
  uint32_t held = 0;
  /// Pages of all padding slots, until their launch ends.
  uint32_t lent = 0;
  PrefixIndex index;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_KVCACHEMANAGER_H
