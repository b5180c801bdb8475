//===- profile_fuzz.cpp - Fuzz the reader of profiles ---------------------===//
//
// Wraps the input as the FlatBuffer of a well-formed file and reads it. The
// first byte chooses the form: with 0 the rest is a whole file instead. A
// profile that is read can be written, merged and read again.
//
//===----------------------------------------------------------------------===//

#include "runtime/profile/ProfileFile.h"

#include <cstdlib>

using namespace mtp;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  std::vector<uint8_t> file = data[0] == 0
                                  ? std::vector<uint8_t>(data + 1, data + size)
                                  : profile::frameTables({data + 1, size - 1});
  Result<profile::Profile> read = profile::readProfile(file);
  if (!read)
    return 0;
  std::vector<uint8_t> bytes = profile::writeProfile(*read);
  Result<profile::Profile> again = profile::readProfile(bytes);
  require(again.isOk() && profile::writeProfile(*again) == bytes);
  profile::Profile merged = *read;
  profile::merge(merged, *again);
  require(profile::readProfile(profile::writeProfile(merged)).isOk());
  return 0;
}
