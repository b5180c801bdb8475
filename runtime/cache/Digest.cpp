//===- Digest.cpp - Digests of contents and keys --------------------------===//

#include "runtime/cache/Digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mtp;
using namespace mtp::cache;

struct Hasher::State {
  XXH3_state_t xxh3;
};

static constexpr std::string_view kDigits = "0123456789abcdef";

std::string cache::toHex(const uint8_t *bytes, size_t count) {
  std::string text;
  text.reserve(2 * count);
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::optional<Digest> cache::parseDigest(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size())
    return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t digit = kDigits.find(text[i]);
    if (digit == kDigits.npos)
      return std::nullopt;
    digest[i / 2] = uint8_t(digest[i / 2] << 4 | digit);
  }
  return digest;
}

Hasher::Hasher() : state(std::make_unique<State>()) {
  XXH3_128bits_reset(&state->xxh3);
}

Hasher::~Hasher() = default;

void Hasher::update(const void *bytes, size_t count) {
  XXH3_128bits_update(&state->xxh3, bytes, count);
}

void Hasher::add(std::string_view text) {
  uint64_t bytes = text.size();
  update(&bytes, sizeof(bytes));
  update(text.data(), text.size());
}

Digest Hasher::digest() const {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state->xxh3));
  Digest digest;
  static_assert(sizeof(bytes.digest) == sizeof(digest));
  std::copy(std::begin(bytes.digest), std::end(bytes.digest), digest.begin());
  return digest;
}
