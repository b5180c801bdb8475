//===- Device.cpp - The simulated device in tests -------------------------===//

#include "Device.h"

#include "CompileText.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sstream>

using namespace mtp::gpusim::test;

/// Name that cuda.h's macro gives to a function.
#define MTP_TEXT2(name) #name
#define MTP_TEXT(name) MTP_TEXT2(name)

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) {
    std::fprintf(stderr, "gpu-sim lacks '%s'\n", name);
    std::exit(1);
  }
  return symbol;
}

static DriverTable loadTable() {
  void *library = dlopen(MTP_CUDASIM, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  DriverTable table;
#define MTP_FIND(name)                                                         \
  table.name =                                                                 \
      reinterpret_cast<decltype(table.name)>(find(library, MTP_TEXT(name)));
  MTP_DRIVER_FUNCTIONS(MTP_FIND)
#undef MTP_FIND
  table.lastError = reinterpret_cast<decltype(table.lastError)>(
      find(library, "mtp_sim_last_error"));
  table.setSeed = reinterpret_cast<decltype(table.setSeed)>(
      find(library, "mtp_sim_set_seed"));
  table.revive =
      reinterpret_cast<decltype(table.revive)>(find(library, "mtp_sim_revive"));
  table.inject =
      reinterpret_cast<decltype(table.inject)>(find(library, "mtp_sim_inject"));
  table.setScratch = reinterpret_cast<decltype(table.setScratch)>(
      find(library, "mtp_sim_set_scratch"));
  table.forget =
      reinterpret_cast<decltype(table.forget)>(find(library, "mtp_sim_forget"));
  table.keepScratch = reinterpret_cast<decltype(table.keepScratch)>(
      find(library, "mtp_sim_keep_scratch"));
  table.onKernel = reinterpret_cast<decltype(table.onKernel)>(
      find(library, "mtp_sim_on_kernel"));
  table.loadBatches = reinterpret_cast<decltype(table.loadBatches)>(
      find(library, "mtp_sim_load_batches"));
  table.waits =
      reinterpret_cast<decltype(table.waits)>(find(library, "mtp_sim_waits"));
  return table;
}

const DriverTable &mtp::gpusim::test::driver() {
  static DriverTable table = loadTable();
  return table;
}

void DeviceTest::SetUp() {
  CUcontext context;
  ASSERT_EQ(driver().cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
  driver().revive();
  driver().setSeed(0);
}

void DeviceTest::TearDown() {
  driver().revive();
  for (CUdeviceptr place : allocations)
    driver().cuMemFree(place);
  driver().cuDevicePrimaryCtxRelease(0);
}

static const std::vector<char> &compiled(const std::string &file) {
  static std::map<std::string, std::vector<char>> images;
  auto [entry, isNew] = images.try_emplace(file);
  if (isNew) {
    std::ifstream stream(std::string(MTP_GPUSIM_INPUTS) + "/" + file);
    std::stringstream text;
    text << stream.rdbuf();
    CompiledImage image = compileForSimulator(text.str());
    EXPECT_EQ(image.error, "");
    entry->second = std::move(image.image);
  }
  return entry->second;
}

CUmodule DeviceTest::load(const std::string &file) {
  // Loaded once: a test changes nothing in a module but its variables.
  static std::map<std::string, CUmodule> loaded;
  auto [entry, isNew] = loaded.try_emplace(file, nullptr);
  if (isNew && !compiled(file).empty())
    EXPECT_EQ(driver().cuModuleLoadData(&entry->second, compiled(file).data()),
              CUDA_SUCCESS)
        << lastError();
  return entry->second;
}

CUfunction DeviceTest::function(const std::string &file,
                                const std::string &kernel) {
  CUfunction result = nullptr;
  EXPECT_EQ(driver().cuModuleGetFunction(&result, load(file), kernel.c_str()),
            CUDA_SUCCESS)
      << lastError();
  return result;
}

CUdeviceptr DeviceTest::allocate(size_t bytes) {
  CUdeviceptr place = 0;
  EXPECT_EQ(driver().cuMemAlloc(&place, bytes), CUDA_SUCCESS) << lastError();
  allocations.push_back(place);
  return place;
}

CUresult DeviceTest::run(CUfunction function, unsigned grid, unsigned block,
                         std::vector<void *> parameters,
                         unsigned dynamicShared) {
  CUresult result =
      driver().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, dynamicShared,
                              nullptr, parameters.data(), nullptr);
  return result == CUDA_SUCCESS ? driver().cuCtxSynchronize() : result;
}

void DeviceTest::expectMessage(const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    EXPECT_NE(lastError().find(part), std::string::npos)
        << "expected '" << part << "' in '" << lastError() << "'";
}

void DeviceTest::expectFault(CUfunction function, unsigned grid, unsigned block,
                             const std::vector<void *> &parameters,
                             const std::vector<std::string> &parts,
                             unsigned dynamicShared) {
  EXPECT_EQ(run(function, grid, block, parameters, dynamicShared),
            CUDA_ERROR_LAUNCH_FAILED);
  expectMessage(parts);
  driver().revive();
}
