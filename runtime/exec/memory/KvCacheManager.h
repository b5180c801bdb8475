//===- KvCacheManager.h - Who holds which KV page ---------------*- C++ -*-===//
//
// Bookkeeping only: it never touches the pages' bytes. One page table serves
// all caches, target and drafter alike, so a page here is that page of every
// layer of every cache.
//
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

/// Who computed a page's entries: kernels of the plan, or a library of the
/// GPU's vendor with them, whose sums have another order.
enum class PageMaker : uint8_t { Plan, Library };

/// Who is to compute a slot's first pages; the plan's kernels compute what is
/// behind these. `isExact`: pages of others are taken only if they were made
/// so; else any are, the same where there is a choice. `inputs`: of what else
/// entries may depend on; pages with others are not taken.
struct Making {
  std::span<const PageMaker> pages;
  bool isExact = false;
  Hash128 inputs;
  /// Tells pages apart whose hashes are the same by chance. Valid during the
  /// call.
  std::span<const int32_t> salt;

  PageMaker of(size_t page) const {
    return page < pages.size() ? pages[page] : PageMaker::Plan;
  }
};

/// What a sequence may begin with: whole pages of its tokens.
struct Prefix {
  /// The last one; 0, the dummy, where there is none.
  uint32_t page = 0;
  /// Tokens up to its end.
  uint64_t end = 0;
  /// All that the sequence has.
  std::span<const int32_t> tokens;
  Making making;
};

struct KvConfig {
  /// Pages of the pool; page 0 is the dummy and never handed out.
  uint32_t pages = 0;
  uint32_t pageTokens = 0;
  uint32_t slots = 0;
  /// Entries of one slot's page table.
  uint32_t tableWidth = 0;
  /// Tokens behind a page that its content depends on.
  uint32_t lookahead = 0;
  /// The last tokens of a prompt that are run in any case, at least 1: the pick
  /// of the last one is the first output.
  uint32_t rerun = 1;
  bool prefixCache = true;
  PrefixIndex::HashFunction hash = PrefixIndex::hashTokens;
  /// Where pages alone do not stand for a prefix: whether a sequence may begin
  /// behind this one, whose making says who made its pages. Null: behind any.
  std::function<bool(const Prefix &prefix)> mayEnd;
  /// Called when what a page holds is worth nothing any more. May be null.
  std::function<void(uint32_t page)> onForget;
  /// Called when `to` comes to stand for what `from` held, right before that is
  /// forgotten. Null: no page does.
  std::function<void(uint32_t from, uint32_t to)> onMove;
};

/// Hands out pages to slots and shares those of equal prompt prefixes.
///
/// A page is free (content worthless), cached (in the prefix index, nobody's),
/// or held by one slot or more. Only whole pages whose entries are final are
/// ever shared; a slot writes only to pages that nobody
/// else holds and that are not in the index.
class KvCacheManager {
public:
  explicit KvCacheManager(const KvConfig &config);

  /// Memory that the bookkeeping of a pool takes from the start, in bytes.
  static uint64_t memoryBytes(const KvConfig &config);

  using Making = mtp::Making;

  /// Starts an empty slot: takes what the index has of `tokens` and new pages
  /// for `capacity` tokens in all. Returns the tokens taken, or -1, changing
  /// nothing, when pages are short. What is taken is a whole number of pages,
  /// and leaves the last `rerun` tokens to prefill.
  int64_t begin(uint32_t slot, std::span<const int32_t> tokens,
                uint64_t capacity, Making making = {{}, false, {}, {}});

  /// Who made, or is to make, the first pages of a slot: what begin() was told,
  /// but for the pages that it took.
  std::span<const PageMaker> makers(uint32_t slot) const {
    return slots[slot].makers;
  }

  /// Records that positions behind what begin() took, up to `length`, are final
  /// as well, in pages that `makers` made.
  void fill(uint32_t slot, uint64_t length, std::span<const PageMaker> makers);

  /// The page of the index that ends the first `end` tokens, a whole number of
  /// pages made just as `making` says; 0 where there is none. The lookahead is
  /// among the tokens.
  uint32_t find(std::span<const int32_t> tokens, uint64_t end,
                const Making &making) const;

  /// Whether a slot holds the page, or the index has it.
  bool isLive(uint32_t page) const {
    return page < pages.size() &&
           (pages[page].references > 0 || index.contains(page));
  }

  /// Makes room for positions 0 .. capacity-1. False, changing nothing, when
  /// pages are short.
  bool grow(uint32_t slot, uint64_t capacity);

  /// Gives up the pages behind positions 0 .. capacity-1, of which nothing is
  /// final.
  void shrink(uint32_t slot, uint64_t capacity);

  /// Records that positions below `length` are final. What lies behind is
  /// rolled back: later rounds write over it.
  void commit(uint32_t slot, uint64_t length);

  /// Puts the whole pages of a slot's tokens into the index, but for the last
  /// ones whose lookahead is not among them. What was put there is skipped; the
  /// tokens go on those of the last call. All their entries must be final.
  void publish(uint32_t slot, std::span<const int32_t> tokens);

  /// Gives up all pages of a slot.
  void release(uint32_t slot);

  /// The slot's page table: page numbers, 0 where there is none.
  std::span<const int32_t> table(uint32_t slot) const;

  /// Positions that the slot has pages for.
  uint64_t capacity(uint32_t slot) const {
    return uint64_t(slots[slot].pages.size()) * config.pageTokens;
  }

  /// Whether slots may take what others publish.
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
    /// When it became cached; its key in `lru`.
    uint64_t tick = 0;
  };
  struct Slot {
    std::vector<uint32_t> pages;
    /// Of the first pages; the others are the plan's.
    std::vector<PageMaker> makers;
    std::vector<int32_t> salt;
    uint64_t length = 0;
    /// Pages in the index, and where the chain goes on.
    uint32_t published = 0;
    PrefixIndex::Place place;
    /// Another slot's page, or a collision, ends the chain.
    bool isChainOver = false;
  };

  /// A page that can be shared.
  struct Match {
    uint32_t page;
    PageMaker maker;
  };
  std::vector<Match> chainOf(std::span<const int32_t> tokens, uint64_t behind,
                             const Making &making) const;
  std::vector<Match> match(std::span<const int32_t> tokens,
                           const Making &making) const;
  std::vector<int32_t> keyOf(std::span<const int32_t> tokens, uint64_t begin,
                             PageMaker maker,
                             std::span<const int32_t> salt) const;
  uint32_t take();
  void forget(uint32_t page) const;
  void hold(uint32_t page);
  void drop(uint32_t page);
  /// Lets `page`, which is held, take the place of a cached page in the index.
  void replace(uint32_t cached, uint32_t page);
  void append(uint32_t slot, uint32_t page);
  Status checkSlot(uint32_t slot, std::vector<uint32_t> &references) const;

  KvConfig config;
  std::vector<Page> pages;
  std::vector<Slot> slots;
  /// All slots' tables, config.tableWidth apart.
  std::vector<int32_t> tables;
  std::vector<uint32_t> freeList;
  /// Cached pages by age.
  std::map<uint64_t, uint32_t> lru;
  uint64_t clock = 0;
  uint32_t held = 0;
  PrefixIndex index;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_KVCACHEMANAGER_H
