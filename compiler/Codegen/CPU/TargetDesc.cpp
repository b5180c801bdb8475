//===- TargetDesc.cpp - The CPU that kernels are emitted for --------------===//

#include "compiler/Codegen/CPU/TargetDesc.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Errc.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>

using namespace mtp::codegen;

static constexpr const char *v3Features[] = {"avx2", "bmi",   "bmi2", "f16c",
                                             "fma",  "lzcnt", "movbe"};
static constexpr const char *v4Features[] = {"avx512bw", "avx512cd", "avx512dq",
                                             "avx512f", "avx512vl"};

static TargetDesc makeTarget(bool avx512, bool bf16Dot, bool byteDot) {
  TargetDesc target;
  target.cpu = avx512 ? "x86-64-v4" : "x86-64-v3";
  target.lanes = avx512 ? 16 : 8;
  target.bf16Dot = bf16Dot;
  target.byteDot = byteDot;
  auto &required = target.requiredFeatures;
  required.assign(std::begin(v3Features), std::end(v3Features));
  if (avx512) {
    // The generic level prefers 256-bit vectors; the kernels ask for 512.
    target.features = "-prefer-256-bit";
    required.insert(required.end(), std::begin(v4Features),
                    std::end(v4Features));
  }
  if (bf16Dot) {
    target.features += ",+avx512bf16";
    required.push_back("avx512bf16");
  }
  if (byteDot) {
    target.features += ",+avx512vnni";
    required.push_back("avx512vnni");
  }
  std::sort(required.begin(), required.end());
  return target;
}

llvm::Expected<TargetDesc> TargetDesc::parse(llvm::StringRef name) {
  if (name == "x86-64-v3" || name == "x86-64-v4")
    return makeTarget(/*avx512=*/name == "x86-64-v4", /*bf16Dot=*/false,
                      /*byteDot=*/false);
  if (name != "native")
    return llvm::createStringError(
        llvm::errc::invalid_argument,
        "expected --target-cpu to be native, x86-64-v3 or x86-64-v4, got '%s'",
        name.str().c_str());

  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto has = [&](const char *feature) { return host.lookup(feature); };
  if (!llvm::all_of(v3Features, has))
    return llvm::createStringError(
        llvm::errc::not_supported,
        "expected a host with avx2 and fma for --target-cpu=native");
  bool avx512 = llvm::all_of(v4Features, has);
  return makeTarget(avx512, avx512 && has("avx512bf16"),
                    avx512 && has("avx512vnni"));
}
