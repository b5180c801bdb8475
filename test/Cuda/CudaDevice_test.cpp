//===- CudaDevice_test.cpp - The CUDA device on the simulator -------------===//

#include "DeviceFixture.h"
#include "mtp/session.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/LaunchList.h"
#include "test/Runtime/support/FakeModel.h"

#include "llvm/Support/JSON.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

using namespace mtp;
using namespace mtp::test;

TEST_F(CudaDeviceTest, RunsFunctionsWithWeightsAndSharedMemory) {
  std::string path = writeFile("affine", makeGpuModel().finish());
  auto model = Model::load(path);
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  EXPECT_EQ((*model)->device(), DeviceKind::Cuda);
  auto session = Session::create(*model);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  Tensor x{{ElementType::I32, {2, kRow}}, std::vector<uint8_t>(256)};
  std::vector<int32_t> values(2 * kRow), expected(2 * kRow);
  std::iota(values.begin(), values.end(), -5);
  std::memcpy(x.bytes.data(), values.data(), 256);
  for (uint32_t i = 0; i < 2 * kRow; ++i)
    expected[i] =
        2 * values[i] * (3 + int32_t(i % kRow)) + 1000 + 10 * int32_t(i % kRow);
  for (int turn = 0; turn < 2; ++turn) {
    auto results = (*session)->runFunction("affine", {&x, 1});
    ASSERT_TRUE(results.isOk()) << results.status().toString();
    std::vector<int32_t> got(2 * kRow);
    std::memcpy(got.data(), results->front().bytes.data(), 256);
    EXPECT_EQ(got, expected);
  }
}

TEST_F(CudaDeviceTest, KeepsStatesAndPagesForSeveralN) {
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  EXPECT_EQ(read(*executable, stateOf(*file, "count")),
            std::vector<int32_t>(kSlots, 0));
  writeTable(*executable, *file);
  ASSERT_TRUE(executable->run(kDecode, 3).isOk());
  EXPECT_EQ(seen(*executable, 3), rowsOf({1, 1, 1}));
  ASSERT_TRUE(executable->run(kDecode, 2).isOk());
  EXPECT_EQ(seen(*executable, 2), rowsOf({2, 2}));
  ASSERT_TRUE(executable->run(kDecode, 1).isOk());
  ASSERT_TRUE(executable->run(kDecode, 3).isOk());
  EXPECT_EQ(seen(*executable, 3), rowsOf({4, 3, 2}));
  EXPECT_EQ(read(*executable, stateOf(*file, "count")),
            (std::vector<int32_t>{4, 3, 2}));
  // A write takes effect before the next run.
  writeTable(*executable, *file, 4);
  int32_t count = 8;
  Binding first = stateOf(*file, "count");
  ASSERT_TRUE(executable->write(first, &count, 4).isOk());
  ASSERT_TRUE(executable->run(kDecode, 1).isOk());
  EXPECT_EQ(seen(*executable, 1), rowsOf({9}));
  EXPECT_EQ(executable->run(kDecode, 4).toString(),
            "InvalidArgument: expected 1 to 3 slots or rows for program "
            "decode, got 4");
  EXPECT_TRUE(executable->run(kPrefill, 2).isOk()) << "nothing to launch";
}

TEST_F(CudaDeviceTest, WritesAndReadsPages) {
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  writeTable(*executable, *file);
  std::vector<int32_t> page(kPageElements, 77);
  // The other layer, and another page: the program sees no change.
  ASSERT_TRUE(executable->writePage(0, 0, 1, page.data()).isOk());
  ASSERT_TRUE(executable->writePage(0, 1, 9, page.data()).isOk());
  ASSERT_TRUE(executable->run(kDecode, 3).isOk());
  EXPECT_EQ(seen(*executable, 3), rowsOf({1, 1, 1}));
  std::vector<int32_t> back(kPageElements), other = back;
  ASSERT_TRUE(executable->readPage(0, 1, 9, 32, back.data()).isOk());
  EXPECT_EQ(back, page);
  // Without a description of entries the whole page is read.
  ASSERT_TRUE(executable->readPage(0, 0, 1, 1, other.data()).isOk());
  EXPECT_EQ(other, page);
}

// No program runs here: the host's writes are delivered for the read.
TEST_F(CudaDeviceTest, ReadsFindWhatWasWritten) {
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  Binding count = stateOf(*file, "count");
  auto write = [&](uint64_t offset, const void *source, uint64_t bytes) {
    Binding part(schema::Space::State, count.index, offset, bytes);
    Status status = executable->write(part, source, bytes);
    ASSERT_TRUE(status.isOk()) << status.toString();
  };
  const int32_t all[] = {1, 2, 3}, one = 9;
  write(0, all, 12);
  EXPECT_EQ(read(*executable, count), (std::vector<int32_t>{1, 2, 3}));
  // All words a second time, and a part of the words in the mailbox.
  write(0, all + 1, 4);
  write(0, all, 12);
  write(4, &one, 4);
  EXPECT_EQ(read(*executable, count), (std::vector<int32_t>{1, 9, 3}));
  // Not a whole number of words.
  write(8, &one, 4);
  const int16_t half = 5;
  write(8, &half, 2);
  EXPECT_EQ(read(*executable, count), (std::vector<int32_t>{1, 9, 5}));
}

// States, pages, and words that are not yet delivered: the host waits once.
TEST_F(CudaDeviceTest, ReadsAllWithOneWait) {
  auto waits = simulatorFunction<uint64_t (*)()>("mtp_sim_waits");
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  std::vector<int32_t> pages[2];
  for (uint32_t layer : {0, 1}) {
    pages[layer].assign(kPageElements, int32_t(40 + layer));
    ASSERT_TRUE(executable->writePage(0, layer, 7, pages[layer].data()).isOk());
  }
  const std::vector<int32_t> counts = {5, 6, 7};
  Binding count = stateOf(*file, "count"), last = count;
  last.offset = 8;
  last.bytes = 4;
  ASSERT_TRUE(executable->write(count, counts.data(), 12).isOk());
  std::vector<int32_t> first(kPageElements), second = first, all(3), one(1);
  const ReadPart parts[] = {{count, 0, 0, 0, all.data()},
                            {{schema::Space::Kv, 0}, 0, 7, 32, first.data()},
                            {{schema::Space::Kv, 0}, 1, 7, 32, second.data()},
                            {last, 0, 0, 0, one.data()}};
  uint64_t before = waits();
  Status status = executable->readAll(parts);
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(waits() - before, 1u);
  EXPECT_EQ(all, counts);
  EXPECT_EQ(first, pages[0]);
  EXPECT_EQ(second, pages[1]);
  EXPECT_EQ(one, (std::vector<int32_t>{7}));
  // The words were delivered, and are not delivered again.
  EXPECT_EQ(read(*executable, count), counts);
}

// A write that is larger than the mailbox does not wait if it covers none of
// the mailbox's words.
TEST_F(CudaDeviceTest, LargeWritesWaitForNoOthers) {
  constexpr uint64_t kWords = (5 << 20) / 4;
  auto waits = simulatorFunction<uint64_t (*)()>("mtp_sim_waits");
  ArtifactBuilder a = makeGpuModel();
  a.addState("large", {kSlots, kWords}, schema::DType::I32, {});
  auto file = fileOf(a);
  auto executable = load(file);
  Binding count = stateOf(*file, "count"), large = stateOf(*file, "large");
  large.bytes /= kSlots;
  const std::vector<int32_t> counts = {5, 6, 7};
  std::vector<int32_t> words(kWords, 3);
  uint64_t before = waits();
  ASSERT_TRUE(executable->write(count, counts.data(), 12).isOk());
  ASSERT_TRUE(executable->write(large, words.data(), large.bytes).isOk());
  EXPECT_EQ(waits(), before);
  // Writes to one place happen in order.
  const int32_t word = 9;
  Binding part(schema::Space::State, large.index, 8, 4);
  ASSERT_TRUE(executable->write(part, &word, 4).isOk());
  words[2] = 9;
  EXPECT_EQ(read(*executable, large), words);
  EXPECT_EQ(read(*executable, count), counts);
  ASSERT_TRUE(executable->write(part, &word, 4).isOk());
  std::fill(words.begin(), words.end(), 4);
  ASSERT_TRUE(executable->write(large, words.data(), large.bytes).isOk());
  EXPECT_EQ(read(*executable, large), words);
}

TEST_F(CudaDeviceTest, TimesEveryCommand) {
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  writeTable(*executable, *file);
  CommandTimes times;
  Status status = executable->runTimed(kDecode, 2, times);
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(times.workers(), 1u);
  ASSERT_EQ(times.commands(), 4u);
  uint64_t last = 0;
  for (const CommandTime &time : times.of(0)) {
    EXPECT_EQ(time.begin, last);
    EXPECT_GE(time.end, time.begin);
    EXPECT_EQ(time.wait(), 0u);
    last = time.end;
  }
  EXPECT_GT(last, 0u);
  EXPECT_EQ(seen(*executable, 2), rowsOf({1, 1}));
  EXPECT_EQ(executable->runTimed(kDecode, 0, times).code(),
            StatusCode::InvalidArgument);
}

// A run may not read data that none of its kernels wrote, although the data is
// still there.
TEST_F(CudaDeviceTest, RunsReadNothingOfEarlierOnes) {
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  std::vector<int32_t> x(2 * kRow, 1);
  const Program &affine = file->artifact().plans[0].programs[kAffine];
  ASSERT_TRUE(
      executable->write(affine.inputs[0].place.at(0), x.data(), 256).isOk());
  EXPECT_EQ(executable->run(kAffine, 0).toString(), "Ok");
  // Without another input: its bytes are still in the arena.
  EXPECT_EQ(executable->run(kAffine, 0).code(), StatusCode::Internal);
}

TEST_F(CudaDeviceTest, RunsReadNoPagesThatNobodyWrote) {
  ArtifactBuilder a = makeGpuModel();
  auto &commands = a.programs[kDecode].commands;
  commands.erase(commands.begin() + 1);
  auto file = fileOf(a);
  auto executable = load(file);
  writeTable(*executable, *file);
  EXPECT_EQ(executable->run(kDecode, 1).code(), StatusCode::Internal);
}

TEST_F(CudaDeviceTest, ExecutablesShareWeights) {
  auto file = fileOf(makeGpuModel());
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk() && (*context)->enter().isOk());
  auto unused = [&] { return (*context)->freeBytes().value(); };
  const uint64_t atFirst = unused();
  auto first = load(file);
  const uint64_t byFirst = atFirst - unused();
  writeTable(*first, *file);
  ASSERT_TRUE(first->run(kDecode, 1).isOk());
  const uint64_t before = unused();
  auto second = load(file);
  const uint64_t bySecond = before - unused();
  // A weight and a constant of a row each are shared. Each executable has its
  // own states and pages.
  EXPECT_EQ(byFirst - bySecond, 2 * CudaMemory::footprint(kRow * 4, 0));
  EXPECT_GE(bySecond, second->memoryBytes());
  EXPECT_EQ(read(*second, stateOf(*file, "count")),
            std::vector<int32_t>(kSlots, 0))
      << "states are an executable's own";
  EXPECT_EQ(first->memoryBytes(), second->memoryBytes());
  EXPECT_GT(first->hostBytes(), 1u << 20) << "the mailbox";
  first.reset();
  EXPECT_EQ(unused(), atFirst - byFirst) << "the weights stay";
  writeTable(*second, *file);
  ASSERT_TRUE(second->run(kDecode, 1).isOk());
  EXPECT_EQ(seen(*second, 1), rowsOf({1}));
  second.reset();
  EXPECT_EQ(unused(), atFirst);
}

TEST_F(CudaDeviceTest, CountsWhatTheProcessHolds) {
  auto file = fileOf(makeGpuModel());
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk() && (*context)->enter().isOk());
  MemoryAccount &device = (*context)->shared().memory;
  const uint64_t atFirst = device.reserved(), host = hostMemory().reserved();
  auto first = load(file);
  const uint64_t byFirst = device.reserved() - atFirst;
  const uint64_t byHost = hostMemory().reserved() - host;
  EXPECT_GE(byFirst, first->memoryBytes() + 2 * kRow * 4);
  EXPECT_EQ(byHost, first->hostBytes());
  auto second = load(file);
  const uint64_t weights = 2 * CudaMemory::footprint(kRow * 4, 0);
  EXPECT_EQ(device.reserved(), atFirst + 2 * byFirst - weights)
      << "weights and constants count once";
  // Devices that were lost in this process have left memory allocated.
  int64_t used = (16ll << 30) - int64_t((*context)->freeBytes().value());
  inject("memory", used + 100);
  std::string message = loadMessage(makeGpuModel());
  std::string held = "; this process holds " +
                     std::to_string(device.reserved()) + " there already";
  EXPECT_NE(message.find(held), std::string::npos) << message;
  first.reset();
  second.reset();
  EXPECT_EQ(device.reserved(), atFirst);
  EXPECT_EQ(hostMemory().reserved(), host);
}

TEST_F(CudaDeviceTest, AFaultLosesTheDevice) {
  std::string path = writeFile("fault", makeGpuModel().finish());
  auto model = Model::load(path, {.device = DeviceKind::Cuda});
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  auto session = Session::create(*model), other = Session::create(*model);
  ASSERT_TRUE(session.isOk() && other.isOk());
  Tensor x{{ElementType::I32, {2, kRow}}, std::vector<uint8_t>(256)};
  const std::string lost =
      "Internal: the GPU is lost: program beyond failed with "
      "CUDA_ERROR_LAUNCH_FAILED; CUDA may need a new process";
  auto run = [&](Session &on, const char *function) {
    return on.runFunction(function, {&x, 1}).status().toString();
  };
  EXPECT_EQ(run(**other, "affine"), "Ok");
  EXPECT_EQ(run(**session, "beyond"), lost);
  EXPECT_EQ(run(**session, "affine"), lost);
  EXPECT_EQ(run(**other, "affine"), lost) << "it is the same device";
  EXPECT_EQ(Session::create(*model).status().toString(), lost);
  // After all sessions have gone the driver is asked again. It still has the
  // fault.
  session->reset();
  other->reset();
  EXPECT_EQ(Session::create(*model).status().toString(), lost);
  // The process and its sessions on the CPU go on.
  auto onCpu = Session::create(loadFakeModel());
  ASSERT_TRUE(onCpu.isOk()) << onCpu.status().toString();
  const float four[] = {1, 2, 3, 4};
  Tensor y{{ElementType::F32, {4}}, std::vector<uint8_t>(16)};
  std::memcpy(y.bytes.data(), four, 16);
  auto twice = (*onCpu)->runFunction("twice", {&y, 1});
  ASSERT_TRUE(twice.isOk()) << twice.status().toString();
  float last = 0;
  std::memcpy(&last, &twice->front().bytes[12], 4);
  EXPECT_EQ(last, 8);
  // If the driver has a new context, a new session works.
  simulatorFunction<void (*)()>("mtp_sim_revive")();
  auto again = Session::create(*model);
  ASSERT_TRUE(again.isOk()) << again.status().toString();
  EXPECT_EQ(run(**again, "affine"), "Ok");
}

TEST_F(CudaDeviceTest, AFaultInARoundFailsTheStep) {
  auto model = Model::load(writeFile("step", makeGpuModel().finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  auto session = Session::create(*model);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  ASSERT_TRUE((*session)->add({.prompt = {1}, .maxTokens = 4}).isOk());
  // The prefill launches nothing, and leaves no token.
  auto first = (*session)->step();
  ASSERT_TRUE(first.isOk()) << first.status().toString();
  EXPECT_EQ(first->front().finish, FinishReason::Failed);
  inject("fault", 0);
  Tensor x{{ElementType::I32, {2, kRow}}, std::vector<uint8_t>(256)};
  EXPECT_EQ((*session)->runFunction("affine", {&x, 1}).status().code(),
            StatusCode::Internal);
  ASSERT_TRUE((*session)->add({.prompt = {1}, .maxTokens = 4}).isOk());
  EXPECT_EQ((*session)->step().status().code(), StatusCode::Internal);
}

TEST_F(CudaDeviceTest, RefusesDrivers) {
  ArtifactBuilder a = makeGpuModel();
  ::setenv("MTP_CUDA_DRIVER", "/no/such/driver.so", 1);
  EXPECT_EQ(loadMessage(a).rfind("FailedPrecondition: no NVIDIA driver: ", 0),
            0u)
      << loadMessage(a);
  // Not every library is a driver.
  ::setenv("MTP_CUDA_DRIVER", "libc.so.6", 1);
  EXPECT_EQ(loadMessage(a),
            "FailedPrecondition: expected an NVIDIA driver with "
            "cuDriverGetVersion, got libc.so.6 without it");
  ::setenv("MTP_CUDA_DRIVER", MTP_CUDASIM, 1);
  inject("driver", 12040);
  EXPECT_EQ(loadMessage(a),
            "FailedPrecondition: expected an NVIDIA driver for CUDA 13.0 or "
            "later, got one for CUDA 12.4");
  inject("driver", 0);
  inject("chip", 86);
  EXPECT_EQ(loadMessage(a),
            "FailedPrecondition: the driver takes no image of segment 0: "
            "CUDA_ERROR_NO_BINARY_FOR_GPU");
  inject("chip", 90);
  EXPECT_EQ(loadMessage(a), "");
}

TEST_F(CudaDeviceTest, RefusesImages) {
  ArtifactBuilder a = makeGpuModel();
  a.arch = "nvptx";
  a.cpu = "sm_90";
  a.imageFormat = schema::ImageFormat::Cubin;
  EXPECT_EQ(loadMessage(a),
            "FailedPrecondition: expected a plan for the driver gpu-sim, got "
            "one for an NVIDIA GPU");
  // An image that only claims to be the simulator's.
  a = makeGpuModel();
  std::vector<uint8_t> image(4096, 0);
  std::memcpy(image.data(),
              "\x7f"
              "ELF",
              4);
  a.images[0] = a.addSegment(schema::SegmentKind::Image, image);
  EXPECT_EQ(loadMessage(a).rfind("FailedPrecondition: the driver takes no "
                                 "image of segment 4: ",
                                 0),
            0u)
      << loadMessage(a);
  a = makeGpuModel();
  a.kernels[0].symbol = "mtp.none";
  EXPECT_EQ(loadMessage(a),
            "NotFound: the GPU's image has no kernel 'mtp_none'");
  // Code whose arguments differ from its table.
  a = makeGpuModel();
  a.kernels[0].launch->takesActive = true;
  EXPECT_EQ(loadMessage(a),
            "FailedPrecondition: kernel 'mtp_count': expected code that takes "
            "3 arguments (1 buffers, how many rows live, 1 params), got 2");
  a = makeGpuModel();
  a.kernels[0].symbol = "fill";
  a.kernels[1].symbol = "mtp.count";
  EXPECT_EQ(loadMessage(a),
            "FailedPrecondition: kernel 'fill': expected code that takes 2 "
            "arguments (1 buffers, 1 params), got more");
  // The CPU's device needs a plan for a CPU.
  std::string path = writeFile("cpu", makeGpuModel().finish());
  EXPECT_EQ(Model::load(path, {.device = DeviceKind::Cpu}).status().message(),
            path + ": expected an artifact with a plan for a CPU (mtpc "
                   "--target=cpu), got one for nvptx");
}

TEST_F(CudaDeviceTest, SaysWhatItIsAndHowFastItCopies) {
  auto device = createCudaDevice();
  ASSERT_TRUE(device.isOk()) << device.status().toString();
  EXPECT_EQ((*device)->name(), "gpu-sim sm_90, sm_90");
  Result<double> rate = (*device)->copyRate(1 << 16);
  ASSERT_TRUE(rate.isOk()) << rate.status().toString();
  EXPECT_GT(*rate, 0);
  auto cpu = createCpuDevice({.threads = 1});
  ASSERT_TRUE(cpu.isOk());
  EXPECT_EQ((*cpu)->copyRate(1 << 16).status().code(),
            StatusCode::Unimplemented);
}

/// Returns the output of a tool.
std::string runTool(const std::string &arguments,
                    const std::string &tool = MTP_RUN_TOOL) {
  std::string command = tool + " " + arguments + " 2>&1";
  std::FILE *pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    text += char(c);
  ::pclose(pipe);
  return text;
}

TEST_F(CudaDeviceTest, ToolsTakeADevice) {
  std::string path = writeFile("tool", makeGpuModel().finish());
  std::string row = "[1";
  for (uint32_t i = 1; i < kRow; ++i)
    row += ",1";
  std::string run = path + " --function=@affine '--input=2x32xi32=[" + row +
                    "]," + row + "]]'";
  for (const char *device : {"", " --device=cuda", " --device=auto"}) {
    std::string text = runTool(run + device);
    EXPECT_NE(text.find("1006, 1018"), std::string::npos) << text;
  }
  EXPECT_NE(runTool(run + " --device=cpu").find("(mtpc --target=cpu)"),
            std::string::npos);
  for (const char *none :
       {"gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:4294967296", "cpu:0"}) {
    std::string text = runTool(run + " --device=" + none);
    EXPECT_NE(text.find(std::string("--device: expected "
                                    "cpu|cuda|cuda:N|auto, got '") +
                        none + "'"),
              std::string::npos)
        << text;
  }
}

TEST_F(CudaDeviceTest, BenchMeasuresAGpu) {
  std::string path = writeFile("bench", makeGpuModel().finish());
  std::string text = runTool(path + " --measure decode --context 4 --turns 2 "
                                    "--rounds 3 --no-progress",
                             MTP_BENCH_TOOL);
  EXPECT_NE(text.find("gpu-sim sm_90, sm_90 (GPU), "), std::string::npos)
      << text;
  EXPECT_NE(text.find("read, GB/s "), std::string::npos) << text;
  EXPECT_EQ(text.find("Gop/s"), std::string::npos) << text;
  EXPECT_NE(text.find("The weights (0.0 MB) fit the last cache (52.4 MB)"),
            std::string::npos)
      << "the GPU's, not the host's:\n"
      << text;
}

TEST_F(CudaDeviceTest, BenchProfilesAGpu) {
  std::string path = writeFile("profile", makeGpuModel().finish());
  std::string trace = writeFile("profile.json", {});
  std::string said = runTool(path +
                                 " --measure decode --context 4 --turns 2 "
                                 "--rounds 3 --no-progress --trace " +
                                 trace,
                             MTP_BENCH_TOOL);
  std::ostringstream text;
  text << std::ifstream(trace).rdbuf();
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text.str());
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError()) << said;
  ASSERT_TRUE(parsed->getAsArray()) << text.str();
  std::vector<std::string> rows, kernels;
  double end = 0;
  for (const llvm::json::Value &value : *parsed->getAsArray()) {
    const llvm::json::Object &event = *value.getAsObject();
    const llvm::json::Object &arguments = *event.getObject("args");
    if (*event.getString("name") == "thread_name")
      rows.push_back(arguments.getString("name")->str());
    if (*event.getString("ph") != "X")
      continue;
    kernels.push_back(arguments.getString("kernel")->str());
    // The events follow each other without a gap: an event is recorded between
    // each two. Times are microseconds with three decimals.
    EXPECT_NEAR(*event.getNumber("ts"), end, 0.0015) << text.str();
    EXPECT_GT(*event.getNumber("dur"), 0) << text.str();
    end = *event.getNumber("ts") + *event.getNumber("dur");
  }
  EXPECT_EQ(rows, std::vector<std::string>{"GPU"});
  EXPECT_EQ(kernels,
            (std::vector<std::string>{"mtp.count", "fill", "see", "again"}));
}

/// Checks the number of graphs and nodes that a cache of 7 nodes keeps.
TEST_F(CudaDeviceTest, GraphsAreKeptWithinABound) {
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk());
  ASSERT_TRUE((*context)->enter().isOk());
  CUmodule module = nullptr;
  const DriverApi &driver = (*context)->driver();
  ASSERT_EQ(driver.cuModuleLoadData(&module, gpuImage().data()), CUDA_SUCCESS);
  KernelLaunch launch;
  ASSERT_EQ(driver.cuModuleGetFunction(&launch.function, module, "beyond"),
            CUDA_SUCCESS);
  launch.blocks = 1;
  launch.threads = kRow;
  launch.arguments = {0, 0, 1};
  GraphCache cache(7);
  auto add = [&](uint64_t key, size_t nodes) {
    LaunchList launches(nodes - 1, launch);
    // Commands without tasks have no nodes.
    launches.push_back(launch);
    launches.back().blocks = 0;
    auto graph =
        CudaGraph::build(*context, {launch, launches, std::nullopt}, nullptr);
    ASSERT_TRUE(graph.isOk()) << graph.status().toString();
    EXPECT_EQ((*graph)->nodes(), nodes);
    const CudaGraph *kept = cache.add(key, std::move(*graph));
    EXPECT_EQ(cache.find(key), kept);
  };
  add(1, 3);
  add(2, 3);
  EXPECT_NE(cache.find(1), nullptr) << "used last now";
  add(3, 4);
  EXPECT_EQ(cache.find(2), nullptr);
  EXPECT_NE(cache.find(1), nullptr);
  EXPECT_EQ(cache.nodes(), 7u);
  // A graph that is larger than the limit is kept alone.
  add(4, 9);
  EXPECT_EQ(cache.graphs(), 1u);
  EXPECT_EQ(cache.nodes(), 9u);
  // An expected graph stays longer than others, and goes if it is not used.
  cache.expect(5, 0.5);
  add(5, 3);
  add(6, 3);
  add(7, 3);
  EXPECT_NE(cache.find(5), nullptr);
  EXPECT_EQ(cache.find(6), nullptr);
  for (uint64_t key = 100; key < 140; ++key)
    add(key, 3);
  EXPECT_EQ(cache.find(5), nullptr);
  driver.cuModuleUnload(module);
}

TEST_F(CudaDeviceTest, AnErrorOfTheLibraryEndsTheCapture) {
  struct : GemmProduct {
    Status enqueue(const GemmBuffers &, CUstream) override {
      return failedPrecondition("a product that fails");
    }
  } product;
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk());
  ASSERT_TRUE((*context)->enter().isOk());
  const DriverApi &driver = (*context)->driver();
  CUstream stream = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  KernelLaunch launch;
  launch.gemm = &product;
  launch.blocks = 1;
  launch.arguments = {0, 0, 0, 0};
  auto graph = CudaGraph::build(
      *context, {KernelLaunch(), {launch}, std::nullopt}, stream);
  EXPECT_EQ(graph.status().toString(),
            "FailedPrecondition: a product that fails");
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  driver.cuStreamDestroy(stream);
}
