//===- Digest.h - Digests of contents and keys ------------------*- C++ -*-===//
//
// XXH3 with 128 bits. It tells contents apart that differ by accident or by an
// edit, at the speed of memory. It does not resist the construction of two
// contents with one digest; caches hold files of their own user only.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CACHE_DIGEST_H
#define MTP_RUNTIME_CACHE_DIGEST_H

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mtp::cache {

using Digest = std::array<uint8_t, 16>;

/// Returns bytes as lower-case hexadecimal digits.
std::string toHex(const uint8_t *bytes, size_t count);
inline std::string toHex(const Digest &digest) {
  return toHex(digest.data(), digest.size());
}

/// Returns the digest that toHex() wrote; nothing for any other text.
std::optional<Digest> parseDigest(std::string_view text);

/// Computes the digest of a sequence of bytes.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher &) = delete;
  Hasher &operator=(const Hasher &) = delete;

  void update(const void *bytes, size_t count);
  /// Adds a text with its length, so that "a", "b" and "ab", "" differ.
  void add(std::string_view text);
  Digest digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_DIGEST_H
