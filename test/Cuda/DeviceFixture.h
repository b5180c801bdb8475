//===- DeviceFixture.h - A CUDA device on the simulator ---------*- C++ -*-===//

#ifndef MTP_TEST_CUDA_DEVICEFIXTURE_H
#define MTP_TEST_CUDA_DEVICEFIXTURE_H

#include "Kernels.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "test/Runtime/support/FakeModel.h"

#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace mtp::test {

using Inject = CUresult (*)(const char *, long long);

template <typename Function>
Function simulatorFunction(const char *name) {
  static void *library = dlopen(MTP_CUDASIM, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(library, name));
}

inline void inject(const char *what, long long value) {
  ASSERT_EQ(simulatorFunction<Inject>("mtp_sim_inject")(what, value),
            CUDA_SUCCESS);
}

inline std::shared_ptr<const ArtifactFile>
fileOf(const ArtifactBuilder &a, const std::string &name = "gpu") {
  auto file = ArtifactFile::open(writeFile(name, a.finish()));
  EXPECT_TRUE(file.isOk()) << file.status().toString();
  return file ? *file : nullptr;
}

/// A device with default properties, before and after each test.
class CudaDeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    simulatorFunction<void (*)()>("mtp_sim_revive")();
    ::setenv("MTP_CUDA_DRIVER", MTP_CUDASIM, 1);
    EXPECT_TRUE(CudaContext::open(MTP_CUDASIM).isOk());
  }
  void TearDown() override {
    inject("driver", 0);
    inject("chip", 90);
    inject("fault", -1);
    inject("full", -1);
    inject("turns", INT64_MAX);
    inject("devices", 1);
    inject("memory", 16ll << 30);
    SetUp();
  }

  std::unique_ptr<Executable> load(std::shared_ptr<const ArtifactFile> file,
                                   uint64_t kvPages = 10,
                                   std::vector<uint32_t> watched = {}) {
    Result<std::unique_ptr<Executable>> executable =
        tryLoad(std::move(file), kvPages, std::move(watched));
    EXPECT_TRUE(executable.isOk()) << executable.status().toString();
    return executable ? std::move(*executable) : nullptr;
  }
  Result<std::unique_ptr<Executable>>
  tryLoad(std::shared_ptr<const ArtifactFile> file, uint64_t kvPages = 10,
          std::vector<uint32_t> watched = {}) {
    MTP_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, createCudaDevice());
    return device->load(std::move(file), 0, kvPages, std::move(watched));
  }
  std::string loadMessage(const ArtifactBuilder &a, uint64_t kvPages = 10) {
    auto executable = tryLoad(fileOf(a), kvPages);
    return executable ? "" : executable.status().toString();
  }
};

/// A test with a context that outlives the objects in it.
class CudaContextTest : public CudaDeviceTest {
protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    auto opened = CudaContext::open(MTP_CUDASIM);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    context = *opened;
    ASSERT_TRUE(context->enter().isOk());
  }
  void TearDown() override {
    inject("pinned", INT64_MAX);
    context.reset();
    CudaDeviceTest::TearDown();
  }

  std::shared_ptr<CudaContext> context;
};

inline Binding stateOf(const ArtifactFile &file, std::string_view name) {
  uint32_t index = *file.artifact().findState(name);
  return {schema::Space::State, index, 0, file.artifact().states[index].bytes};
}

inline std::vector<int32_t> read(Executable &executable, const Binding &from) {
  std::vector<int32_t> values(from.bytes / 4);
  Status status = executable.read(from, values.data(), from.bytes);
  EXPECT_TRUE(status.isOk()) << status.toString();
  return values;
}

/// Gives slot s the page s + 1. `first` is the page of slot 0.
inline void writeTable(Executable &executable, const ArtifactFile &file,
                       int32_t first = 1) {
  std::vector<int32_t> table(kSlots * 3, 0);
  for (uint32_t slot = 0; slot < kSlots; ++slot)
    table[slot * 3] = first + int32_t(slot);
  EXPECT_TRUE(
      executable.write(stateOf(file, "page_table"), table.data(), 36).isOk());
}

/// Returns the output "seen" of kDecode for n slots.
inline std::vector<int32_t> seen(Executable &executable, uint32_t n) {
  return read(executable,
              {schema::Space::Arena, 0, 64, uint64_t(n) * kRow * 4});
}

inline std::vector<int32_t> rowsOf(const std::vector<int32_t> &counts) {
  std::vector<int32_t> rows;
  for (int32_t count : counts)
    for (int32_t lane = 0; lane < int32_t(kRow); ++lane)
      rows.push_back(100 * count + lane);
  return rows;
}

} // namespace mtp::test

#endif // MTP_TEST_CUDA_DEVICEFIXTURE_H
