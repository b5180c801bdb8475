//===- Timing.h - Time of each compilation phase ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_TIMING_H
#define MTP_TOOLS_MTPC_TIMING_H

#include "compiler/Target/CodegenOptions.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <string>
#include <vector>

/// Collects the times of phases and kernels (--timing).
class Timing {
public:
  /// Ends the current phase and begins `name`.
  void begin(llvm::StringRef name);
  /// Ends the last phase.
  void end();
  void kernel(const mtp::compiler::KernelTiming &kernel) {
    kernels.push_back(kernel);
  }

  /// Prints phases by wall time, and kernels by the time of the thread that
  /// compiled them.
  void print(llvm::raw_ostream &os) const;

private:
  struct Phase {
    std::string name;
    double seconds = 0;
  };

  void printSteps(llvm::raw_ostream &os) const;
  void printSlowest(llvm::raw_ostream &os) const;

  std::vector<Phase> phases;
  bool isRunning = false;
  std::chrono::steady_clock::time_point began;
  std::vector<mtp::compiler::KernelTiming> kernels;
};

#endif // MTP_TOOLS_MTPC_TIMING_H
