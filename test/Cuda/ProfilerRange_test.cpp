//===- ProfilerRange_test.cpp - Ranges that a profiler sees ---------------===//

#include "test/Runtime/support/FakeModel.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace mtp::test;

/// Returns the ranges that a profiler sees in this program's own tests. They
/// run in another process: NVTX looks for a profiler once in each process.
static std::string seenOf(const std::string &filter) {
  std::string file = writeFile("ranges", {});
  std::string command = "NVTX_INJECTION64_PATH='" MTP_FAKE_PROFILER
                        "' MTP_FAKE_PROFILER='" +
                        file + "' /proc/" + std::to_string(::getpid()) +
                        "/exe --gtest_filter=" + filter + " > /dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

static size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++found;
  return found;
}

TEST(ProfilerRange, NamesWeightsGraphsAndPrograms) {
  std::string seen = seenOf("CudaDeviceTest.KeepsStatesAndPagesForSeveralN");
  EXPECT_EQ(seen.rfind("domain mtp\n"
                       "begin load code\nend \n"
                       "begin load weights\nend \n"
                       "begin decode for 3\n"
                       "begin build the graph of decode for 3\nend \nend \n",
                       0),
            0u)
      << seen;
  // The graph exists by then.
  EXPECT_EQ(count(seen, "begin decode for 3\nend \n"), 1u) << seen;
  EXPECT_EQ(count(seen, "begin "), count(seen, "end ")) << seen;
}

TEST(ProfilerRange, NamesLoopsAndTimedRuns) {
  std::string seen = seenOf("CudaRoundsTest.AreWaitedForUntilThereIsOneMore");
  EXPECT_NE(seen.find("begin start rounds of decode for 1\n"
                      "begin build the loop of decode for 1\nend \nend \n"),
            std::string::npos)
      << seen;
  seen = seenOf("CudaDeviceTest.TimesEveryCommand");
  EXPECT_NE(seen.find("begin decode for 2, timed\nend \n"), std::string::npos)
      << seen;
}
