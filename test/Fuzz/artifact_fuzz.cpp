//===- artifact_fuzz.cpp - Fuzz the loader --------------------------------===//
//
// Wraps the input as the FlatBuffer of a well-formed file and loads it, so that
// the fuzzer gets past header and seal. The first byte chooses the form: with 0
// the rest is a whole file instead.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ArtifactFile.h"

#include <cstdlib>
#include <cstring>

using namespace mtp;

static void load(const std::vector<uint8_t> &file) {
  size_t room = alignTo(file.size() + 1, kBufferAlignment);
  uint8_t *bytes =
      static_cast<uint8_t *>(std::aligned_alloc(kBufferAlignment, room));
  std::copy(file.begin(), file.end(), bytes);
  ArtifactFile::fromMemory({bytes, file.size()}, HashCheck::All)
      .status()
      .ignore();
  std::free(bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  if (data[0] == 0) {
    load({data + 1, data + size});
    return 0;
  }
  std::vector<uint8_t> file = makeFileFront(data + 1, size - 1, 4096);
  file.resize(file.size() + 4096, 0);
  load(file);
  return 0;
}
