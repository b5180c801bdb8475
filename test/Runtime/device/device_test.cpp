//===- device_test.cpp - Threads, images and command lists ----------------===//

#include "runtime/artifact/CpuFeatures.h"
#include "runtime/device/cpu/CommandList.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/ElfImage.h"
#include "test/Runtime/support/FakeModel.h"

#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace mtp;
using namespace mtp::test;

namespace {

std::vector<uint8_t> fakeImage() { return makeFakeModel().segments[0].bytes; }

/// Adds the begin of each range to a counter per task.
void countTasks(void *const *buffers, const int64_t *, int64_t begin,
                int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    ++static_cast<int32_t *>(buffers[0])[i];
}

/// y[i] = x[n-1-i] + 1: reads values that other workers wrote.
void reverse(void *const *buffers, const int64_t *params, int64_t begin,
             int64_t end, void *) {
  const int32_t *x = static_cast<int32_t *>(buffers[0]);
  int32_t *y = static_cast<int32_t *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[params[0] - 1 - i] + 1;
}

/// Returns a command that all workers share, followed by a barrier.
ResolvedCommand shared(KernelFunction kernel, uint32_t firstBuffer,
                       const int64_t *params, int64_t tasks) {
  return {kernel, firstBuffer, /*solo=*/false, /*barrierAfter=*/true,
          params, tasks};
}

} // namespace

TEST(WorkerPool, EveryTaskRunsOnce) {
  for (uint32_t workers : {1u, 2u, 3u, 7u}) {
    auto pool = WorkerPool::create(workers, false);
    ASSERT_TRUE(pool.isOk());
    for (int64_t tasks : {0, 1, 2, 5, 100}) {
      std::vector<int32_t> counts(size_t(tasks) + 1, 0);
      CommandList list;
      list.buffers = {counts.data()};
      list.commands = {shared(countTasks, 0, nullptr, tasks)};
      list.divide(workers);
      runCommands(list, **pool, nullptr, 0);
      list.commands[0].solo = true;
      list.divide(workers);
      runCommands(list, **pool, nullptr, 0);
      for (int64_t i = 0; i < tasks; ++i)
        EXPECT_EQ(counts[size_t(i)], 2);
      EXPECT_EQ(counts[size_t(tasks)], 0);
    }
  }
}

TEST(WorkerPool, CommandsSeeWhatEarlierOnesWrote) {
  auto pool = WorkerPool::create(3, true);
  ASSERT_TRUE(pool.isOk());
  const int64_t n = 64;
  std::vector<int32_t> x(n, 0), y(n, 0);
  CommandList list;
  list.buffers = {x.data(), y.data(), y.data(), x.data()};
  for (int i = 0; i < 50; ++i) {
    list.commands.push_back(shared(reverse, 0, &n, i % 5 ? n : 1));
    list.commands.push_back(shared(reverse, 2, &n, i % 5 ? n : 1));
    // Worker 0 does both without a barrier between them.
    if (i % 3 == 0) {
      list.commands.end()[-2].solo = list.commands.back().solo = true;
      list.commands.end()[-2].barrierAfter = false;
    }
  }
  list.divide(3);
  for (int repeat = 0; repeat < 20; ++repeat)
    runCommands(list, **pool, nullptr, 0);
  std::vector<int32_t> a(n, 0), b(n, 0);
  for (int repeat = 0; repeat < 20; ++repeat)
    for (int i = 0; i < 50; ++i) {
      for (int64_t t = 0; t < (i % 5 ? n : 1); ++t)
        b[size_t(t)] = a[size_t(n - 1 - t)] + 1;
      for (int64_t t = 0; t < (i % 5 ? n : 1); ++t)
        a[size_t(t)] = b[size_t(n - 1 - t)] + 1;
    }
  EXPECT_EQ(x, a);
}

TEST(WorkerPool, TimedRunsDoTheSameAndKeepTheirOrder) {
  for (uint32_t workers : {1u, 3u}) {
    auto pool = WorkerPool::create(workers, false);
    ASSERT_TRUE(pool.isOk());
    std::vector<int32_t> counts(8, 0);
    CommandList list;
    list.buffers = {counts.data()};
    // The second and third command have a share for worker 0 only.
    for (int64_t tasks : {8, 1, 1, 5})
      list.commands.push_back(shared(countTasks, 0, nullptr, tasks));
    list.commands[1].barrierAfter = false;
    list.divide(workers);
    CommandTimes times;
    for (int repeat = 0; repeat < 2; ++repeat)
      runCommands(list, **pool, nullptr, 0, &times);
    EXPECT_EQ(counts, (std::vector<int32_t>{8, 4, 4, 4, 4, 2, 2, 2}));
    ASSERT_EQ(times.workers(), workers);
    ASSERT_EQ(times.commands(), 4u);
    uint64_t latest = 0;
    for (uint32_t worker = 0; worker < workers; ++worker) {
      std::span<const CommandTime> of = times.of(worker);
      for (size_t i = 0; i < of.size(); ++i) {
        EXPECT_GT(of[i].begin, 0u);
        EXPECT_LE(of[i].begin, of[i].end);
        EXPECT_LE(of[i].end, of[i].released);
        // No barrier: nothing to wait for.
        if (workers == 1 || !list.commands[i].barrierAfter)
          EXPECT_EQ(of[i].end, of[i].released);
        if (i > 0)
          EXPECT_EQ(of[i].begin, of[i - 1].released);
      }
      latest = std::max(latest, of[0].end);
    }
    // No worker leaves a barrier before the last one has reached it.
    if (workers > 1)
      for (uint32_t worker = 0; worker < workers; ++worker)
        EXPECT_GE(times.of(worker)[0].released, latest);
  }
}

/// Marks the rows of each task with the number of rows, two rows per group.
static void markRows(void *const *buffers, const int64_t *params, int64_t begin,
                     int64_t end, void *) {
  for (int64_t row = 2 * begin; row < std::min(2 * end, params[0]); ++row)
    static_cast<int64_t *>(buffers[0])[row] += 100 * params[0] + params[1];
}

TEST(WorkerPool, ActiveRowsAreDivided) {
  const int64_t params[] = {7, 9};
  for (uint32_t workers : {1u, 2u, 3u, 7u}) {
    auto pool = WorkerPool::create(workers, false);
    ASSERT_TRUE(pool.isOk());
    for (int32_t live : {0, 1, 2, 5, 6, 7, 8, INT32_MAX, -1, INT32_MIN})
      for (bool solo : {false, true}) {
        std::vector<int64_t> marks(7, 0);
        CommandList list;
        list.buffers = {marks.data()};
        list.commands = {shared(markRows, 0, params, 4)};
        list.commands[0].solo = solo;
        list.commands[0].live = &live;
        list.commands[0].shape = {/*rowsPerGroup=*/2, /*tasks=*/1, /*most=*/0,
                                  /*params=*/2};
        list.divide(workers);
        runCommands(list, **pool, nullptr, 0);
        int64_t rows = std::clamp(live, 0, 7);
        for (int64_t row = 0; row < 7; ++row)
          EXPECT_EQ(marks[size_t(row)], row < rows ? 100 * rows + 9 : 0)
              << row << " of " << live << ", " << workers << " workers";
      }
  }
}

/// Writes the number of active rows, and counts tasks by row.
static void sayRows(void *const *buffers, const int64_t *params, int64_t,
                    int64_t, void *) {
  *static_cast<int32_t *>(buffers[0]) = int32_t(params[1]);
}

TEST(WorkerPool, TheNumberIsThatOfTheCommandsBefore) {
  auto pool = WorkerPool::create(3, false);
  ASSERT_TRUE(pool.isOk());
  int32_t live = 0;
  std::vector<int64_t> params;
  for (int64_t rows = 0; rows <= 7; ++rows)
    params.insert(params.end(), {1, rows});
  const int64_t marked[] = {7, 0};
  std::vector<int64_t> marks(7, 0);
  CommandList list;
  list.buffers = {&live, marks.data()};
  for (size_t rows = 0; rows <= 7; ++rows) {
    list.commands.push_back(shared(sayRows, 0, &params[2 * rows], 1));
    list.commands.push_back(shared(markRows, 1, marked, 4));
    list.commands.back().live = &live;
    list.commands.back().shape = {2, 1, 0, 2};
  }
  list.divide(3);
  runCommands(list, **pool, nullptr, 0);
  for (int64_t row = 0; row < 7; ++row) {
    int64_t want = 0;
    for (int64_t rows = row + 1; rows <= 7; ++rows)
      want += 100 * rows;
    EXPECT_EQ(marks[size_t(row)], want);
  }
}

TEST(WorkerPool, TasksFollowFromRows) {
  TasksOfRows all{/*rowsPerGroup=*/0, /*tasks=*/6, /*most=*/0, /*params=*/1};
  EXPECT_EQ(all.at(1), 6);
  TasksOfRows groups{8, 3, 0, 1};
  EXPECT_EQ(groups.at(8), 3);
  EXPECT_EQ(groups.at(9), 6);
  TasksOfRows bounded{8, 3, 5, 1};
  EXPECT_EQ(bounded.at(9), 5);
}

TEST(KernelImage, FindsSymbolsAndNamesMissingOnes) {
  auto image = KernelImage::load(fakeImage());
  ASSERT_TRUE(image.isOk()) << image.status().toString();
  EXPECT_TRUE((*image)->find("twice").isOk());
  EXPECT_EQ((*image)->find("thrice").status().toString(),
            "NotFound: the kernel image has no symbol 'thrice'");
}

TEST(KernelImage, ImagesAreIndependent) {
  auto first = KernelImage::load(fakeImage());
  auto second = KernelImage::load(fakeImage());
  ASSERT_TRUE(first.isOk() && second.isOk());
  EXPECT_NE(*(*first)->find("twice"), *(*second)->find("twice"));
}

TEST(KernelImage, RefusesWhatIsNoSharedObject) {
  std::vector<uint8_t> image = fakeImage();
  EXPECT_FALSE(KernelImage::load(std::span(image).first(10)).isOk());
  EXPECT_FALSE(KernelImage::load(std::span(image).first(200)).isOk());
  std::vector<uint8_t> text(100, 'x');
  EXPECT_EQ(KernelImage::load(text).status().message(),
            "kernel image: expected a 64-bit ELF shared object");
  image[18] ^= 0xff; // e_machine
  EXPECT_EQ(KernelImage::load(image).status().code(),
            StatusCode::FailedPrecondition);
}

/// Returns the byte offset of the image's dynamic entry with `tag`.
static size_t dynamicEntry(const std::vector<uint8_t> &image, int64_t tag) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, &image[header.e_phoff + i * sizeof(segment)],
                sizeof(segment));
    if (segment.p_type != PT_DYNAMIC)
      continue;
    for (uint64_t at = segment.p_offset;
         at < segment.p_offset + segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, &image[at], sizeof(entry));
      if (entry.d_tag == tag)
        return at;
    }
  }
  ADD_FAILURE() << "no dynamic entry " << tag;
  return 0;
}

TEST(KernelImage, RefusesWhatAsksTheLinkerForMore) {
  auto messageWith = [](int64_t tag) {
    std::vector<uint8_t> image = fakeImage();
    std::memcpy(&image[dynamicEntry(image, DT_GNU_HASH)], &tag, sizeof(tag));
    return std::string(verifyElf(image).message());
  };
  EXPECT_TRUE(verifyElf(fakeImage()).isOk());
  EXPECT_EQ(messageWith(DT_NEEDED),
            "kernel image: expected an image that needs no other library");
  for (int64_t tag :
       {DT_INIT, DT_INIT_ARRAY, DT_PREINIT_ARRAY, DT_FINI, DT_FINI_ARRAY})
    EXPECT_EQ(messageWith(tag),
              "kernel image: expected an image without code that runs when it "
              "is loaded or unloaded");
  EXPECT_EQ(messageWith(DT_RUNPATH),
            "kernel image: unexpected dynamic entry 29");
}

TEST(KernelImage, RefusesImportsAndFunctionsThatChooseThemselves) {
  // The first symbol of the table does not exist. The second is a kernel or an
  // import of the image.
  std::vector<uint8_t> image = fakeImage();
  Elf64_Dyn table;
  std::memcpy(&table, &image[dynamicEntry(image, DT_SYMTAB)], sizeof(table));
  size_t at = table.d_un.d_ptr + sizeof(Elf64_Sym); // In the first segment.
  Elf64_Sym symbol;
  std::memcpy(&symbol, &image[at], sizeof(symbol));
  auto messageWith = [&](const Elf64_Sym &changed) {
    std::vector<uint8_t> other = image;
    std::memcpy(&other[at], &changed, sizeof(changed));
    return std::string(verifyElf(other).message());
  };
  Elf64_Sym imported = symbol, chosen = symbol, outside = symbol;
  imported.st_shndx = SHN_UNDEF;
  imported.st_name = 0;
  EXPECT_EQ(messageWith(imported),
            "kernel image: expected no imports but memcpy, memmove and memset, "
            "got ''");
  chosen.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
  EXPECT_NE(messageWith(chosen).find("' is of type 10"), std::string::npos);
  outside.st_shndx = 1;
  outside.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  outside.st_value = uint64_t(1) << 33;
  EXPECT_NE(messageWith(outside).find("' is not in the code"),
            std::string::npos);
}

TEST(KernelImage, AnyByteOfItsTablesMayBeAnything) {
  std::vector<uint8_t> image = fakeImage();
  size_t front = std::min<size_t>(image.size(), 4096);
  for (size_t i = 0; i < front; ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> changed(image.begin(), image.end());
      changed[i] ^= flip;
      verifyElf(changed).ignore();
      verifyElf(std::span(image).first(i)).ignore();
    }
}

TEST(CpuDevice, NamesAllMissingFeatures) {
  ArtifactBuilder a = makeFakeModel();
  a.features = {"sse2", "warp9", "amx-movrs"};
  std::vector<uint8_t> file = a.finish();
  AlignedBytes bytes(file);
  auto artifact = ArtifactFile::fromMemory(bytes.span());
  ASSERT_TRUE(artifact.isOk()) << artifact.status().toString();
  auto device = createCpuDevice({});
  ASSERT_TRUE(device.isOk());
  EXPECT_EQ((*device)->load(*artifact, 0, 4).status().toString(),
            "FailedPrecondition: this machine lacks cpu features that the "
            "kernels need: warp9 (unknown to this runtime), amx-movrs (unknown "
            "to this runtime)");
}

TEST(CpuDevice, RefusesAnotherArchitecture) {
  ArtifactBuilder a = makeFakeModel();
  a.arch = "riscv64";
  AlignedBytes bytes(a.finish());
  auto artifact = ArtifactFile::fromMemory(bytes.span());
  ASSERT_TRUE(artifact.isOk());
  auto device = createCpuDevice({});
  std::string message((*device)->load(*artifact, 0, 4).status().message());
  EXPECT_NE(message.find("got riscv64"), std::string::npos) << message;
}

TEST(CpuDevice, NamesAMissingKernel) {
  ArtifactBuilder a = makeFakeModel();
  for (ArtifactBuilder::Kernel &kernel : a.kernels)
    if (kernel.symbol == "twice")
      kernel.symbol = "thrice";
  AlignedBytes bytes(a.finish());
  auto artifact = ArtifactFile::fromMemory(bytes.span());
  ASSERT_TRUE(artifact.isOk());
  auto device = createCpuDevice({});
  EXPECT_EQ((*device)->load(*artifact, 0, 4).status().toString(),
            "NotFound: the kernel image has no symbol 'thrice'");
}

TEST(CpuDevice, ComputesTheActiveRows) {
  ArtifactBuilder a = makeFakeModel();
  ArtifactBuilder::Program &twice = a.programs.back();
  ASSERT_EQ(twice.name, "twice");
  Binding live{schema::Space::Arena, 0, twice.arenaBytes, 4};
  twice.arenaBytes += 64;
  twice.inputs.push_back({"rows", live, schema::DType::I32, {1}});
  twice.commands[0].live = live;
  AlignedBytes bytes(a.finish());
  auto artifact = ArtifactFile::fromMemory(bytes.span());
  ASSERT_TRUE(artifact.isOk()) << artifact.status().toString();
  auto device = createCpuDevice({.threads = 2});
  auto executable = (*device)->load(*artifact, 0, 2);
  ASSERT_TRUE(executable.isOk()) << executable.status().toString();
  std::vector<float> x{1, 2, 3, 4}, y(4);
  for (int32_t rows : {3, 0, 4, -7, 9, 1}) {
    std::vector<float> before(4, 0.5f);
    EXPECT_TRUE((*executable)
                    ->write(twice.outputs[0].binding, before.data(), 16)
                    .isOk());
    EXPECT_TRUE(
        (*executable)->write(twice.inputs[0].binding, x.data(), 16).isOk());
    EXPECT_TRUE((*executable)->write(live, &rows, 4).isOk());
    uint32_t program = uint32_t(a.programs.size() - 1);
    EXPECT_TRUE((*executable)->run(program, 0).isOk());
    EXPECT_TRUE(
        (*executable)->read(twice.outputs[0].binding, y.data(), 16).isOk());
    for (int32_t i = 0; i < 4; ++i)
      EXPECT_EQ(y[size_t(i)], i < rows ? 2 * x[size_t(i)] : 0.5f)
          << i << " of " << rows;
  }
}

TEST(CpuDevice, TooManyPagesAreAnError) {
  AlignedBytes bytes(makeFakeModel().finish());
  auto artifact = ArtifactFile::fromMemory(bytes.span());
  ASSERT_TRUE(artifact.isOk());
  auto device = createCpuDevice({});
  EXPECT_EQ((*device)->load(*artifact, 0, uint64_t(1) << 60).status().code(),
            StatusCode::ResourceExhausted);
}

TEST(CpuFeatures, KnowsTheBaselineAndNotTheUnknown) {
  EXPECT_EQ(cpuFeature("nonsense"), FeatureState::Unknown);
#if defined(__x86_64__)
  EXPECT_EQ(cpuFeature("sse2"), FeatureState::Present);
  EXPECT_EQ(cpuFeature("avx2") == FeatureState::Present,
            bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(cpuFeature("avx512f") == FeatureState::Present,
            bool(__builtin_cpu_supports("avx512f")));
#endif
}
