//===- memory_test.cpp - How much memory there is said to be --------------===//

#include "FakeModel.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/MemoryLimit.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace mtp;
using namespace mtp::test;
namespace fs = std::filesystem;

// Address space is what a sanitizer takes most of.
#if defined(__SANITIZE_ADDRESS__)
#define MTP_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MTP_ADDRESS_SANITIZER
#endif
#endif

namespace {

constexpr uint64_t kMega = 1 << 20;

/// A machine of 1 GiB with files for the test to add.
class MemoryLimitTest : public testing::Test {
protected:
  void SetUp() override {
    char path[] = "/tmp/mtp_memory_XXXXXX";
    root = ::mkdtemp(path);
    write("proc/meminfo", "MemTotal:        1048576 kB\nMemFree: 5 kB\n");
    struct rlimit space;
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &space), 0);
    if (space.rlim_cur != RLIM_INFINITY)
      GTEST_SKIP() << "the address space is limited here";
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  MemoryLimit limit() const {
    return memoryLimit({root / "proc", root / "cgroup"});
  }

  fs::path root;
};

} // namespace

TEST_F(MemoryLimitTest, IsPhysicalMemoryWithoutGroups) {
  EXPECT_EQ(limit().bytes, 1024 * kMega);
  EXPECT_STREQ(limit().source, "physical memory");
}

TEST_F(MemoryLimitTest, TakesTheLeastOfAllGroupsAbove) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("cgroup/memory.max", "max\n");
  EXPECT_EQ(limit().bytes, 1024 * kMega);
  write("cgroup/a/b/memory.max", std::to_string(512 * kMega) + "\n");
  EXPECT_EQ(limit().bytes, 512 * kMega);
  write("cgroup/a/memory.max", std::to_string(256 * kMega) + "\n");
  EXPECT_EQ(limit().bytes, 256 * kMega);
  EXPECT_STREQ(limit().source, "the cgroup's memory limit");
  // A limit that the machine does not reach is none.
  write("cgroup/a/memory.max", std::to_string(4096 * kMega) + "\n");
  EXPECT_EQ(limit().bytes, 512 * kMega);
}

TEST_F(MemoryLimitTest, ReadsVersion1) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/c\n4:memory:/m\n0::/\n");
  write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroup/cpu/c/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(limit().bytes, 1024 * kMega);
  // A container sees its own group as the root.
  write("cgroup/memory/memory.limit_in_bytes", std::to_string(100 * kMega));
  EXPECT_EQ(limit().bytes, 100 * kMega);
}

TEST_F(MemoryLimitTest, NamesBothNumbers) {
  EXPECT_TRUE(checkMemory(1024 * kMega, "pages", limit()).isOk());
  EXPECT_EQ(checkMemory(1024 * kMega + 1, "pages", limit()).toString(),
            "ResourceExhausted: pages need 1073741825 bytes, more than the "
            "1073741824 bytes of physical memory");
}

TEST(Memory, SumsAndProductsStopAtTheLargestValue) {
  EXPECT_EQ(addBytes(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(addBytes(2, 3), 5u);
  EXPECT_EQ(multiplyBytes(uint64_t(1) << 40, 1 << 24), UINT64_MAX);
  EXPECT_EQ(multiplyBytes(6, 7), 42u);
}

TEST(Memory, RefusesToCopyAFileThatIsLarger) {
  std::string path = testing::TempDir() + "mtp_large_file.bin";
  std::ofstream(path) << "x";
  std::error_code error;
  fs::resize_file(path, uint64_t(1) << 43, error);
  if (!error) {
    auto file = MappedFile::copy(path);
    EXPECT_EQ(file.status().code(), StatusCode::ResourceExhausted);
    EXPECT_EQ(file.status().message().find("the file's bytes need "
                                           "8796093022208 bytes, more than"),
              0u)
        << file.status().toString();
  }
  fs::remove(path);
}

TEST(Memory, RefusesResultsThatAreLargerTogether) {
  // Half of all memory, never touched; and three results that lie in it.
  uint64_t half = memoryLimit().bytes / 2 & ~uint64_t(4095);
  ArtifactBuilder a = makeFakeModel();
  ArtifactBuilder::Program &twice = a.programs.back();
  ASSERT_EQ(twice.name, "twice");
  a.arenaBytes = twice.arenaBytes = half;
  schema::Binding all(schema::Space::Arena, 0, 0, half);
  twice.outputs.clear();
  for (const char *name : {"a", "b", "c"})
    twice.outputs.push_back({name, all, schema::DType::U8, {half}});
  auto model = Model::load(writeFile("results.bin", a.finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  auto session = Session::create(*model);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  Tensor input{{ElementType::F32, {4}}, std::vector<uint8_t>(16)};
  Status status = (*session)->runFunction("twice", {{input}}).status();
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message().find("@twice: the results need " +
                                  std::to_string(3 * half) +
                                  " bytes, more than the "),
            0u)
      << status.toString();
}

#ifndef MTP_ADDRESS_SANITIZER
TEST(Memory, RefusesLogitsUnderALimitOfTheAddressSpace) {
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  struct rlimit small = old;
  small.rlim_cur = uint64_t(3) << 30;
  FakeOptions fake;
  fake.maxContext = 1 << 24;
  fake.page = 1 << 16;
  auto model = loadFakeModel(fake);
  SessionOptions options;
  options.kvPages = 2;
  options.threads = 1;
  options.logits = LogitsMode::All;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  auto session = Session::create(model, options);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  Request request;
  request.prompt = {1};
  request.maxTokens = (1 << 24) - 1;
  EXPECT_EQ((*session)->add(request).status().toString(),
            "ResourceExhausted: the logits of 16777215 max tokens need "
            "4294967040 bytes, more than the 3221225472 bytes of address space "
            "(ulimit -v)");
}
#endif
