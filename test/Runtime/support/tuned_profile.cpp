//===- tuned_profile.cpp - Write a profile that prefers values ------------===//
//
// Writes a profile of an artifact's model, in which a value of a tunable takes
// RATIO of the default's time. THREADS is 0 for a GPU.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace mtp;

int main(int argc, char **argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: tuned_profile ARTIFACT PROFILE THREADS "
                                "NAME=VALUE=RATIO...\n"),
           2;
  auto file = ArtifactFile::open(argv[1]);
  if (!file)
    return std::fprintf(stderr, "%s\n", file.status().toString().c_str()), 1;
  const Artifact &artifact = (*file)->artifact();
  profile::Profile made;
  made.model = profile::modelKeyOf(artifact, artifact.plans[0]);
  profile::MachineCosts machine;
  machine.threads = uint32_t(std::atoi(argv[3]));
  machine.name = machine.threads ? profile::processorName() : "a GPU";
  for (int i = 4; i < argc; ++i) {
    std::string text = argv[i];
    size_t value = text.find('='), ratio = text.rfind('=');
    profile::Alternative one;
    one.tunable = text.substr(0, value);
    one.value = std::atoll(text.c_str() + value + 1);
    one.ratio = std::atof(text.c_str() + ratio + 1);
    one.error = 0.001;
    one.pairs = 20;
    machine.alternatives.push_back(one);
  }
  made.machines.push_back(machine);
  std::vector<uint8_t> bytes = profile::writeProfile(made);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char *>(bytes.data()),
            std::streamsize(bytes.size()));
  return out.good() ? 0 : 1;
}
