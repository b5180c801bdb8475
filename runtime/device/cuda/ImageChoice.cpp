//===- ImageChoice.cpp - Choice of the code that a GPU runs ---------------===//

#include "runtime/device/cuda/ImageChoice.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <charconv>

using namespace mtp;

namespace {
/// A chip's name, split.
struct Chip {
  int major, minor;
  /// True if the code uses features of this chip only (a), or of chips with its
  /// major number only (f).
  bool isExact, isFamily;

  bool is(const CudaMachine &machine) const {
    return major == machine.major && minor == machine.minor;
  }
  /// Returns true if PTX for the chip can be compiled for a machine.
  bool precedes(const CudaMachine &machine) const {
    if (isExact)
      return is(machine);
    if (major == machine.major)
      return minor <= machine.minor;
    return major < machine.major && !isFamily;
  }
};
} // namespace

/// Splits "sm_90" or "sm_100a": the last digit is the minor number. The
/// verifier has checked the name.
static Chip chipOf(const Plan &plan) {
  std::string_view name = plan.processor().substr(3);
  int number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return {number / 10, number % 10, name.back() == 'a', name.back() == 'f'};
}

/// Describes the machine or driver that loads images of `driver`.
static std::string describe(std::string_view driver) {
  return driver.empty() ? "an NVIDIA GPU" : strCat("the driver ", driver);
}

/// Fails if an image is for another driver.
static Status checkDriver(const Plan &plan, const schema::Image &image,
                          std::string_view driver) {
  bool isHosted = image.format() == schema::ImageFormat::Hosted;
  std::string_view wanted = isHosted ? plan.processor() : std::string_view();
  if (wanted == driver)
    return okStatus();
  return failedPrecondition(
      strCat("expected a plan for ", describe(driver),
             driver.empty() ? " (mtpc --target=cuda)" : "", ", got one for ",
             describe(wanted)));
}

Result<uint32_t> mtp::chooseSegment(const Plan &plan,
                                    const schema::Image &image,
                                    const CudaMachine &machine) {
  MTP_RETURN_IF_ERROR(checkDriver(plan, image, machine.driver));
  // Such a driver checks itself what it can run.
  if (image.format() == schema::ImageFormat::Hosted)
    return image.segment();
  Chip chip = chipOf(plan);
  bool isPtx = image.format() == schema::ImageFormat::Ptx;
  if (isPtx ? chip.precedes(machine) : chip.is(machine))
    return image.segment();
  if (image.ptx() >= 0 && chip.precedes(machine))
    return uint32_t(image.ptx());
  bool hasPtx = isPtx || image.ptx() >= 0;
  return failedPrecondition(strCat("expected a GPU that runs code for ",
                                   plan.processor(), ", got one of sm_",
                                   machine.major, machine.minor,
                                   hasPtx ? "" : " (the artifact has no PTX)"));
}

/// Returns how well a plan suits a machine: 2 for cubins, 1 for PTX, 0 if it
/// does not run.
static int rankOf(const Plan &plan, const CudaMachine &machine) {
  int rank = 2;
  for (uint32_t i = 0; i < vectorSize(plan.images); ++i) {
    const schema::Image &image = *plan.images->Get(i);
    Result<uint32_t> segment = chooseSegment(plan, image, machine);
    if (!segment)
      return 0;
    bool isPtx = image.format() == schema::ImageFormat::Ptx ||
                 *segment != image.segment();
    rank = std::min(rank, isPtx ? 1 : 2);
  }
  return rank;
}

Result<uint32_t> mtp::choosePlan(const Artifact &artifact,
                                 const CudaMachine &machine) {
  int best = -1;
  uint32_t found = 0;
  std::string others;
  for (uint32_t i = 0; i < artifact.plans.size(); ++i) {
    const Plan &plan = artifact.plans[i];
    others += strCat(i ? ", " : "", plan.target->arch()->string_view());
    if (!plan.isGpu())
      continue;
    if (int rank = rankOf(plan, machine); rank > best) {
      best = rank;
      found = i;
    }
  }
  if (best < 0)
    return notFound(strCat("expected an artifact with a plan for an NVIDIA GPU "
                           "(mtpc --target=cuda), got one for ",
                           others));
  return found;
}
