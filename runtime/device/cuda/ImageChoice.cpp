//===- ImageChoice.cpp - Which code a GPU can run -------------------------===//

#include "runtime/device/cuda/ImageChoice.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <charconv>

using namespace mtp;

namespace {
/// A chip's name, taken apart.
struct Chip {
  int major, minor;
  /// Code that uses what only chips of this very name (a), or of its major
  /// number (f), have.
  bool isExact, isFamily;

  bool is(const CudaMachine &machine) const {
    return major == machine.major && minor == machine.minor;
  }
  /// Whether PTX for the chip can be compiled for a machine.
  bool precedes(const CudaMachine &machine) const {
    if (isExact)
      return is(machine);
    if (major == machine.major)
      return minor <= machine.minor;
    return major < machine.major && !isFamily;
  }
};
} // namespace

/// The simulated kernels may do what those of this chip may.
static constexpr Chip kSimulated = {9, 0, false, false};

/// Of "sm_90" or "sm_100a": the last digit is the minor number. The verifier
/// has looked at the name.
static Chip chipOf(const Plan &plan) {
  if (plan.machine() != MachineKind::Cuda)
    return kSimulated;
  std::string_view name = plan.target->cpu()->string_view().substr(3);
  int number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return {number / 10, number % 10, name.back() == 'a', name.back() == 'f'};
}

static std::string_view describe(MachineKind kind) {
  switch (kind) {
  case MachineKind::Cpu:
    return "a CPU";
  case MachineKind::Cuda:
    return "an NVIDIA GPU";
  case MachineKind::CudaSim:
    return "the GPU simulator";
  }
  return "an unknown machine";
}

static std::string_view flagsFor(MachineKind kind) {
  return kind == MachineKind::CudaSim ? "--target=cuda --chip=sim"
                                      : "--target=cuda";
}

Result<uint32_t> mtp::chooseSegment(const Plan &plan,
                                    const schema::Image &image,
                                    const CudaMachine &machine) {
  if (plan.machine() != machine.kind)
    return failedPrecondition(strCat(
        "expected a plan for ", describe(machine.kind), " (mtpc ",
        flagsFor(machine.kind), "), got one for ", describe(plan.machine())));
  Chip chip = chipOf(plan);
  bool isPtx = image.format() == schema::ImageFormat::Ptx;
  if (machine.kind == MachineKind::CudaSim && chip.precedes(machine))
    return image.segment();
  if (machine.kind == MachineKind::Cuda && !isPtx && chip.is(machine))
    return image.segment();
  if (machine.kind == MachineKind::Cuda && chip.precedes(machine)) {
    if (isPtx)
      return image.segment();
    if (image.ptx() >= 0)
      return uint32_t(image.ptx());
  }
  bool isReal = machine.kind == MachineKind::Cuda;
  bool hasPtx = isPtx || image.ptx() >= 0;
  return failedPrecondition(
      strCat("expected a GPU that runs code for ",
             isReal ? plan.target->cpu()->string_view() : "sm_90",
             ", got one of sm_", machine.major, machine.minor,
             isReal && !hasPtx ? " (the artifact has no PTX)" : ""));
}

/// How well a plan suits a machine of its kind: 2, its cubins, 1, its PTX.
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
    if (plan.machine() != machine.kind)
      continue;
    if (int rank = rankOf(plan, machine); rank > best) {
      best = rank;
      found = i;
    }
  }
  if (best < 0)
    return notFound(strCat("expected an artifact with a plan for ",
                           describe(machine.kind), " (mtpc ",
                           flagsFor(machine.kind), "), got one for ", others));
  return found;
}
