//===- replay.cpp - Runs fuzz targets on files --------------------------===//
//
// mtp_fuzz_replay TARGET DIR [MUTANTS] runs the function of a fuzz target on
// each file of DIR and on MUTANTS changed copies of each file. It needs no
// libFuzzer, so that every build compiles the targets and every test run calls
// them. A failed check of a target aborts.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;
using FuzzTarget = int (*)(const uint8_t *data, size_t size);

// The build gives the names of all targets.
#define TARGET(name)                                                           \
  extern "C" int mtp_fuzz_##name(const uint8_t *data, size_t size);
MTP_FUZZ_TARGETS
#undef TARGET

static const std::map<std::string, FuzzTarget> targets = {
#define TARGET(name) {#name, mtp_fuzz_##name},
    MTP_FUZZ_TARGETS
#undef TARGET
};

namespace {

/// Changed copies of an input: cut, with a byte replaced, or with a piece of
/// the input written over another piece. Equal seeds give equal copies.
class Mutator {
public:
  explicit Mutator(uint32_t seed) : random(seed) {}

  Bytes change(const Bytes &input) {
    Bytes copy = input;
    for (unsigned left = 1 + below(4); left > 0 && !copy.empty(); --left)
      changeOnce(copy);
    return copy;
  }

private:
  size_t below(size_t limit) { return random() % limit; }

  void changeOnce(Bytes &copy) {
    size_t place = below(copy.size());
    switch (below(4)) {
    case 0:
      copy.resize(place);
      break;
    case 1:
      copy[place] = static_cast<uint8_t>(random());
      break;
    case 2:
      copy[place] ^= static_cast<uint8_t>(1u << below(8));
      break;
    default:
      size_t from = below(copy.size());
      size_t room = copy.size() - std::max(place, from);
      size_t length = 1 + below(std::min<size_t>(16, room));
      Bytes piece(copy.begin() + from, copy.begin() + from + length);
      std::copy(piece.begin(), piece.end(), copy.begin() + place);
    }
  }

  std::mt19937 random;
};

} // namespace

/// Copies of an input have exactly its size in the heap, so that a sanitizer
/// sees a read past the end.
static void run(FuzzTarget target, const Bytes &input) {
  Bytes exact(input.begin(), input.end());
  target(exact.data(), exact.size());
}

static Bytes readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const auto &[name, target] : targets)
      std::printf("%s\n", name.c_str());
    return 0;
  }
  auto found = argc < 3 ? targets.end() : targets.find(argv[1]);
  if (found == targets.end()) {
    std::fprintf(stderr, "mtp_fuzz_replay: error: expected --list, or the name "
                         "of a target and a folder [MUTANTS]\n");
    return 2;
  }
  unsigned mutants = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0;
  unsigned inputs = 0;
  std::error_code error;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(argv[2], error)) {
    if (!entry.is_regular_file())
      continue;
    Bytes input = readFile(entry.path());
    run(found->second, input);
    Mutator mutator(++inputs);
    for (unsigned mutant = 0; mutant < mutants; ++mutant)
      run(found->second, mutator.change(input));
  }
  if (inputs == 0) {
    std::fprintf(stderr, "mtp_fuzz_replay: error: %s has no files\n", argv[2]);
    return 1;
  }
  std::printf("%s: %u inputs, %u changed\n", argv[1], inputs, inputs * mutants);
  return 0;
}
