//===- print_rounds.cpp - The drafts and tokens of every round ------------===//
//
// print_rounds ARTIFACT K ROUNDS ID,ID,...: prints a line for each prompt with
// the prefill's token and ROUNDS rounds, each "drafts > tokens".
//
//===----------------------------------------------------------------------===//

#include "test/E2E/harness/RoundDriver.h"

#include <cstdio>
#include <cstdlib>

using namespace mtp;

static std::vector<int32_t> parse(const char *text) {
  std::vector<int32_t> ids;
  for (char *end = nullptr; *text; text = *end ? end + 1 : end)
    ids.push_back(int32_t(std::strtol(text, &end, 10)));
  return ids;
}

static void print(const std::vector<int32_t> &ids) {
  for (int32_t id : ids)
    std::printf(" %d", id);
}

int main(int argc, char **argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: print_rounds ARTIFACT K ROUNDS IDS\n"),
           2;
  auto model = Model::load(argv[1]);
  if (!model)
    return std::fprintf(stderr, "print_rounds: error: %s\n",
                        model.status().toString().c_str()),
           1;
  for (int i = 4; i < argc; ++i) {
    test::RoundDriver driver(*model, uint32_t(std::atoi(argv[2])));
    std::printf("%d", driver.prefill(parse(argv[i])));
    for (int round = std::atoi(argv[3]); round > 0; --round) {
      test::RoundDriver::Round result = driver.decode();
      std::printf(" |");
      print(result.drafts);
      std::printf(" >");
      print(result.tokens);
    }
    std::printf("\n");
  }
  return 0;
}
