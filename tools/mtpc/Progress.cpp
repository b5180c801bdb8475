//===- Progress.cpp - Progress on a terminal ------------------------------===//

#include "tools/mtpc/Progress.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <unistd.h>

namespace {
constexpr int kBarWidth = 30;
/// Moves to the first column and clears the rest of the line.
constexpr const char *kClearLine = "\r\033[K";
} // namespace

Progress::Progress() : enabled(::isatty(STDERR_FILENO)) {}

void Progress::phase(llvm::StringRef description) {
  if (enabled) {
    llvm::errs() << kClearLine << description;
    isShown = true;
  }
}

/// Redraws the line with a bar.
void Progress::bar(llvm::StringRef what, uint64_t done, uint64_t total) {
  isShown = true;
  int filled = total ? static_cast<int>(kBarWidth * done / total) : kBarWidth;
  llvm::errs() << kClearLine << what << " [" << std::string(filled, '#')
               << std::string(kBarWidth - filled, ' ') << "]";
}

void Progress::compiled(uint64_t done, uint64_t total) {
  if (!enabled || total == 0)
    return;
  bar("compiling kernels", done, total);
  llvm::errs() << " " << done << " of " << total;
}

void Progress::packed(uint64_t done, uint64_t total) {
  int percent = total ? static_cast<int>(100.0 * done / total) : 100;
  if (!enabled || percent == lastPercent)
    return;
  lastPercent = percent;
  bar("packing weights", done, total);
  llvm::errs() << llvm::format(" %3d %%  %.1f of %.1f MB", percent, done / 1e6,
                               total / 1e6);
}

void Progress::finish() {
  if (enabled && isShown)
    llvm::errs() << kClearLine;
  isShown = false;
}
