//===- Timing.cpp - Time of each compilation phase ------------------------===//

#include "tools/mtpc/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using mtp::compiler::KernelSeconds;
using mtp::compiler::KernelTiming;

/// The number of listed kernels.
static constexpr size_t kSlowest = 10;
/// Columns of a kernel's name.
static constexpr unsigned kNameWidth = 44;

void Timing::begin(llvm::StringRef name) {
  end();
  phases.push_back({name.str()});
  began = std::chrono::steady_clock::now();
  isRunning = true;
}

void Timing::end() {
  if (!isRunning)
    return;
  isRunning = false;
  auto now = std::chrono::steady_clock::now();
  phases.back().seconds = std::chrono::duration<double>(now - began).count();
}

static void printLine(llvm::raw_ostream &os, llvm::StringRef name,
                      llvm::ArrayRef<double> seconds) {
  os << llvm::left_justify(name, kNameWidth);
  for (double one : seconds)
    os << llvm::format("%10.3f", one);
  os << "\n";
}

void Timing::printSteps(llvm::raw_ostream &os) const {
  KernelSeconds sum;
  size_t cached = 0, shared = 0;
  for (const KernelTiming &kernel : kernels) {
    sum.emit += kernel.seconds.emit;
    sum.lower += kernel.seconds.lower;
    sum.optimize += kernel.seconds.optimize;
    sum.generate += kernel.seconds.generate;
    sum.assemble += kernel.seconds.assemble;
    cached += kernel.isCached;
    shared += kernel.isShared;
  }
  os << "\nkernels: " << kernels.size() << ", " << cached
     << " from the kernel cache, " << shared << " equal to another\n\n"
     << llvm::left_justify("seconds of all threads", kNameWidth)
     << "      emit     lower  optimize  generate  assemble\n";
  printLine(os, "all kernels",
            {sum.emit, sum.lower, sum.optimize, sum.generate, sum.assemble});
}

void Timing::printSlowest(llvm::raw_ostream &os) const {
  std::vector<const KernelTiming *> order;
  for (const KernelTiming &kernel : kernels)
    order.push_back(&kernel);
  llvm::stable_sort(order, [](const KernelTiming *a, const KernelTiming *b) {
    return a->seconds.total() > b->seconds.total();
  });
  order.resize(std::min(order.size(), kSlowest));
  for (const KernelTiming *kernel : order) {
    const KernelSeconds &own = kernel->seconds;
    printLine(os, kernel->name,
              {own.emit, own.lower, own.optimize, own.generate, own.assemble});
  }
}

void Timing::print(llvm::raw_ostream &os) const {
  os << llvm::left_justify("phase", kNameWidth) << "   seconds\n";
  double all = 0;
  for (const Phase &phase : phases) {
    printLine(os, phase.name, phase.seconds);
    all += phase.seconds;
  }
  printLine(os, "all", all);
  if (kernels.empty())
    return;
  printSteps(os);
  printSlowest(os);
}
