//===- PtxasReport.cpp - Reader of reports of ptxas -----------------------===//
//
// Example of a report:
//
// ```
//   ptxas info    : Compiling entry function 'add_0' for 'sm_90'
//   ptxas info    : Function properties for add_0
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 12 registers, used 1 barriers, 512 bytes smem
// ```
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/target/PtxasReport.h"

#include "llvm/ADT/StringExtras.h"

using namespace mtp;

/// Returns the number before `what` in one of the parts of a line.
static uint64_t numberBefore(llvm::StringRef line, llvm::StringRef what) {
  for (llvm::StringRef part : llvm::split(line, ',')) {
    part = part.trim();
    if (!part.consume_back(what))
      continue;
    part = part.rtrim();
    uint64_t number = 0;
    if (!part.substr(part.rfind(' ') + 1).getAsInteger(10, number))
      return number;
  }
  return 0;
}

std::vector<compiler::KernelResources>
gpu::readPtxasReport(llvm::StringRef report) {
  std::vector<compiler::KernelResources> kernels;
  for (llvm::StringRef line : llvm::split(report, '\n')) {
    if (line.contains("Compiling entry function '")) {
      kernels.push_back({line.split('\'').second.split('\'').first.str()});
      continue;
    }
    if (kernels.empty())
      continue;
    compiler::KernelResources &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillBytes = numberBefore(line, "bytes spill stores") +
                          numberBefore(line, "bytes spill loads");
    } else if (line.contains(" registers")) {
      kernel.registers = numberBefore(line, "registers");
      kernel.sharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return kernels;
}
