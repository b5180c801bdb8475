//===- KvCacheManager.cpp - Who holds which KV page -----------------------===//

#include "runtime/exec/memory/KvCacheManager.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;

KvCacheManager::KvCacheManager(const KvConfig &config)
    : config(config), pages(config.pages), slots(config.slots),
      tables(size_t(config.slots) * config.tableWidth, 0), index(config.hash) {
  // Low page numbers go out first.
  for (uint32_t page = config.pages; page-- > 1;)
    freeList.push_back(page);
}

uint64_t KvCacheManager::memoryBytes(const KvConfig &config) {
  // The free list grows by doubling.
  return uint64_t(config.pages) * (sizeof(Page) + 2 * sizeof(uint32_t)) +
         uint64_t(config.slots) * config.tableWidth * sizeof(int32_t);
}

//===----------------------------------------------------------------------===//
// Single pages
//===----------------------------------------------------------------------===//

/// Tells the owner of states that the content of a page has become worthless.
static void forgetPage(const KvConfig &config, uint32_t page) {
  if (config.onForget)
    config.onForget(page);
}

/// Gives up the cached pages that were released first, until `least` pages and
/// the spare pages are free. Pages of padding slots count as spare pages.
void KvCacheManager::evict(uint32_t least) {
  least = std::max(least, config.spare - std::min(config.spare, lent));
  while (freePages() < least && !lru.empty()) {
    uint32_t page = lru.begin()->second;
    lru.erase(lru.begin());
    index.erase(page);
    freeList.push_back(page);
    forgetPage(config, page);
  }
}

void KvCacheManager::hold(uint32_t page) {
  if (pages[page].references++ > 0)
    return;
  ++held;
  if (index.contains(page))
    lru.erase(pages[page].tick);
}

void KvCacheManager::drop(uint32_t page) {
  if (--pages[page].references > 0)
    return;
  --held;
  if (index.contains(page)) {
    pages[page].tick = clock++;
    lru.emplace(pages[page].tick, page);
  } else {
    freeList.push_back(page);
    forgetPage(config, page);
  }
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Returns the key of the page of tokens from `begin` on in the index. It
/// starts with the page's maker. The key of the first page ends with the salt,
/// which tells all later pages apart too, since they hang on the first one.
static std::vector<int32_t> keyOf(const KvConfig &config,
                                  std::span<const int32_t> tokens,
                                  uint64_t begin, PageProvenance maker,
                                  std::span<const int32_t> salt) {
  std::vector<int32_t> key = {int32_t(maker)};
  auto first = tokens.begin() + int64_t(begin);
  key.insert(key.end(), first, first + config.pageTokens + config.lookahead);
  if (begin == 0)
    key.insert(key.end(), salt.begin(), salt.end());
  return key;
}

std::vector<KvCacheManager::Match>
KvCacheManager::chainOf(std::span<const int32_t> tokens, uint64_t behind,
                        const PageKey &key) const {
  std::vector<Match> chain;
  if (!config.prefixCache)
    return chain;
  PrefixIndex::Place place{PrefixIndex::kRoot, key.inputs};
  for (uint64_t end = config.pageTokens; end + behind <= tokens.size();
       end += config.pageTokens) {
    auto find = [&](PageProvenance maker) {
      return index.find(place, keyOf(config, tokens, end - config.pageTokens,
                                     maker, key.salt));
    };
    PageProvenance maker = key.of(chain.size());
    const PrefixIndex::Entry *entry = find(maker);
    if (!entry && !key.isExact) {
      maker = maker == PageProvenance::Plan ? PageProvenance::Library
                                            : PageProvenance::Plan;
      entry = find(maker);
    }
    if (!entry)
      break;
    chain.push_back({entry->page, maker});
    place = index.next(place, *entry, config.pageTokens + 1);
  }
  return chain;
}

std::vector<KvCacheManager::Match>
KvCacheManager::match(std::span<const int32_t> tokens,
                      const PageKey &key) const {
  // The tokens after a page, which belong to its key, must be there, too.
  uint64_t behind = std::max(config.lookahead, config.rerun);
  std::vector<Match> chain = chainOf(tokens, behind, key);
  std::vector<PageProvenance> makers(key.pages.begin(), key.pages.end());
  makers.resize(std::max(makers.size(), chain.size()), PageProvenance::Plan);
  std::ranges::transform(chain, makers.begin(), &Match::maker);
  auto mayEnd = [&] {
    uint64_t end = uint64_t(chain.size()) * config.pageTokens;
    return config.mayEnd({chain.back().page,
                          end,
                          tokens,
                          {makers, key.isExact, key.inputs, key.salt}});
  };
  while (config.mayEnd && !chain.empty() && !mayEnd())
    chain.pop_back();
  return chain;
}

uint32_t KvCacheManager::find(std::span<const int32_t> tokens, uint64_t end,
                              const PageKey &key) const {
  tokens = tokens.first(std::min(tokens.size(), end + config.lookahead));
  std::vector<Match> chain = chainOf(tokens, config.lookahead, key);
  bool isWhole = end > 0 && chain.size() * config.pageTokens == end;
  return isWhole ? chain.back().page : 0;
}

size_t KvCacheManager::forget(std::span<const int32_t> tokens,
                              const PageKey &key) {
  std::vector<Match> chain = chainOf(tokens, config.lookahead, key);
  auto giveUp = [this](uint32_t page) {
    lru.erase(pages[page].tick);
    index.erase(page);
    freeList.push_back(page);
    forgetPage(config, page);
  };
  size_t count = 0;
  for (; !chain.empty() && pages[chain.back().page].references == 0; ++count) {
    giveUp(chain.back().page);
    chain.pop_back();
  }
  if (count == 0)
    return 0;
  for (uint32_t page : index.lostPages())
    if (pages[page].references == 0)
      giveUp(page);
  return count;
}

int64_t KvCacheManager::begin(uint32_t slot, std::span<const int32_t> tokens,
                              uint64_t capacity, PageKey key) {
  std::vector<Match> chain;
  if (!key.takesNone)
    chain = match(tokens, key);
  // Shared pages are held first, so that making room cannot evict them.
  for (Match found : chain)
    hold(found.page);
  uint64_t need = pagesFor(capacity);
  if (need > config.tableWidth || need - chain.size() > availablePages()) {
    for (Match found : chain)
      drop(found.page);
    return -1;
  }
  std::vector<PageProvenance> &makers = slots[slot].makers;
  makers.assign(key.pages.begin(), key.pages.end());
  makers.resize(std::max(makers.size(), chain.size()), PageProvenance::Plan);
  int32_t *row = &tables[size_t(slot) * config.tableWidth];
  for (size_t i = 0; i < chain.size(); ++i) {
    slots[slot].append(chain[i].page, row);
    makers[i] = chain[i].maker;
  }
  slots[slot].length = uint64_t(chain.size()) * config.pageTokens;
  slots[slot].place.chain = key.inputs;
  slots[slot].salt.assign(key.salt.begin(), key.salt.end());
  grow(slot, capacity);
  return int64_t(slots[slot].length);
}

bool KvCacheManager::grow(uint32_t slot, uint64_t capacity, bool isPadding) {
  Slot &s = slots[slot];
  uint64_t have = s.pages.size(), need = pagesFor(capacity);
  if (need <= have)
    return true;
  if (need > config.tableWidth ||
      need - have > (isPadding ? freePages() : availablePages()))
    return false;
  for (; have < need; ++have) {
    if (!isPadding)
      evict(1);
    uint32_t page = freeList.back();
    freeList.pop_back();
    hold(page);
    s.append(page, &tables[size_t(slot) * config.tableWidth]);
    s.lent += isPadding;
    lent += isPadding;
  }
  evict(0);
  return true;
}

void KvCacheManager::shrink(uint32_t slot, uint64_t capacity) {
  std::vector<uint32_t> &own = slots[slot].pages;
  for (uint64_t keep = pagesFor(capacity); own.size() > keep; own.pop_back()) {
    drop(own.back());
    tables[size_t(slot) * config.tableWidth + own.size() - 1] = 0;
  }
  evict(0);
}

void KvCacheManager::commit(uint32_t slot, uint64_t length) {
  slots[slot].length = length;
}

void KvCacheManager::fill(uint32_t slot, uint64_t length,
                          std::span<const PageProvenance> makers) {
  Slot &s = slots[slot];
  size_t first = s.length / config.pageTokens;
  s.makers.resize(std::max(s.makers.size(), first + makers.size()),
                  PageProvenance::Plan);
  std::ranges::copy(makers, s.makers.begin() + int64_t(first));
  s.length = length;
}

void KvCacheManager::publish(uint32_t slot, std::span<const int32_t> tokens) {
  if (!config.prefixCache)
    return;
  Slot &s = slots[slot];
  uint64_t length = uint64_t(config.pageTokens) + config.lookahead;
  while (!s.isChainOver) {
    uint64_t begin = uint64_t(s.published) * config.pageTokens;
    if (begin + length > tokens.size())
      return;
    uint32_t page = s.pages[s.published];
    PageProvenance maker = PageKey{s.makers}.of(s.published);
    const PrefixIndex::Entry *entry = index.insert(
        s.place, keyOf(config, tokens, begin, maker, s.salt), page);
    // No prefix could end with a page that no slot holds, so this slot did not
    // take it. It hides the pages after it. So this slot's page replaces it.
    if (uint32_t cached = entry ? entry->page : page;
        cached != page && config.onMove && pages[cached].references == 0) {
      lru.erase(pages[cached].tick);
      index.move(cached, page);
      freeList.push_back(cached);
      config.onMove(cached, page);
      forgetPage(config, cached);
    }
    // After another slot's page the chain would outlive its start, which this
    // slot does not hold.
    s.isChainOver = !entry || entry->page != page;
    if (s.isChainOver)
      return;
    s.place = index.next(s.place, *entry, config.pageTokens + 1);
    ++s.published;
  }
}

void KvCacheManager::release(uint32_t slot) {
  // Pages at the end of a prefix are worth less than those at its start, and so
  // must be given up first.
  std::vector<uint32_t> &own = slots[slot].pages;
  for (size_t i = own.size(); i-- > 0;)
    drop(own[i]);
  lent -= slots[slot].lent;
  slots[slot] = {};
  auto row = tables.begin() + size_t(slot) * config.tableWidth;
  std::fill(row, row + config.tableWidth, 0);
  evict(0);
}

std::span<const int32_t> KvCacheManager::table(uint32_t slot) const {
  return {tables.data() + size_t(slot) * config.tableWidth, config.tableWidth};
}

//===----------------------------------------------------------------------===//
// Invariant
//===----------------------------------------------------------------------===//

Status KvCacheManager::checkSlot(uint32_t slot,
                                 std::vector<uint32_t> &references) const {
  const Slot &s = slots[slot];
  std::span<const int32_t> row = table(slot);
  for (uint32_t i = 0; i < row.size(); ++i) {
    uint32_t page = i < s.pages.size() ? s.pages[i] : 0;
    if (row[i] != int32_t(page))
      return internalError(strCat("slot ", slot, ": table entry ", i, " is ",
                                  row[i], ", expected ", page));
    if (i >= s.pages.size())
      continue;
    if (page == 0 || page >= config.pages)
      return internalError(strCat("slot ", slot, ": holds page ", page));
    ++references[page];
    uint64_t end = uint64_t(i + 1) * config.pageTokens;
    bool shared = pages[page].references > 1 || index.contains(page);
    if (shared && end > s.length)
      return internalError(strCat("slot ", slot, ": page ", page,
                                  " is shared, but ends at ", end,
                                  " behind the length ", s.length));
  }
  return okStatus();
}

Status KvCacheManager::checkInvariant() const {
  std::vector<uint32_t> references(config.pages, 0);
  for (uint32_t slot = 0; slot < config.slots; ++slot)
    MTP_RETURN_IF_ERROR(checkSlot(slot, references));
  std::vector<uint8_t> isFree(config.pages, 0);
  for (uint32_t page : freeList)
    if (page == 0 || isFree[page]++)
      return internalError(strCat("page ", page, " is free twice"));
  std::vector<uint8_t> isCached(config.pages, 0);
  for (auto [tick, page] : lru)
    isCached[page] |= pages[page].tick == tick;
  uint32_t heldCount = 0, indexed = 0;
  for (uint32_t page = 1; page < config.pages; ++page) {
    if (references[page] != pages[page].references)
      return internalError(strCat("page ", page, " has ",
                                  pages[page].references,
                                  " references, expected ", references[page]));
    bool cached = isCached[page], isHeld = references[page] > 0;
    bool isIndexed = index.contains(page);
    heldCount += isHeld;
    indexed += isIndexed;
    if (isFree[page] + cached + isHeld != 1)
      return internalError(
          strCat("page ", page, " is not exactly one of free, cached, held"));
    if (cached != (!isHeld && isIndexed))
      return internalError(strCat("page ", page,
                                  " is cached without an entry "
                                  "or has one while free"));
  }
  if (heldCount != held || indexed != index.size() ||
      freePages() + cachedPages() + held != usablePages())
    return internalError(strCat("free ", freePages(), " + cached ",
                                cachedPages(), " + held ", held, " is not ",
                                usablePages()));
  if (cachedPages() > 0 && freePages() + lent < config.spare)
    return internalError(strCat(
        "free ", freePages(), " + lent ", lent, " is less than the ",
        config.spare, " spare pages, with ", cachedPages(), " cached pages"));
  return okStatus();
}
