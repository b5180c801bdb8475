//===- golden_restamp.cpp - Gives a file today's schema hash --------------===//
//
// usage: golden_restamp FILE
//
// For a golden file of the unreleased version, after the schema has gained
// fields at the ends of its tables: the meaning of the file does not change.
//
//===----------------------------------------------------------------------===//

#include "runtime/schema/ArtifactFormat.h"

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace mtp;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: golden_restamp FILE\n");
    return 2;
  }
  std::ifstream input(argv[1], std::ios::binary);
  std::vector<char> file(std::istreambuf_iterator<char>(input), {});
  input.close();
  FileHeader header;
  if (file.size() < sizeof(header))
    return 1;
  std::memcpy(&header, file.data(), sizeof(header));
  uint64_t sealed = header.programOffset + header.programSize;
  if (header.version != kFormatVersion || sealed + 8 > file.size()) {
    std::fprintf(stderr,
                 "golden_restamp: error: expected a file of format "
                 "version %u.%u\n",
                 kFormatMajor, kFormatMinor);
    return 1;
  }
  std::memcpy(header.schemaHash, kSchemaHash, sizeof(kSchemaHash));
  std::memcpy(file.data(), &header, sizeof(header));
  uint64_t seal = hashBytes(file.data(), sealed);
  std::memcpy(file.data() + sealed, &seal, sizeof(seal));
  std::ofstream output(argv[1], std::ios::binary);
  output.write(file.data(), std::streamsize(file.size()));
  return output.good() ? 0 : 1;
}
