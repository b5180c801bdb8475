//===- CpuFeatures.cpp - Checks that images can run here ------------------===//
//
// Asks cpuid for the processor's features, and xgetbv for the registers that
// the operating system saves on a context switch. A processor with AVX-512
// cannot run AVX-512 code if the kernel does not save its registers. Linux
// requires a process to request tile registers before it uses them, because
// they are large.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/CpuFeatures.h"
#include "runtime/core/StrCat.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace mtp;

std::string_view mtp::hostArch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

#if defined(__x86_64__)

namespace {
enum Register : uint8_t { Eax, Ebx, Ecx, Edx };
/// Register state that the operating system must save for a feature.
enum Saved : uint8_t { Sse, Avx, Avx512, Amx };

struct Feature {
  std::string_view name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  Saved saved;
};

constexpr Feature kFeatures[] = {
    {"cmov", 1, 0, Edx, 15, Sse},
    {"mmx", 1, 0, Edx, 23, Sse},
    {"fxsr", 1, 0, Edx, 24, Sse},
    {"sse", 1, 0, Edx, 25, Sse},
    {"sse2", 1, 0, Edx, 26, Sse},
    {"sse3", 1, 0, Ecx, 0, Sse},
    {"pclmul", 1, 0, Ecx, 1, Sse},
    {"ssse3", 1, 0, Ecx, 9, Sse},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"cx16", 1, 0, Ecx, 13, Sse},
    {"sse4.1", 1, 0, Ecx, 19, Sse},
    {"sse4.2", 1, 0, Ecx, 20, Sse},
    {"movbe", 1, 0, Ecx, 22, Sse},
    {"popcnt", 1, 0, Ecx, 23, Sse},
    {"aes", 1, 0, Ecx, 25, Sse},
    {"xsave", 1, 0, Ecx, 26, Sse},
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"rdrnd", 1, 0, Ecx, 30, Sse},
    {"bmi", 7, 0, Ebx, 3, Sse},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8, Sse},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"gfni", 7, 0, Ecx, 8, Sse},
    {"vaes", 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512},
    {"amx-bf16", 7, 0, Edx, 22, Amx},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Amx},
    {"amx-int8", 7, 0, Edx, 25, Amx},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"sahf", 0x80000001, 0, Ecx, 0, Sse},
    {"lzcnt", 0x80000001, 0, Ecx, 5, Sse},
    {"sse4a", 0x80000001, 0, Ecx, 6, Sse},
    {"prfchw", 0x80000001, 0, Ecx, 8, Sse},
    {"fma4", 0x80000001, 0, Ecx, 16, Avx},
};
} // namespace

/// Returns the XCR0 bits of a register state.
static uint64_t savedMask(Saved saved) {
  switch (saved) {
  case Sse:
    return 0;
  case Avx:
    return 0x6;
  case Avx512:
    return 0xe6;
  case Amx:
    return 0x60000;
  }
  return ~uint64_t(0);
}

/// Returns XCR0, or 0 if the operating system does not use xsave.
static uint64_t savedState() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Requests tile registers for all threads of the process, running threads
/// included. Returns whether they may be used.
static bool mayUseTiles() {
#if defined(__linux__)
  // ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA of asm/prctl.h and Linux'
  // Documentation/arch/x86/xstate.rst; older headers lack them.
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  static const bool granted =
      ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
#else
  return true;
#endif
}

static bool isSaved(Saved saved) {
  uint64_t mask = savedMask(saved);
  if ((savedState() & mask) != mask)
    return false;
  return saved != Amx || mayUseTiles();
}

FeatureState mtp::cpuFeature(std::string_view name) {
  if (name == "64bit")
    return FeatureState::Present;
  for (const Feature &feature : kFeatures) {
    if (feature.name != name)
      continue;
    unsigned regs[4];
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &regs[Eax],
                           &regs[Ebx], &regs[Ecx], &regs[Edx]))
      return FeatureState::Missing;
    bool present =
        (regs[feature.reg] >> feature.bit & 1) && isSaved(feature.saved);
    return present ? FeatureState::Present : FeatureState::Missing;
  }
  return FeatureState::Unknown;
}

std::string mtp::hostProcessor() {
  unsigned regs[4] = {};
  __get_cpuid(0, &regs[Eax], &regs[Ebx], &regs[Ecx], &regs[Edx]);
  std::string text =
      strCat(hostArch(), " ", regs[Ebx], " ", regs[Edx], " ", regs[Ecx]);
  __get_cpuid(1, &regs[Eax], &regs[Ebx], &regs[Ecx], &regs[Edx]);
  // Family, model and stepping. The other registers differ between cores.
  text += strCat(" ", regs[Eax]);
  for (const Feature &feature : kFeatures)
    if (cpuFeature(feature.name) == FeatureState::Present)
      text += strCat(" ", feature.name);
  return text;
}

#else

FeatureState mtp::cpuFeature(std::string_view) { return FeatureState::Unknown; }

std::string mtp::hostProcessor() { return std::string(hostArch()); }

#endif

Status mtp::checkTarget(const schema::Target &target) {
  if (target.arch()->string_view() != hostArch())
    return failedPrecondition(strCat("expected an artifact compiled for ",
                                     hostArch(), ", got ",
                                     target.arch()->string_view()));
  if (!target.features())
    return okStatus();
  std::string missing;
  for (const flatbuffers::String *feature : *target.features()) {
    FeatureState state = cpuFeature(feature->string_view());
    if (state == FeatureState::Present)
      continue;
    missing += missing.empty() ? "" : ", ";
    missing += feature->string_view();
    if (state == FeatureState::Unknown)
      missing += " (unknown to this runtime)";
  }
  if (missing.empty())
    return okStatus();
  return failedPrecondition(strCat(
      "this machine lacks cpu features that the kernels need: ", missing));
}

uint32_t mtp::chooseCpuPlan(const Artifact &artifact) {
  std::vector<uint32_t> plans;
  for (uint32_t i = 0; i < artifact.plans.size(); ++i)
    if (!artifact.plans[i].isGpu())
      plans.push_back(i);
  // A single plan needs no look at the machine before it is loaded.
  if (plans.size() == 1)
    return plans.front();
  std::optional<uint32_t> alike;
  for (uint32_t plan : plans) {
    const schema::Target &target = *artifact.plans[plan].target;
    if (target.arch()->string_view() != hostArch())
      continue;
    if (checkTarget(target).isOk())
      return plan;
    alike = alike.value_or(plan);
  }
  return alike.value_or(plans.front());
}
