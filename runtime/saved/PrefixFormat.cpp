//===- PrefixFormat.cpp - The bytes of a saved prefix ---------------------===//

#include "runtime/saved/PrefixFormat.h"
#include "runtime/core/StrCat.h"

#include <cstring>
#include <limits>

using namespace mtp;
using namespace mtp::saved;
using cache::Digest;

namespace {
/// The first bytes of a file, little endian.
struct Head {
  char magic[8];
  uint32_t version;
  uint32_t plan;
  uint8_t artifact[16];
  uint64_t inputs[2];
  /// Bytes of the file.
  uint64_t bytes;
  uint64_t tokens;
  uint64_t pageBytes;
  uint64_t stateBytes;
  uint32_t pageTokens;
  uint32_t lookahead;
  uint32_t pages;
  uint32_t layers;
  uint32_t copies;
  uint32_t nameBytes;
};
static_assert(sizeof(Head) == 104);

/// A copy in the tables after the head.
struct CopyHead {
  uint64_t position;
  uint64_t end;
  uint64_t pending;
};
} // namespace

static constexpr uint32_t kVersion = 1;
static constexpr uint32_t kMostNameBytes = 4096;

//===----------------------------------------------------------------------===//
// Hashes
//===----------------------------------------------------------------------===//

/// Returns the hash of a part of the file. It continues the hash of the part
/// before it, so that parts cannot change places, and a page's hash stands for
/// all tokens before it.
static Digest hashOf(const Digest &before, std::span<const uint8_t> part) {
  cache::Hasher hasher;
  hasher.update(before.data(), before.size());
  hasher.update(part.data(), part.size());
  return hasher.digest();
}

template <typename T>
static std::span<const uint8_t> bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()),
          values.size() * sizeof(T)};
}

template <typename T>
static std::span<uint8_t> bytesOf(std::vector<T> &values) {
  return {reinterpret_cast<uint8_t *>(values.data()),
          values.size() * sizeof(T)};
}

static std::span<uint8_t> bytesOf(Head &head) {
  return {reinterpret_cast<uint8_t *>(&head), sizeof(head)};
}

static std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

uint64_t saved::fileBytes(const PrefixImage &image) {
  uint64_t bytes = sizeof(Head) + image.key.model.size() +
                   image.key.layers.size() * 2 * sizeof(uint32_t) +
                   image.tokens.size() * sizeof(int32_t) + image.makers.size() +
                   image.copies.size() * sizeof(CopyHead) + sizeof(Digest);
  for (const StateCopy &copy : image.copies)
    bytes += copy.makers.size() + copy.data.size() + sizeof(Digest);
  return bytes + image.pages.size() + image.makers.size() * sizeof(Digest);
}

static Head headOf(const PrefixImage &image) {
  Head head = {};
  std::memcpy(head.magic, kPrefixMagic.data(), sizeof(head.magic));
  head.version = kVersion;
  head.plan = image.key.plan;
  std::memcpy(head.artifact, image.key.artifact.data(), sizeof(head.artifact));
  std::memcpy(head.inputs, image.inputs, sizeof(head.inputs));
  head.bytes = fileBytes(image);
  head.tokens = image.tokens.size();
  head.pageBytes = image.key.pageBytes;
  head.stateBytes = image.key.stateBytes;
  head.pageTokens = image.key.pageTokens;
  head.lookahead = image.key.lookahead;
  head.pages = uint32_t(image.makers.size());
  head.layers = uint32_t(image.key.layers.size());
  head.copies = uint32_t(image.copies.size());
  head.nameBytes = uint32_t(image.key.model.size());
  return head;
}

Status saved::encode(const PrefixImage &image, const WriteBytes &write) {
  Digest digest = {};
  auto put = [&](std::span<const uint8_t> part) {
    digest = hashOf(digest, part);
    return write(part);
  };
  auto putDigest = [&] { return write(digest); };
  Head head = headOf(image);
  MTP_RETURN_IF_ERROR(put(bytesOf(head)));
  MTP_RETURN_IF_ERROR(put(bytesOf(image.key.model)));
  std::vector<uint32_t> layers;
  for (auto [cache, layer] : image.key.layers)
    layers.insert(layers.end(), {cache, layer});
  MTP_RETURN_IF_ERROR(put(bytesOf(layers)));
  MTP_RETURN_IF_ERROR(put(bytesOf(image.tokens)));
  MTP_RETURN_IF_ERROR(put(image.makers));
  std::vector<CopyHead> copies;
  for (const StateCopy &copy : image.copies)
    copies.push_back({copy.position, copy.end, copy.pending});
  MTP_RETURN_IF_ERROR(put(bytesOf(copies)));
  for (const StateCopy &copy : image.copies)
    MTP_RETURN_IF_ERROR(put(copy.makers));
  MTP_RETURN_IF_ERROR(putDigest());
  for (size_t i = 0; i < image.makers.size(); ++i) {
    MTP_RETURN_IF_ERROR(put(image.page(i)));
    MTP_RETURN_IF_ERROR(putDigest());
  }
  for (const StateCopy &copy : image.copies) {
    MTP_RETURN_IF_ERROR(put(copy.data.span()));
    MTP_RETURN_IF_ERROR(putDigest());
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Reads a file from its start to its end.
class Reader {
public:
  Reader(uint64_t size, const ReadBytes &read, Hashes hashes)
      : left(size), read(read), hashes(hashes) {}

  Result<PrefixImage> image();

private:
  Status checkHead(uint64_t size) const;
  Status checkCopy(const StateCopy &copy) const;
  Status take(std::span<uint8_t> part);
  Status takeDigest(std::string_view what);
  Status takeTables();
  Status takeCopyTables();
  Status takeData();
  /// Makes `count` values and reads them.
  template <typename T>
  Status takeAll(std::vector<T> &values, uint64_t count);

  uint64_t left;
  const ReadBytes &read;
  Hashes hashes;
  Digest digest = {};
  Head head = {};
  PrefixImage result;
};
} // namespace

static Status cut() {
  return dataLoss("expected a whole saved prefix, got a cut one");
}

Status Reader::take(std::span<uint8_t> part) {
  if (part.size() > left)
    return cut();
  left -= part.size();
  MTP_RETURN_IF_ERROR(read(part));
  digest = hashOf(digest, part);
  return okStatus();
}

Status Reader::takeDigest(std::string_view what) {
  Digest stored;
  if (stored.size() > left)
    return cut();
  left -= stored.size();
  MTP_RETURN_IF_ERROR(read(stored));
  if (hashes == Hashes::Check && stored != digest)
    return dataLoss(strCat("the bytes of ", what, " do not have their hash"));
  return okStatus();
}

template <typename T>
Status Reader::takeAll(std::vector<T> &values, uint64_t count) {
  if (count > left / sizeof(T))
    return cut();
  values.resize(count);
  return take(bytesOf(values));
}

Status Reader::checkHead(uint64_t size) const {
  if (std::string_view(head.magic, sizeof(head.magic)) != kPrefixMagic)
    return invalidArgument("expected a saved prefix, got another file");
  if (head.version != kVersion)
    return invalidArgument(strCat("expected a saved prefix of version ",
                                  kVersion, ", got version ", head.version));
  if (head.bytes != size)
    return dataLoss(strCat("expected a saved prefix of ", head.bytes,
                           " bytes, got ", size));
  bool isSane = head.pageTokens > 0 && head.pageBytes > 0 &&
                head.nameBytes <= kMostNameBytes && head.pages <= size &&
                head.tokens <= size && head.pageBytes <= size &&
                head.stateBytes <= size && head.lookahead <= head.tokens &&
                (head.copies == 0 || head.stateBytes > 0);
  // With these limits no product or sum overflows.
  isSane = isSane && (head.pages == 0 || head.pageBytes <= size / head.pages);
  if (!isSane ||
      uint64_t(head.pages) * head.pageTokens > head.tokens - head.lookahead)
    return dataLoss("the sizes of a saved prefix contradict each other");
  return okStatus();
}

Status Reader::checkCopy(const StateCopy &copy) const {
  uint64_t known = head.tokens - head.lookahead;
  if (copy.position == 0 || copy.position > known || copy.end > copy.position ||
      copy.end > result.pageEnd() || copy.end % head.pageTokens != 0 ||
      copy.pending > 1)
    return dataLoss(strCat("a copy of states at ", copy.position,
                           " contradicts the ", head.tokens,
                           " tokens of a saved prefix"));
  return okStatus();
}

Status Reader::takeTables() {
  PrefixKey &key = result.key;
  if (head.nameBytes > left)
    return cut();
  key.model.resize(head.nameBytes);
  MTP_RETURN_IF_ERROR(
      take({reinterpret_cast<uint8_t *>(key.model.data()), head.nameBytes}));
  std::vector<uint32_t> layers;
  MTP_RETURN_IF_ERROR(takeAll(layers, uint64_t(head.layers) * 2));
  for (size_t i = 0; i < layers.size(); i += 2)
    key.layers.emplace_back(layers[i], layers[i + 1]);
  std::memcpy(key.artifact.data(), head.artifact, sizeof(head.artifact));
  key.plan = head.plan;
  key.pageTokens = head.pageTokens;
  key.lookahead = head.lookahead;
  key.pageBytes = head.pageBytes;
  key.stateBytes = head.stateBytes;
  std::memcpy(result.inputs, head.inputs, sizeof(head.inputs));
  MTP_RETURN_IF_ERROR(takeAll(result.tokens, head.tokens));
  MTP_RETURN_IF_ERROR(takeAll(result.makers, head.pages));
  for (uint8_t maker : result.makers)
    if (maker > 1)
      return dataLoss(strCat("expected a maker of 0 or 1, got ", int(maker)));
  return takeCopyTables();
}

Status Reader::takeCopyTables() {
  std::vector<CopyHead> copies;
  MTP_RETURN_IF_ERROR(takeAll(copies, head.copies));
  for (const CopyHead &from : copies) {
    StateCopy copy;
    copy.position = from.position;
    copy.end = from.end;
    copy.pending = uint32_t(std::min<uint64_t>(from.pending, 2));
    MTP_RETURN_IF_ERROR(checkCopy(copy));
    result.copies.push_back(std::move(copy));
  }
  for (StateCopy &copy : result.copies)
    MTP_RETURN_IF_ERROR(takeAll(copy.makers, ownPages(copy, head.pageTokens)));
  return takeDigest("the tables of a saved prefix");
}

Status Reader::takeData() {
  uint64_t bytes = head.pages * head.pageBytes;
  if (bytes > left)
    return cut();
  result.pages = Bytes(bytes);
  for (uint64_t i = 0; i < head.pages; ++i) {
    MTP_RETURN_IF_ERROR(
        take(result.pages.span().subspan(i * head.pageBytes, head.pageBytes)));
    MTP_RETURN_IF_ERROR(takeDigest(strCat("page ", i, " of a saved prefix")));
  }
  for (StateCopy &copy : result.copies) {
    uint64_t pages = copy.makers.size();
    if (head.stateBytes > left ||
        (pages > 0 && head.pageBytes > (left - head.stateBytes) / pages))
      return cut();
    copy.data = Bytes(head.stateBytes + pages * head.pageBytes);
    MTP_RETURN_IF_ERROR(take(copy.data.span()));
    MTP_RETURN_IF_ERROR(takeDigest(
        strCat("the states at ", copy.position, " of a saved prefix")));
  }
  if (left > 0)
    return dataLoss(strCat("a saved prefix has ", left, " bytes too many"));
  return okStatus();
}

Result<PrefixImage> Reader::image() {
  uint64_t size = left;
  if (size < sizeof(head))
    return invalidArgument("expected a saved prefix, got another file");
  MTP_RETURN_IF_ERROR(take(bytesOf(head)));
  MTP_RETURN_IF_ERROR(checkHead(size));
  MTP_RETURN_IF_ERROR(takeTables());
  MTP_RETURN_IF_ERROR(takeData());
  return std::move(result);
}

Result<PrefixImage> saved::decode(uint64_t size, const ReadBytes &read,
                                  Hashes hashes) {
  return Reader(size, read, hashes).image();
}
