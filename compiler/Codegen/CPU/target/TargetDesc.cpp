//===- TargetDesc.cpp - The CPU that kernels are emitted for --------------===//

#include "compiler/Codegen/CPU/target/TargetDesc.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Errc.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>

using namespace mtp::codegen;

static constexpr const char *v3Features[] = {"avx2", "bmi",   "bmi2", "f16c",
                                             "fma",  "lzcnt", "movbe"};
static constexpr const char *v4Features[] = {"avx512bw", "avx512cd", "avx512dq",
                                             "avx512f", "avx512vl"};

static constexpr const char *tileFeatures[] = {"amx-bf16", "amx-int8",
                                               "amx-tile"};

namespace {
/// Extensions of a target beyond AVX2.
struct Extensions {
  bool avx512 = false, bf16Dot = false, byteDot = false, tiles = false;
};
} // namespace

static TargetDesc makeTarget(Extensions has) {
  TargetDesc target;
  target.cpu = has.avx512 ? "x86-64-v4" : "x86-64-v3";
  target.lanes = has.avx512 ? 16 : 8;
  target.bf16Dot = has.bf16Dot;
  target.byteDot = has.byteDot;
  target.tiles = has.tiles;
  auto &required = target.requiredFeatures;
  required.assign(std::begin(v3Features), std::end(v3Features));
  if (has.avx512) {
    // The generic level prefers 256-bit vectors; the kernels ask for 512 bits.
    target.features = "-prefer-256-bit";
    required.insert(required.end(), std::begin(v4Features),
                    std::end(v4Features));
  }
  auto require = [&](const char *feature) {
    target.features += std::string(",+") + feature;
    required.push_back(feature);
  };
  if (has.bf16Dot)
    require("avx512bf16");
  if (has.byteDot)
    require("avx512vnni");
  if (has.tiles)
    llvm::for_each(tileFeatures, require);
  std::sort(required.begin(), required.end());
  return target;
}

static llvm::Expected<TargetDesc> hostTarget() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto has = [&](const char *feature) { return host.lookup(feature); };
  if (!llvm::all_of(v3Features, has))
    return llvm::createStringError(
        llvm::errc::not_supported,
        "expected a host with avx2 and fma for --target-cpu=native");
  Extensions found;
  found.avx512 = llvm::all_of(v4Features, has);
  found.bf16Dot = found.avx512 && has("avx512bf16");
  found.byteDot = found.avx512 && has("avx512vnni");
  found.tiles =
      found.bf16Dot && found.byteDot && llvm::all_of(tileFeatures, has);
  return makeTarget(found);
}

llvm::Expected<TargetDesc> TargetDesc::parse(llvm::StringRef name) {
  if (name == "native")
    return hostTarget();
  if (name == "x86-64-v3")
    return makeTarget({});
  if (name == "x86-64-v4")
    return makeTarget({.avx512 = true});
  if (name == "znver4")
    return makeTarget({.avx512 = true, .bf16Dot = true, .byteDot = true});
  if (name == "sapphirerapids")
    return makeTarget(
        {.avx512 = true, .bf16Dot = true, .byteDot = true, .tiles = true});
  return llvm::createStringError(
      llvm::errc::invalid_argument,
      "expected --target-cpu to be native, x86-64-v3, x86-64-v4, znver4 or "
      "sapphirerapids, got '%s'",
      name.str().c_str());
}
