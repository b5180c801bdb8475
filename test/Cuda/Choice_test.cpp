//===- Choice_test.cpp - Choice of plan and code --------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cuda/ImageChoice.h"
#include "runtime/exec/DeviceChoice.h"
#include "test/Runtime/support/FakeModel.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// A plan for GPUs whose image contains no real code.
struct OpenPlan {
  explicit OpenPlan(const std::function<void(ArtifactBuilder &)> &change,
                    bool isHosted = false) {
    FakeOptions fake;
    fake.hasRanges = true;
    ArtifactBuilder a = makeFakeModel(fake);
    planForGpu(a, isHosted);
    change(a);
    bytes.emplace(a.finish());
    auto opened = ArtifactFile::fromMemory(bytes->span());
    EXPECT_TRUE(opened.isOk()) << opened.status().toString();
    file = *opened;
  }
  const Plan &plan() const { return file->artifact().plans[0]; }

  std::optional<AlignedBytes> bytes;
  std::shared_ptr<const ArtifactFile> file;
};

/// Returns "cubin", "ptx" or the message.
std::string choice(const std::string &chip, bool hasPtx,
                   const CudaMachine &machine, bool isPtx = false) {
  OpenPlan open([&](ArtifactBuilder &a) {
    a.cpu = chip;
    uint32_t ptx = a.addSegment(schema::SegmentKind::Image, {0});
    a.ptx = hasPtx ? int32_t(ptx) : -1;
    if (isPtx) {
      a.imageFormat = schema::ImageFormat::Ptx;
      a.ptx = -1;
    }
  });
  const schema::Image &image = *open.plan().images->Get(0);
  Result<uint32_t> segment = chooseSegment(open.plan(), image, machine);
  if (!segment)
    return std::string(segment.status().message());
  return !isPtx && *segment == image.segment() ? "cubin" : "ptx";
}

CudaMachine chip(int major, int minor) { return {major, minor}; }

TEST(ImageChoice, ACubinIsForItsChip) {
  EXPECT_EQ(choice("sm_90", true, chip(9, 0)), "cubin");
  EXPECT_EQ(choice("sm_90a", true, chip(9, 0)), "cubin");
  EXPECT_EQ(choice("sm_90", false, chip(9, 0)), "cubin");
  EXPECT_EQ(choice("sm_86", true, chip(8, 6)), "cubin");
  EXPECT_EQ(choice("sm_100", true, chip(10, 0)), "cubin");
}

TEST(ImageChoice, PtxIsForLaterChips) {
  EXPECT_EQ(choice("sm_90", true, chip(10, 0)), "ptx");
  EXPECT_EQ(choice("sm_80", true, chip(8, 9)), "ptx");
  EXPECT_EQ(choice("sm_100f", true, chip(10, 3)), "ptx");
  EXPECT_EQ(choice("sm_90", false, chip(12, 0), /*isPtx=*/true), "ptx");
}

TEST(ImageChoice, RefusesOtherChips) {
  EXPECT_EQ(choice("sm_90", true, chip(8, 6)),
            "expected a GPU that runs code for sm_90, got one of sm_86");
  EXPECT_EQ(choice("sm_90", false, chip(10, 0)),
            "expected a GPU that runs code for sm_90, got one of sm_100 (the "
            "artifact has no PTX)");
  EXPECT_EQ(choice("sm_90a", true, chip(10, 0)),
            "expected a GPU that runs code for sm_90a, got one of sm_100");
  EXPECT_EQ(choice("sm_100f", true, chip(12, 0)),
            "expected a GPU that runs code for sm_100f, got one of sm_120");
  EXPECT_EQ(choice("sm_90", true, chip(8, 9), /*isPtx=*/true),
            "expected a GPU that runs code for sm_90, got one of sm_89");
}

TEST(ImageChoice, RealAndHostedRefuseEachOther) {
  CudaMachine simulator{9, 0, "gpu-sim"}, another{9, 0, "other"};
  EXPECT_EQ(choice("sm_90", true, simulator),
            "expected a plan for the driver gpu-sim, got one for an NVIDIA "
            "GPU");
  OpenPlan open([](ArtifactBuilder &) {}, /*isHosted=*/true);
  const schema::Image &image = *open.plan().images->Get(0);
  EXPECT_TRUE(chooseSegment(open.plan(), image, simulator).isOk());
  EXPECT_EQ(chooseSegment(open.plan(), image, chip(9, 0)).status().message(),
            "expected a plan for an NVIDIA GPU (mtpc --target=cuda), got one "
            "for the driver gpu-sim");
  EXPECT_EQ(chooseSegment(open.plan(), image, another).status().message(),
            "expected a plan for the driver other, got one for the driver "
            "gpu-sim");
}

TEST(DeviceChoice, FollowsThePlans) {
  auto choose = [](const OpenPlan &open, DeviceKind asked) {
    Result<PlanChoice> choice = choosePlan(open.file->artifact(), asked);
    if (!choice)
      return std::string(choice.status().message());
    return (choice->device == DeviceKind::Cuda ? "cuda " : "cpu ") +
           std::to_string(choice->plan);
  };
  OpenPlan gpu([](ArtifactBuilder &) {}, /*isHosted=*/true);
  EXPECT_EQ(choose(gpu, DeviceKind::Auto), "cuda 0");
  EXPECT_EQ(choose(gpu, DeviceKind::Cuda), "cuda 0");
  EXPECT_EQ(choose(gpu, DeviceKind::Cpu),
            "expected an artifact with a plan for a CPU (mtpc --target=cpu), "
            "got one for nvptx");
  OpenPlan cpu([](ArtifactBuilder &a) {
    FakeOptions fake;
    fake.hasRanges = true;
    a = makeFakeModel(fake);
    a.otherPlans = {{"riscv64", 0}};
  });
  EXPECT_EQ(choose(cpu, DeviceKind::Auto), "cpu 1");
  EXPECT_EQ(choose(cpu, DeviceKind::Cpu), "cpu 1");
  EXPECT_EQ(choose(cpu, DeviceKind::Cuda),
            "expected an artifact with a plan for an NVIDIA GPU (mtpc "
            "--target=cuda), got one for riscv64, x86_64");
}

} // namespace
