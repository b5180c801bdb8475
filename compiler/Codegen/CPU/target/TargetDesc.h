//===- TargetDesc.h - The CPU that kernels are emitted for ------*- C++ -*-===//
//
// A target is a baseline instruction set level and the few extensions that the
// emitters check. It decides the vector width of every kernel. The artifact
// records it as the list of features that the host must have.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_TARGET_TARGETDESC_H
#define MTP_COMPILER_CODEGEN_CPU_TARGET_TARGETDESC_H

#include "runtime/schema/Tunables.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mtp::codegen {

/// Outputs in a panel of the weights that products stream, on every CPU.
inline constexpr int64_t kPanelWidth = 32;

struct TargetDesc {
  /// LLVM's name of the baseline: "x86-64-v3" or "x86-64-v4".
  std::string cpu;
  /// LLVM feature string added to the baseline, such as "+avx512bf16".
  std::string features;
  /// f32 lanes of one vector register: 8 (ymm) or 16 (zmm).
  int64_t lanes = 8;
  /// True if vdpbf16ps may be used.
  bool bf16Dot = false;
  /// True if vpdpbusd of 512 bits may be used.
  bool byteDot = false;
  /// True if the tile registers of AMX may be used, for bf16 and for bytes.
  bool tiles = false;
  /// Bytes between a multiplication and the prefetch of weights.
  int64_t prefetchBytes = tunable::kPrefetchBytes.value;
  /// Limit on the rows of a full block, a power of two; fewer if registers hold
  /// fewer.
  int64_t blockRows = tunable::kBlockRows.value;
  /// CPUID names of the features that a host needs to run the kernels, sorted.
  std::vector<std::string> requiredFeatures;

  /// Parses the value of `--target-cpu`. `native` is this machine, with all of
  /// the extensions above that it has. Others are x86-64-v3 (AVX2), x86-64-v4
  /// (AVX-512), znver4 (with dot products of bf16 and bytes) and sapphirerapids
  /// (with tiles too).
  static llvm::Expected<TargetDesc> parse(llvm::StringRef name);
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_TARGET_TARGETDESC_H
