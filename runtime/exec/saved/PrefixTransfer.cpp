//===- PrefixTransfer.cpp - Between pages and saved prefixes --------------===//

#include "runtime/exec/saved/PrefixTransfer.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace mtp;
using saved::PrefixImage;
using saved::PrefixKey;
using Match = KvCacheManager::Match;

PrefixTransfer::PrefixTransfer(const Artifact &artifact, Executable &executable,
                               SequenceMemory &memory, PrefixKey key)
    : artifact(artifact), executable(executable), memory(memory),
      own(std::move(key)) {
  const SequenceMemoryOptions &rules = memory.rules();
  own.pageTokens = rules.envelope.pageTokens;
  own.lookahead = rules.reuse.lookahead;
  own.layers = rules.reuse.filled;
  for (auto [cache, layer] : own.layers)
    own.pageBytes += artifact.pageBytes(cache);
  if (const Snapshots *snapshots = memory.snapshots())
    own.stateBytes = snapshots->bytes();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Status PrefixTransfer::checkSharing() const {
  if (memory.pages().sharesPrefixes())
    return okStatus();
  return failedPrecondition(
      "expected a session that shares prefixes, got one without a prefix "
      "cache (or a model whose states no page stands for)");
}

Status PrefixTransfer::checkKey(const PrefixKey &key) const {
  if (key.artifact != own.artifact)
    return invalidArgument(strCat("expected a prefix of the artifact '",
                                  own.model, "' (", cache::toHex(own.artifact),
                                  "), got one of '", key.model, "' (",
                                  cache::toHex(key.artifact), ")"));
  if (key.plan != own.plan)
    return invalidArgument(strCat("expected a prefix of the artifact's plan ",
                                  own.plan, ", got one of plan ", key.plan,
                                  ": plans have entries of different bits"));
  if (key.pageTokens != own.pageTokens || key.lookahead != own.lookahead ||
      key.layers != own.layers || key.pageBytes != own.pageBytes ||
      key.stateBytes != own.stateBytes)
    return invalidArgument(
        strCat("expected a prefix of ", own.layers.size(),
               " layers in caches, got one of ", key.layers.size(),
               ": one of the sessions drafts (k > 0) and the other does not"));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// Returns the key of pages that a request without inputs may share.
static PageKey keyOf(const KeptState &kept,
                     std::span<const PageProvenance> makers = {},
                     bool isExact = false) {
  return {makers, isExact, kept.inputHash, kept.salt};
}

static std::vector<PageProvenance> makersOf(std::span<const Match> chain) {
  std::vector<PageProvenance> makers(chain.size());
  std::ranges::transform(chain, makers.begin(), &Match::maker);
  return makers;
}

Status PrefixTransfer::readPages(std::span<const Match> chain,
                                 PrefixImage &image) {
  std::vector<ReadPart> parts;
  uint8_t *to = image.pages.span().data();
  for (const Match &match : chain)
    for (auto [cache, layer] : own.layers) {
      parts.push_back(
          {{schema::Space::Kv, cache}, layer, match.page, own.pageTokens, to});
      to += artifact.pageBytes(cache);
    }
  return executable.readAll(parts);
}

std::vector<const Snapshots::Copy *>
PrefixTransfer::copiesOf(std::span<const Match> chain,
                         std::span<const int32_t> tokens,
                         const KeptState &kept) const {
  std::vector<const Snapshots::Copy *> all;
  const Snapshots *snapshots = std::as_const(memory).snapshots();
  if (!snapshots)
    return all;
  std::vector<PageProvenance> makers = makersOf(chain);
  for (size_t pages = 0; pages <= chain.size(); ++pages) {
    uint32_t page = pages ? chain[pages - 1].page : 0;
    Prefix prefix{page, pages * own.pageTokens, tokens, keyOf(kept, makers)};
    auto found = snapshots->attached(prefix);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

static saved::StateCopy savedOf(const Snapshots::Copy &copy) {
  saved::StateCopy to;
  to.position = copy.position;
  to.end = copy.end;
  to.pending = copy.pending;
  for (PageProvenance maker : copy.makers)
    to.makers.push_back(uint8_t(maker));
  to.data = saved::Bytes(copy.bytes);
  std::memcpy(to.data.span().data(), copy.data.get(), copy.bytes);
  return to;
}

/// Returns the number of tokens with which a sequence can begin that has the
/// pages of a chain, or else one of the copies.
uint64_t
PrefixTransfer::usable(std::span<const Match> chain,
                       std::span<const Snapshots::Copy *const> copies) const {
  if (!memory.snapshots())
    return chain.size() * own.pageTokens;
  uint64_t last = 0;
  for (const Snapshots::Copy *copy : copies)
    last = std::max(last, copy->position);
  return last;
}

Result<PrefixImage> PrefixTransfer::save(std::span<const int32_t> tokens,
                                         const std::string &salt,
                                         const MemoryLimit &limit,
                                         MemoryReservation &reserved) {
  MTP_RETURN_IF_ERROR(checkSharing());
  KeptState kept = keptStateOf({}, salt);
  std::vector<Match> chain =
      memory.pages().chainOf(tokens, own.lookahead, keyOf(kept));
  auto copies = copiesOf(chain, tokens, kept);
  uint64_t last = usable(chain, copies);
  if (last == 0)
    return notFound(strCat("expected a prompt whose beginning is in the prefix "
                           "cache, got none of its ",
                           tokens.size(), " tokens there"));
  uint64_t bytes = chain.size() * own.pageBytes;
  for (const Snapshots::Copy *copy : copies)
    bytes += copy->bytes;
  MTP_ASSIGN_OR_RETURN(reserved,
                       hostMemory().reserve(bytes, "a saved prefix", limit));
  PrefixImage image;
  image.key = own;
  image.inputs[0] = kept.inputHash.low;
  image.inputs[1] = kept.inputHash.high;
  for (const Match &match : chain)
    image.makers.push_back(uint8_t(match.maker));
  for (const Snapshots::Copy *copy : copies)
    image.copies.push_back(savedOf(*copy));
  // No later token belongs to a page or a copy, or must run after them.
  uint64_t behind = std::max(own.lookahead, memory.rules().reuse.rerun);
  uint64_t count = std::max(last, image.pageEnd()) + behind;
  tokens = tokens.first(std::min<uint64_t>(tokens.size(), count));
  image.tokens.assign(tokens.begin(), tokens.end());
  image.pages = saved::Bytes(chain.size() * own.pageBytes);
  MTP_RETURN_IF_ERROR(readPages(chain, image));
  return image;
}

//===----------------------------------------------------------------------===//
// Restoring
//===----------------------------------------------------------------------===//

/// Writes the pages of an image, except the first `from`, to those of the slot.
Status PrefixTransfer::writePages(const PrefixImage &image, uint64_t from) {
  std::span<const int32_t> table = memory.pages().table(slot());
  for (uint64_t i = from; i < image.makers.size(); ++i) {
    const uint8_t *source = image.page(i).data();
    for (auto [cache, layer] : own.layers) {
      MTP_RETURN_IF_ERROR(
          executable.writePage(cache, layer, uint32_t(table[i]), source));
      source += artifact.pageBytes(cache);
    }
  }
  return okStatus();
}

void PrefixTransfer::restoreCopies(const PrefixImage &image,
                                   const KeptState &kept,
                                   const MemoryLimit &limit) {
  const KvCacheManager &kv = memory.pages();
  for (const saved::StateCopy &copy : image.copies) {
    // The makers of the copy's own pages come after those of its page.
    std::vector<PageProvenance> makers;
    for (uint64_t i = 0; i < copy.end / own.pageTokens; ++i)
      makers.push_back(PageProvenance(image.makers[i]));
    for (uint8_t maker : copy.makers)
      makers.push_back(PageProvenance(maker));
    Prefix prefix{0, copy.end, image.tokens, keyOf(kept, makers, true)};
    prefix.page = kv.find(image.tokens, copy.end, prefix.key);
    if (copy.end == 0 || prefix.page != 0)
      memory.snapshots()->adopt(prefix, {copy.position, copy.pending},
                                copy.data.span(), limit);
  }
}

Result<uint64_t> PrefixTransfer::restore(const PrefixImage &image,
                                         const std::string &salt,
                                         const MemoryLimit &limit) {
  MTP_RETURN_IF_ERROR(checkSharing());
  MTP_RETURN_IF_ERROR(checkKey(image.key));
  KeptState kept = keptStateOf({}, salt);
  if (image.inputs[0] != kept.inputHash.low ||
      image.inputs[1] != kept.inputHash.high)
    return invalidArgument("expected the cache salt with which the prefix was "
                           "saved, got another one");
  KvCacheManager &kv = memory.pages();
  std::vector<PageProvenance> makers;
  for (uint8_t maker : image.makers)
    makers.push_back(PageProvenance(maker));
  // Copies, and a file's own numbers, may need tokens of pages that the image
  // does not have. The slot must neither take nor publish these pages.
  std::span<const int32_t> tokens = image.tokens;
  auto upTo = [&](uint64_t count) {
    return tokens.first(std::min<uint64_t>(tokens.size(), count));
  };
  uint64_t behind = std::max(own.lookahead, memory.rules().reuse.rerun);
  int64_t taken =
      kv.begin(slot(), upTo(image.pageEnd() + own.pageTokens - 1 + behind),
               image.pageEnd(), keyOf(kept, makers, true));
  if (taken < 0)
    return resourceExhausted(strCat("the prefix has ", makers.size(),
                                    " KV pages, but only ", kv.availablePages(),
                                    " are free"));
  uint64_t from = uint64_t(taken) / own.pageTokens;
  Status status = writePages(image, from);
  if (status.isOk()) {
    kv.fill(slot(), image.pageEnd(), std::span(makers).subspan(from));
    kv.publish(slot(), upTo(image.pageEnd() + own.lookahead));
    restoreCopies(image, kept, limit);
  }
  kv.release(slot());
  MTP_RETURN_IF_ERROR(status);
  std::vector<Match> chain =
      kv.chainOf(image.tokens, own.lookahead, keyOf(kept));
  return usable(chain, copiesOf(chain, image.tokens, kept));
}

uint64_t PrefixTransfer::forget(std::span<const int32_t> tokens,
                                const std::string &salt) {
  KeptState kept = keptStateOf({}, salt);
  // The cache may have pages of both makers.
  size_t most = 0;
  while (size_t count = memory.pages().forget(tokens, keyOf(kept)))
    most = std::max(most, count);
  return most * own.pageTokens;
}
