//===- prefix_fuzz.cpp - Fuzz the reader of saved prefixes ----------------===//
//
// The first byte chooses the form: with 0 the rest is a whole file. Otherwise
// the hashes of a file are made right first, so that the reader's other checks
// see changed tables. A file that is read can be written, with equal bytes.
//
//===----------------------------------------------------------------------===//

#include "runtime/saved/PrefixFormat.h"

#include <algorithm>
#include <cstdlib>

using namespace mtp;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

/// Returns a reader of bytes that are in memory.
static saved::ReadBytes readerOf(std::span<const uint8_t> &rest) {
  return [&rest](std::span<uint8_t> to) {
    require(to.size() <= rest.size());
    std::ranges::copy(rest.first(to.size()), to.begin());
    rest = rest.subspan(to.size());
    return okStatus();
  };
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  std::span<const uint8_t> file(data + 1, size - 1), rest = file;
  Result<saved::PrefixImage> read = saved::decode(
      file.size(), readerOf(rest),
      data[0] == 0 ? saved::Hashes::Check : saved::Hashes::IgnoreForTests);
  if (!read)
    return 0;
  require(rest.empty() && saved::fileBytes(*read) == file.size());
  std::vector<uint8_t> bytes;
  require(saved::encode(*read, [&](std::span<const uint8_t> part) {
            bytes.insert(bytes.end(), part.begin(), part.end());
            return okStatus();
          }).isOk());
  require(bytes.size() == file.size());
  rest = bytes;
  require(saved::decode(bytes.size(), readerOf(rest)).isOk());
  require(data[0] != 0 || std::ranges::equal(bytes, file));
  return 0;
}
