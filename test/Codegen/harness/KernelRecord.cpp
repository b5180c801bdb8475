//===- KernelRecord.cpp - Records of runs of GPU kernels ------------------===//

#include "KernelRecord.h"

#include "GpuHarness.h"
#include "Harness.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

/// Maximum number of runs of a kernel, each with other params.
static constexpr size_t kMostRuns = 2;
/// Maximum number of bytes in the buffers of a run.
static constexpr size_t kMostBytes = 128 << 10;

static std::string folder() {
  const char *name = std::getenv("MTP_RECORD_KERNELS");
  return name ? name : "";
}

std::string KernelRecord::chip() {
  const char *name = std::getenv("MTP_RECORD_CHIP");
  return folder().empty() ? "" : name ? name : "sm_90";
}

/// Returns the name of the running test.
static std::string runningTest() {
  const testing::TestInfo *info =
      testing::UnitTest::GetInstance()->current_test_info();
  return info ? std::string(info->test_suite_name()) + "." + info->name() : "";
}

/// Returns a folder's name that identifies the kernel.
static std::string nameOf(const KernelSpec &spec) {
  return llvm::utohexstr(llvm::xxh3_64bits(textOf(spec)), /*LowerCase=*/true);
}

bool KernelRecord::claim(const KernelSpec &spec) {
  return std::filesystem::create_directory(folder() + "/" + nameOf(spec));
}

static void writeFile(const std::string &name, llvm::StringRef bytes) {
  std::ofstream out(folder() + "/" + name, std::ios::binary);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  EXPECT_TRUE(out.good()) << name;
}

static void addLine(const std::string &line) {
  std::ofstream out(folder() + "/manifest", std::ios::app);
  out << line << "\n";
  EXPECT_TRUE(out.good()) << line;
}

KernelRecord::KernelRecord(const KernelSpec &spec, const GpuLaunch &launch,
                           const std::vector<char> &image)
    : name(nameOf(spec)) {
  writeFile(name + "/image", {image.data(), image.size()});
  addLine("kernel image=" + name + "/image symbol=" + spec.symbol +
          " threads=" + std::to_string(launch.threads) +
          " kind=" + spec.kernel.getKind().str() + " test=" + runningTest());
}

/// Returns the buffers without repetitions: buffers of one allocation count
/// once.
static std::vector<GpuBuffer> distinct(const std::vector<GpuBuffer> &buffers) {
  std::vector<GpuBuffer> found;
  for (const GpuBuffer &buffer : buffers)
    if (buffer.bytes > 0 && llvm::none_of(found, [&](const GpuBuffer &other) {
          return other.host == buffer.host;
        }))
      found.push_back(buffer);
  return found;
}

static void append(std::string &data, const std::vector<GpuBuffer> &buffers) {
  for (const GpuBuffer &buffer : distinct(buffers))
    data.append(static_cast<const char *>(buffer.host), buffer.bytes);
}

bool KernelRecord::wants(const std::vector<GpuBuffer> &buffers,
                         const std::vector<int64_t> &params) const {
  size_t bytes = 0;
  for (const GpuBuffer &buffer : distinct(buffers))
    bytes += buffer.bytes;
  return runs.size() < kMostRuns && bytes <= kMostBytes &&
         !llvm::is_contained(runs, params);
}

void KernelRecord::begin(const std::vector<GpuBuffer> &buffers) {
  data.clear();
  append(data, buffers);
}

void KernelRecord::end(const std::vector<GpuBuffer> &buffers,
                       const std::vector<int64_t> &params, int64_t blocks) {
  append(data, buffers);
  std::string file = name + "/" + std::to_string(runs.size());
  std::string line = "run image=" + name + "/image data=" + file +
                     " blocks=" + std::to_string(blocks);
  std::vector<GpuBuffer> allocations = distinct(buffers);
  auto list = [&](const char *key, const auto &values, auto text) {
    line += std::string(" ") + key + "=";
    for (const auto &value : values)
      line += text(value) + ",";
  };
  list("sizes", allocations, [](const GpuBuffer &allocation) {
    return std::to_string(allocation.bytes);
  });
  // The number of the allocation, and the offset in it. Empty buffers have
  // none.
  list("pointers", buffers, [&](const GpuBuffer &buffer) {
    auto found = llvm::find_if(allocations, [&](const GpuBuffer &other) {
      return other.host == buffer.host;
    });
    return std::to_string(buffer.bytes ? found - allocations.begin() : -1) +
           ":" + std::to_string(buffer.offset);
  });
  list("params", params, [](int64_t param) { return std::to_string(param); });
  writeFile(file, data);
  addLine(line);
  runs.push_back(params);
}
