//===- Devices_test.cpp - Several GPUs, and their requests ----------------===//

#include "DeviceFixture.h"
#include "mtp/mtp.h"
#include "mtp/session.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/device/cuda/LoadedPlan.h"

#include <cstring>

using namespace mtp;
using namespace mtp::test;

namespace {

class DevicesTest : public CudaDeviceTest {
protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    path = writeFile("devices", makeGpuModel().finish());
  }
  void TearDown() override {
    simulatorFunction<void (*)()>("mtp_sim_revive")();
    inject("devices", 2);
    EXPECT_TRUE(CudaContext::open(MTP_CUDASIM, 1).isOk());
    CudaDeviceTest::TearDown();
  }

  std::shared_ptr<const Model> onGpu(uint32_t gpu) {
    auto model = Model::load(path, {.device = DeviceKind::Cuda, .gpu = gpu});
    EXPECT_TRUE(model.isOk()) << model.status().toString();
    return model ? *model : nullptr;
  }
  std::string run(Session &session, const char *function) {
    Tensor x{{ElementType::I32, {2, kRow}}, std::vector<uint8_t>(256, 1)};
    return session.runFunction(function, {&x, 1}).status().toString();
  }

  std::string path;
};

} // namespace

TEST_F(DevicesTest, EachHasMemoryOfItsOwn) {
  inject("devices", 2);
  std::shared_ptr<const Model> first = onGpu(0), second = onGpu(1);
  EXPECT_EQ(second->gpu(), 1u);
  auto zero = CudaContext::open(MTP_CUDASIM, 0),
       one = CudaContext::open(MTP_CUDASIM, 1);
  ASSERT_TRUE(zero.isOk() && one.isOk());
  auto unused = [](const CudaContext &context) {
    EXPECT_TRUE(context.enter().isOk());
    return context.freeBytes().value();
  };
  uint64_t before = unused(**zero), beforeOne = unused(**one);
  auto a = Session::create(first), b = Session::create(second);
  ASSERT_TRUE(a.isOk()) << a.status().toString();
  ASSERT_TRUE(b.isOk()) << b.status().toString();
  EXPECT_GT(before - unused(**zero), 0u);
  EXPECT_EQ(before - unused(**zero), beforeOne - unused(**one))
      << "weights and all";
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(run(**a, "affine"), "Ok");
    EXPECT_EQ(run(**b, "affine"), "Ok");
  }
  a->reset();
  EXPECT_EQ(run(**b, "affine"), "Ok");
}

TEST_F(DevicesTest, OneIsLostAlone) {
  inject("devices", 2);
  auto a = Session::create(onGpu(0)), b = Session::create(onGpu(1));
  ASSERT_TRUE(a.isOk() && b.isOk());
  EXPECT_NE(run(**b, "beyond"), "Ok");
  EXPECT_NE(run(**b, "affine").find("the GPU is lost: program beyond"),
            std::string::npos);
  EXPECT_EQ(run(**a, "affine"), "Ok");
  b->reset();
  EXPECT_EQ(Session::create(onGpu(1)).status().code(), StatusCode::Internal);
  EXPECT_TRUE(Session::create(onGpu(0)).isOk());
}

TEST_F(DevicesTest, SaysHowManyThereAre) {
  EXPECT_EQ(Session::create(onGpu(1)).status().toString(),
            "InvalidArgument: expected a device of cuda:0 to cuda:0, since the "
            "driver has 1 GPU, got cuda:1");
  inject("devices", 2);
  EXPECT_TRUE(Session::create(onGpu(1)).isOk());
  EXPECT_EQ(Session::create(onGpu(4000000000)).status().toString(),
            "InvalidArgument: expected a device of cuda:0 to cuda:1, since the "
            "driver has 2 GPUs, got cuda:4000000000");
  inject("devices", 0);
  EXPECT_EQ(Session::create(onGpu(0)).status().toString(),
            "FailedPrecondition: no NVIDIA GPU: the driver has none");
}

TEST_F(DevicesTest, TheCInterfaceTakesANumber) {
  mtp_load_options options;
  mtp_load_options_init(&options);
  EXPECT_EQ(options.gpu, 0u);
  options.device = MTP_DEVICE_CUDA;
  options.gpu = 1;
  mtp_model *model = nullptr;
  mtp_session *session = nullptr;
  ASSERT_EQ(mtp_model_load_with(path.c_str(), &options, &model), MTP_OK)
      << mtp_message();
  EXPECT_EQ(mtp_session_create(model, nullptr, &session), MTP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(mtp_message()).find("got cuda:1"), std::string::npos)
      << mtp_message();
  inject("devices", 2);
  EXPECT_EQ(mtp_session_create(model, nullptr, &session), MTP_OK)
      << mtp_message();
  mtp_session_free(session);
  mtp_model_free(model);
}

// A processor that had to change its memory split could not run two kernels at
// once.
TEST_F(DevicesTest, KernelsWantOneDivisionOfAProcessorsMemory) {
  auto file = fileOf(makeGpuModel());
  auto executable = load(file);
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk() && (*context)->enter().isOk());
  auto loaded = LoadedPlan::find(**context, *file, 0);
  ASSERT_TRUE(loaded);
  std::vector<CUfunction> all = {loaded->deliver(), loaded->nextRound()};
  for (uint32_t i = 0; i < vectorSize(file->artifact().plans[0].kernels); ++i)
    all.push_back(loaded->kernel(i));
  for (CUfunction function : all) {
    int percent = 0;
    ASSERT_EQ((*context)->driver().cuFuncGetAttribute(
                  &percent, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                  function),
              CUDA_SUCCESS);
    // Two blocks of 64 KiB, plus a KiB of the driver for each, of 228 KiB.
    EXPECT_EQ(percent, 58);
  }
}
