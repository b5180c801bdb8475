//===- fake_artifact.cpp - Write the fake model to a file -----------------===//

#include "FakeModel.h"

#include <cstdio>
#include <fstream>

int main(int argc, char **argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: fake_artifact OUTPUT [FEATURE]...\n"),
           2;
  mtp::test::ArtifactBuilder artifact = mtp::test::makeFakeModel({});
  for (int i = 2; i < argc; ++i)
    artifact.features.push_back(argv[i]);
  std::vector<uint8_t> bytes = artifact.finish();
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  return file.good() ? 0 : 1;
}
