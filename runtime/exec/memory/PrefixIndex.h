//===- PrefixIndex.h - Which pages hold which prefix ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_PREFIXINDEX_H
#define MTP_RUNTIME_EXEC_MEMORY_PREFIXINDEX_H

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace mtp {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const Hash128 &) const = default;
};

/// Finds the page that holds a prefix of a prompt. An entry stands for one page
/// of tokens after the page of its parent entry, so a chain of entries stands
/// for a prefix.
///
/// The hash only finds candidates. An entry matches if its parent, its tokens
/// and the next `lookahead` tokens are equal. The lookahead matters because a
/// drafter module of depth d writes at position p what it read at p + d.
class PrefixIndex {
public:
  using EntryId = uint64_t;
  static constexpr EntryId kRoot = 0;

  /// A function that continues the hash `seed` with bytes. Tests replace it to
  /// make collisions.
  using HashFunction = Hash128 (*)(Hash128 seed, std::span<const int32_t>);

  explicit PrefixIndex(HashFunction hash = hashTokens) : hash(hash) {}

  /// One step along a chain.
  struct Place {
    EntryId parent = kRoot;
    /// Hash of all tokens before this page.
    Hash128 chain;
  };

  struct Entry {
    EntryId id = kRoot;
    uint32_t page = 0;
    EntryId parent = kRoot;
    /// The page's tokens, preceded by the other words that distinguish the
    /// page, and followed by the lookahead.
    std::vector<int32_t> tokens;
  };

  /// Returns the entry of `tokens` (page and lookahead) after `place`, or null.
  const Entry *find(const Place &place, std::span<const int32_t> tokens) const;

  /// Adds an entry for `page`, unless its hash is taken. Returns the entry that
  /// then stands for the tokens, or null if a collision keeps them out.
  const Entry *insert(const Place &place, std::span<const int32_t> tokens,
                      uint32_t page);

  /// Returns the place after an entry; `pageTokens` of its tokens are the
  /// page's own.
  Place next(const Place &place, const Entry &entry, size_t pageTokens) const;

  /// Lets the entry of page `from` stand for page `to`, which has no entry and
  /// equal content. Later entries of the chain are found as before.
  void move(uint32_t from, uint32_t to);

  /// Forgets the entry of a page. Later entries of its chain are found no more.
  void erase(uint32_t page);

  /// Returns the pages whose chain has lost an entry. They are found no more,
  /// and keep pages of equal tokens out of the index.
  std::vector<uint32_t> lostPages() const;

  bool contains(uint32_t page) const { return keyOfPage.count(page) != 0; }
  size_t size() const { return entries.size(); }

  static Hash128 hashTokens(Hash128 seed, std::span<const int32_t> tokens);

private:
  HashFunction hash;
  EntryId nextId = kRoot + 1;
  std::map<Hash128, Entry> entries;
  std::unordered_map<uint32_t, Hash128> keyOfPage;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_PREFIXINDEX_H
