//===- Progress.cpp - One line on a terminal ------------------------------===//

#include "tools/mtpc/Progress.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <unistd.h>

namespace {
constexpr int kBarWidth = 30;
/// Back to the first column, and nothing right of the cursor.
constexpr const char *kClearLine = "\r\033[K";
} // namespace

Progress::Progress() : enabled(::isatty(STDERR_FILENO)) {}

void Progress::phase(llvm::StringRef description) {
  if (enabled) {
    llvm::errs() << kClearLine << description;
    isShown = true;
  }
}

void Progress::packed(uint64_t done, uint64_t total) {
  int percent = total ? static_cast<int>(100.0 * done / total) : 100;
  if (!enabled || percent == lastPercent)
    return;
  lastPercent = percent;
  isShown = true;
  int filled = kBarWidth * percent / 100;
  llvm::errs() << kClearLine << "packing weights [" << std::string(filled, '#')
               << std::string(kBarWidth - filled, ' ')
               << llvm::format("] %3d %%  %.1f of %.1f MB", percent, done / 1e6,
                               total / 1e6);
}

void Progress::finish() {
  if (enabled && isShown)
    llvm::errs() << kClearLine;
  isShown = false;
}
