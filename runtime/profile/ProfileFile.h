//===- ProfileFile.h - The bytes of a profile -------------------*- C++ -*-===//
//
// A file has a header, a FlatBuffer of mtp_profile.fbs, and nothing else. A
// reader checks sizes, then the seal, then the structure, then every number.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_PROFILEFILE_H
#define MTP_RUNTIME_PROFILE_PROFILEFILE_H

#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"

#include <span>

namespace mtp::profile {

/// Version of the file's form. A reader accepts this version only.
inline constexpr uint32_t kVersion = 1;

/// The first bytes of a file. Little endian.
struct ProfileHeader {
  char magic[4];
  uint32_t version;
  /// Bytes of the FlatBuffer, which ends the file.
  uint64_t bytes;
  /// XXH3-64 of the header before this field, followed by the FlatBuffer.
  uint64_t seal;
};
static_assert(sizeof(ProfileHeader) == 24);

/// Returns a FlatBuffer with a header around it.
std::vector<uint8_t> frameTables(std::span<const uint8_t> tables);

/// Returns the bytes of a profile within the limits.
std::vector<uint8_t> writeProfile(const Profile &profile);

/// Checks bytes and returns their profile. An error names the wrong key and its
/// value: "machines[0].costs[2].median: expected ..., got -1".
Result<Profile> readProfile(std::span<const uint8_t> bytes);

/// Reads a file. Messages start with its path.
Result<Profile> loadProfile(const std::string &path);

/// Returns a hash of a profile's content, for artifacts.
uint64_t hashOf(const Profile &profile);

/// Whether bytes start like a profile's.
bool isProfile(std::span<const uint8_t> bytes);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_PROFILEFILE_H
