//===- PrefixFormat.h - The bytes of a saved prefix -------------*- C++ -*-===//
//
// README.md describes the bytes. A reader checks each number before it uses it,
// and allocates no more memory than the file is long.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SAVED_PREFIXFORMAT_H
#define MTP_RUNTIME_SAVED_PREFIXFORMAT_H

#include "runtime/core/Result.h"
#include "runtime/saved/PrefixImage.h"

#include <functional>
#include <string_view>

namespace mtp::saved {

/// The first bytes of a saved prefix.
inline constexpr std::string_view kPrefixMagic = "MTPPREFX";

/// Takes the next bytes of a file, or gives them.
using WriteBytes = std::function<Status(std::span<const uint8_t>)>;
using ReadBytes = std::function<Status(std::span<uint8_t>)>;

/// Returns the bytes of the file that encode() writes.
uint64_t fileBytes(const PrefixImage &image);

/// Writes an image. Fails as `write` does.
Status encode(const PrefixImage &image, const WriteBytes &write);

/// Whether a reader compares hashes. Fuzz targets do without, to reach the
/// other checks.
enum class Hashes : uint8_t { Check, IgnoreForTests };

/// Reads an image from a file of `size` bytes. Fails with DataLoss if the file
/// is cut, has bytes after its end, or does not have its hashes; with
/// InvalidArgument if it is no saved prefix or of another version; and as
/// `read` does.
Result<PrefixImage> decode(uint64_t size, const ReadBytes &read,
                           Hashes hashes = Hashes::Check);

} // namespace mtp::saved

#endif // MTP_RUNTIME_SAVED_PREFIXFORMAT_H
