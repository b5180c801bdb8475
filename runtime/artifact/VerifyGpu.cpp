//===- VerifyGpu.cpp - Checks of plans for a GPU --------------------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;

/// Limits that hold on every supported GPU.
static constexpr uint32_t kWarp = 32, kMostThreads = 1024;
static constexpr uint32_t kMostSharedBytes = 227 << 10;
static constexpr int64_t kMostBlocks = INT32_MAX;

/// Whether a name is a chip's: "sm_90", "sm_100a".
static bool isChip(std::string_view name) {
  if (name.substr(0, 3) != "sm_")
    return false;
  name.remove_prefix(3);
  size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  std::string_view suffix = name.substr(digits);
  return (digits == 2 || digits == 3) && name[0] != '0' &&
         (suffix.empty() || suffix == "a" || suffix == "f");
}

/// Whether images of a format are for a plan's machine.
static bool isFor(const Plan &plan, schema::ImageFormat format) {
  switch (format) {
  case schema::ImageFormat::ElfShared:
    return !plan.isGpu();
  case schema::ImageFormat::Cubin:
  case schema::ImageFormat::Ptx:
    return plan.isGpu() && isChip(plan.processor());
  case schema::ImageFormat::Hosted:
    return plan.isGpu() && !isChip(plan.processor());
  }
  return false;
}

Status mtp::verifyFormatOf(const Plan &plan, const schema::Image &image) {
  if (!isFor(plan, image.format()))
    return dataLoss(strCat(
        "format ", schema::EnumNameImageFormat(image.format()), " is not for ",
        plan.target->arch()->string_view(), plan.isGpu() ? " and its " : "",
        plan.isGpu() ? plan.processor() : ""));
  if (image.ptx() != -1 && image.format() != schema::ImageFormat::Cubin)
    return dataLoss(strCat("expected PTX beside a Cubin only, got a ",
                           schema::EnumNameImageFormat(image.format())));
  return okStatus();
}

Status mtp::verifyLaunch(const Plan &plan, const schema::Kernel &kernel) {
  const schema::CudaLaunch *launch = kernel.launch();
  if (!plan.isGpu())
    return launch ? dataLoss("expected no launch in a plan for a CPU")
                  : okStatus();
  std::string_view symbol = kernel.symbol()->string_view();
  if (kernel.image() < 0)
    return dataLoss(
        strCat("expected an image of '", symbol, "': a GPU has no builtins"));
  if (!launch || !kernel.contract())
    return dataLoss(strCat("expected a contract and a launch of ", symbol,
                           " in a plan for a GPU"));
  if (launch->threads() == 0 || launch->threads() > kMostThreads ||
      launch->threads() % kWarp)
    return dataLoss(strCat("launch: expected a multiple of ", kWarp,
                           " threads up to ", kMostThreads, ", got ",
                           launch->threads()));
  if (launch->shared_bytes() > kMostSharedBytes)
    return dataLoss(strCat("launch: expected at most ", kMostSharedBytes,
                           " bytes of shared memory, got ",
                           launch->shared_bytes()));
  if (launch->takes_live() && kernel.params() == 0)
    return dataLoss("launch: expected params, of which the first counts rows, "
                    "of a kernel that takes how many live, got 0");
  return okStatus();
}

/// Checks the plan's own kernels, which every GPU program is launched with.
static Status verifyDeviceLoop(const Plan &plan) {
  int32_t images = int32_t(vectorSize(plan.images));
  bool isNeeded = plan.isGpu() && vectorSize(plan.kernels) > 0;
  if (plan.deviceLoop >= images || plan.deviceLoop < (isNeeded ? 0 : -1))
    return dataLoss(strCat("device_loop: expected one of ", images,
                           " images, got ", plan.deviceLoop));
  if (!plan.isGpu() && plan.deviceLoop != -1)
    return dataLoss("device_loop: expected none in a plan for a CPU");
  return okStatus();
}

Status mtp::verifyGpuPlan(const Plan &plan) {
  MTP_RETURN_IF_ERROR(verifyDeviceLoop(plan));
  MTP_RETURN_IF_ERROR(verifyGemmAlgorithms(plan));
  if (!plan.isGpu())
    return okStatus();
  if (plan.scratchBytes != 0)
    return dataLoss(strCat("expected no scratch in a plan for a GPU, got ",
                           plan.scratchBytes, " bytes"));
  if (plan.processor().empty())
    return dataLoss("target: expected a chip like sm_90, or the driver of "
                    "hosted images, for nvptx, got none");
  return okStatus();
}

Status mtp::verifyBlocks(const CommandContext &context) {
  if (!context.plan.isGpu())
    return okStatus();
  for (uint64_t n : {context.first(), context.last()}) {
    std::vector<int64_t> params;
    for (const Count &param : context.params())
      params.push_back(param.at(n));
    int64_t blocks = context.plan.tasksOf(context.command, params.data());
    if (blocks > kMostBlocks)
      return dataLoss(strCat("tasks: expected at most ", kMostBlocks,
                             " blocks, got ", blocks));
  }
  return okStatus();
}
