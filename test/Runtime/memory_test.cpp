//===- memory_test.cpp - The memory of the machine ------------------------===//

#include "runtime/artifact/MappedFile.h"
#include "runtime/core/MemoryAccount.h"
#include "runtime/device/cpu/HostMemory.h"
#include "support/FakeModel.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>

using namespace mtp;
using namespace mtp::test;
namespace fs = std::filesystem;

// A sanitizer takes most of the address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MTP_SPACE_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MTP_SPACE_SANITIZER
#endif
#endif

namespace {

constexpr uint64_t kMega = 1 << 20;

/// A machine of 1 GiB, to which the test adds files.
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
  uint64_t available() const {
    return availableMemory({root / "proc", root / "cgroup"});
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
  // A limit above the machine's memory has no effect.
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

TEST_F(MemoryLimitTest, KnowsWhatNobodyUses) {
  EXPECT_EQ(available(), UINT64_MAX);
  write("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable:  524288 kB\n");
  EXPECT_EQ(available(), 512 * kMega);
  write("proc/self/cgroup", "0::/a/b\n");
  write("cgroup/memory.max", "max\n");
  write("cgroup/a/memory.max", std::to_string(400 * kMega) + "\n");
  EXPECT_EQ(available(), 400 * kMega);
  write("cgroup/a/memory.current", std::to_string(150 * kMega) + "\n");
  EXPECT_EQ(available(), 250 * kMega);
  write("cgroup/a/memory.stat", "active_file 7\ninactive_file " +
                                    std::to_string(20 * kMega) + "\nslab 9\n");
  EXPECT_EQ(available(), 270 * kMega);
  write("cgroup/a/memory.current", std::to_string(500 * kMega) + "\n");
  EXPECT_EQ(available(), 0u);
  write("proc/self/cgroup", "4:memory:/m\n");
  write("cgroup/memory/m/memory.limit_in_bytes", std::to_string(90 * kMega));
  write("cgroup/memory/m/memory.usage_in_bytes", std::to_string(20 * kMega));
  EXPECT_EQ(available(), 70 * kMega);
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
  // Half of all memory, never touched, and three results inside it.
  uint64_t half = memoryLimit().bytes / 2 & ~uint64_t(4095);
  ArtifactBuilder a = makeFakeModel();
  ArtifactBuilder::Program &twice = a.programs.back();
  ASSERT_EQ(twice.name, "twice");
  a.arenaBytes = twice.arenaBytes = half;
  Binding all(schema::Space::Arena, 0, 0, half);
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

//===----------------------------------------------------------------------===//
// Memory taken in advance
//===----------------------------------------------------------------------===//

TEST(HostMemory, IsThereOnceItIsPopulated) {
  constexpr uint64_t kBytes = 3 * kMega, kPages = kBytes / 4096;
  auto memory = HostMemory::allocate(kBytes, "pages");
  ASSERT_TRUE(memory.isOk());
  auto resident = [&] {
    std::vector<unsigned char> pages(kPages);
    EXPECT_EQ(::mincore(memory->data(), kBytes, pages.data()), 0);
    return std::ranges::count_if(pages, [](auto page) { return page & 1; });
  };
  EXPECT_EQ(resident(), 0);
  memory->populate();
  EXPECT_EQ(resident(), int64_t(kPages));
  EXPECT_EQ(memory->data()[kBytes - 1], 0);
  HostMemory().populate();
}

/// Returns how much this process's resident memory grows with a session.
static int64_t residentWith(uint64_t arenaBytes, bool populates) {
  ArtifactBuilder a = makeFakeModel();
  a.arenaBytes = a.programs.back().arenaBytes = arenaBytes;
  auto model = Model::load(writeFile("resident.bin", a.finish()));
  EXPECT_TRUE(model.isOk()) << model.status().toString();
  auto resident = [] {
    int64_t all = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
  };
  SessionOptions options;
  options.threads = 1;
  options.populateMemory = populates;
  int64_t before = resident();
  auto session = Session::create(*model, options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return resident() - before;
}

TEST(Memory, IsTakenWhenASessionBeginsIfItIsAskedForAndFits) {
  EXPECT_GE(residentWith(64 * kMega, true), int64_t(60 * kMega));
  EXPECT_LE(residentWith(64 * kMega, false), int64_t(32 * kMega));
  // More than half of the memory that can be available.
  uint64_t most = memoryLimit().bytes / 2 & ~uint64_t(4095);
  EXPECT_LE(residentWith(most + 4096, true), int64_t(32 * kMega));
}

//===----------------------------------------------------------------------===//
// The account
//===----------------------------------------------------------------------===//

TEST(MemoryAccount, AddsUpAndTakesBack) {
  MemoryAccount account;
  MemoryLimit limit{10, "physical memory"};
  auto first = account.reserve(7, "pages", limit);
  ASSERT_TRUE(first.isOk());
  EXPECT_EQ(account.reserve(4, "pages", limit).status().toString(),
            "ResourceExhausted: pages need 4 bytes, more than the 3 bytes left "
            "of the 10 bytes of physical memory, of which this process has "
            "reserved 7");
  EXPECT_EQ(account.reserved(), 7u);
  {
    auto second = account.reserve(3, "pages", limit);
    ASSERT_TRUE(second.isOk());
    MemoryReservation moved = std::move(*second);
    EXPECT_EQ(moved.bytes(), 3u);
    EXPECT_EQ(account.left(limit), 0u);
    // A limit that has fallen since.
    EXPECT_EQ(account.left({5, "physical memory"}), 0u);
    EXPECT_FALSE(account.reserve(1, "a page", {5, "physical memory"}).isOk());
  }
  first->shrinkTo(2);
  first->shrinkTo(6);
  EXPECT_EQ(account.reserved(), 2u);
  *first = MemoryReservation();
  EXPECT_EQ(account.reserve(11, "pages", limit).status().toString(),
            "ResourceExhausted: pages need 11 bytes, more than the 10 bytes of "
            "physical memory");
  EXPECT_EQ(account.reserve(UINT64_MAX, "pages", limit).status().code(),
            StatusCode::ResourceExhausted);
}

namespace {

/// A machine with `bytes` in addition to the process's reservations.
class RoomFor {
public:
  explicit RoomFor(uint64_t bytes) {
    setHostMemoryLimitForTests(
        MemoryLimit{hostMemory().reserved() + bytes, "physical memory"});
  }
  ~RoomFor() { setHostMemoryLimitForTests(std::nullopt); }
};

SessionOptions oneThread() {
  SessionOptions options;
  options.threads = 1;
  return options;
}

/// Returns the bytes that a session reserves.
uint64_t costOf(const std::shared_ptr<const Model> &model,
                const SessionOptions &options) {
  uint64_t before = hostMemory().reserved();
  auto session = Session::create(model, options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  EXPECT_GE(hostMemory().reserved() - before, (*session)->memoryBytes());
  return hostMemory().reserved() - before;
}

} // namespace

TEST(Account, SessionsShareTheMachine) {
  auto model = loadFakeModel();
  uint64_t cost = costOf(model, oneThread());
  uint64_t before = hostMemory().reserved();
  {
    RoomFor room(cost + cost / 2);
    auto first = Session::create(model, oneThread());
    ASSERT_TRUE(first.isOk()) << first.status().toString();
    auto second = Session::create(model, oneThread());
    EXPECT_EQ(second.status().code(), StatusCode::ResourceExhausted);
    std::string message(second.status().message());
    for (const std::string &part :
         {std::string(" KV pages"), std::to_string(cost / 2) + " bytes left",
          "of which this process has reserved " +
              std::to_string(before + cost)})
      EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(hostMemory().reserved(), before + cost) << "of what was refused";
    first->reset();
    EXPECT_TRUE(Session::create(model, oneThread()).isOk());
  }
  EXPECT_EQ(hostMemory().reserved(), before);
}

TEST(Account, SaysHowManyPagesAreLeft) {
  auto model = loadFakeModel();
  SessionOptions small = oneThread(), large = oneThread();
  small.kvPages = 10;
  large.kvPages = 1000;
  RoomFor room(3 * costOf(model, small));
  auto first = Session::create(model, small);
  ASSERT_TRUE(first.isOk()) << first.status().toString();
  std::string message(Session::create(model, large).status().message());
  std::string advice = "; lower kv_pages to ";
  size_t at = message.find(advice);
  ASSERT_NE(at, std::string::npos) << message;
  // The page tables come on top.
  large.kvPages = uint32_t(std::stoul(message.substr(at + advice.size()))) - 4;
  Status fits = Session::create(model, large).status();
  EXPECT_TRUE(fits.isOk()) << message << "; " << fits.toString();
}

TEST(Account, ThreadsThatBeginAtOnceGetNoMoreThanThereIs) {
  auto model = loadFakeModel();
  uint64_t cost = costOf(model, oneThread());
  RoomFor room(3 * cost + cost / 2);
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<std::unique_ptr<Session>> sessions(8);
    std::vector<std::thread> threads;
    for (auto &session : sessions)
      threads.emplace_back([&] {
        if (auto made = Session::create(model, oneThread()); made.isOk())
          session = std::move(*made);
      });
    for (std::thread &thread : threads)
      thread.join();
    auto made = std::count_if(sessions.begin(), sessions.end(),
                              [](const auto &s) { return s != nullptr; });
    EXPECT_EQ(made, 3);
  }
}

TEST(Account, CountsACopiedFileOnceAndAMappedOneNever) {
  std::vector<uint8_t> bytes = makeFakeModel().finish();
  std::string path = writeFile("counted.bin", bytes);
  uint64_t before = hostMemory().reserved();
  LoadOptions copy;
  copy.copy = true;
  {
    auto mapped = Model::load(path);
    ASSERT_TRUE(mapped.isOk());
    EXPECT_EQ(hostMemory().reserved(), before);
    auto copied = Model::load(path, copy);
    ASSERT_TRUE(copied.isOk());
    EXPECT_EQ(hostMemory().reserved(), before + bytes.size());
    uint64_t cost = costOf(*mapped, oneThread());
    auto first = Session::create(*copied, oneThread());
    auto second = Session::create(*copied, oneThread());
    EXPECT_EQ(hostMemory().reserved(), before + bytes.size() + 2 * cost);
  }
  EXPECT_EQ(hostMemory().reserved(), before);
  RoomFor room(bytes.size() - 1);
  EXPECT_EQ(Model::load(path, copy).status().code(),
            StatusCode::ResourceExhausted);
}

TEST(Account, KeptLogitsCountFromAddToRelease) {
  auto model = loadFakeModel();
  uint64_t row = model->envelope()->vocab * sizeof(float);
  for (LogitsMode mode : {LogitsMode::All, LogitsMode::Last}) {
    SessionOptions options = oneThread();
    options.logits = mode;
    // The last row stays until the next one has been read.
    bool isAll = mode == LogitsMode::All;
    uint64_t least = isAll ? 10 * row : 2 * row, kept = isAll ? 10 * row : row;
    RoomFor room(costOf(model, options) + 2 * least + row / 2);
    auto made = Session::create(model, options);
    ASSERT_TRUE(made.isOk()) << made.status().toString();
    Session &session = **made;
    uint64_t before = hostMemory().reserved();
    Request request;
    request.prompt = {1, 2, 3};
    request.maxTokens = 10;
    auto first = session.add(request);
    ASSERT_TRUE(first.isOk()) << first.status().toString();
    auto second = session.add(request);
    ASSERT_TRUE(second.isOk()) << second.status().toString();
    EXPECT_EQ(hostMemory().reserved(), before + 2 * least);
    auto third = session.add(request).status();
    EXPECT_EQ(third.code(), StatusCode::ResourceExhausted);
    EXPECT_EQ(third.message().find(mode == LogitsMode::All
                                       ? "the logits of 10 max tokens need "
                                       : "the logits of a token need "),
              0u)
        << third.toString();
    // A sequence that ends early needs no more than it has.
    ASSERT_TRUE(session.step().isOk());
    ASSERT_TRUE(session.cancel(*second).isOk());
    size_t tokens = session.output(*second)->size();
    size_t rows = isAll ? tokens : std::min<size_t>(tokens, 1);
    EXPECT_LT(rows, 10u);
    EXPECT_EQ(hostMemory().reserved(), before + least + rows * row);
    drain(session);
    EXPECT_EQ(session.logits(*first, 9)->size(), row / sizeof(float));
    ASSERT_TRUE(session.release(*second).isOk());
    EXPECT_EQ(hostMemory().reserved(), before + kept);
    ASSERT_TRUE(session.release(*first).isOk());
    EXPECT_EQ(hostMemory().reserved(), before);
    EXPECT_TRUE(session.add(request).isOk());
  }
}

TEST(Memory, CountsTheStatesThatAreSavedOfASequence) {
  FakeOptions fake;
  fake.hasAudit = true;
  fake.hasRanges = true;
  fake.hasFold = true;
  fake.foldRebuild = schema::Rebuild::Save;
  auto model = loadFakeModel(fake);
  SessionOptions options = oneThread();
  RoomFor room(costOf(model, options) + 2 * sizeof(int32_t));
  auto made = Session::create(model, options);
  ASSERT_TRUE(made.isOk()) << made.status().toString();
  Session &session = **made;
  uint64_t before = hostMemory().reserved();
  Request request;
  request.prompt = {1, 2, 3};
  auto first = session.add(request), second = session.add(request);
  ASSERT_TRUE(first.isOk() && second.isOk());
  EXPECT_EQ(hostMemory().reserved(), before + 2 * sizeof(int32_t));
  EXPECT_EQ(session.add(request).status().message().find(
                "the saved states of a sequence need 4 bytes"),
            0u);
  // Ended sequences are not preempted.
  ASSERT_TRUE(session.cancel(*first).isOk());
  EXPECT_EQ(hostMemory().reserved(), before + sizeof(int32_t));
  drain(session);
  EXPECT_EQ(hostMemory().reserved(), before);
}

#ifndef MTP_SPACE_SANITIZER
TEST(Memory, RefusesLogitsUnderALimitOfTheAddressSpace) {
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  struct rlimit small = old;
  small.rlim_cur = uint64_t(1) << 30;
  FakeOptions fake;
  fake.maxContext = 1 << 22;
  fake.page = 1024;
  auto model = loadFakeModel(fake);
  SessionOptions options;
  options.kvPages = 4200;
  options.threads = 1;
  options.logits = LogitsMode::All;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  auto session = Session::create(model, options);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  Request request;
  request.prompt = {1};
  request.maxTokens = (1 << 22) - 1;
  std::string message = (*session)->add(request).status().toString();
  EXPECT_EQ(message.find("ResourceExhausted: the logits of 4194303 max tokens "
                         "need 1073741568 bytes, more than the "),
            0u)
      << message;
  EXPECT_NE(message.find(" bytes left of the 1073741824 bytes of address space "
                         "(ulimit -v), of which this process has reserved "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("; lower max_tokens to "), std::string::npos)
      << message;
}
#endif
