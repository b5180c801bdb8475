//===- Progress.h - Progress on a terminal ----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_PROGRESS_H
#define MTP_TOOLS_MTPC_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

/// Shows the compiler's progress on standard error if it is a terminal.
class Progress {
public:
  Progress();

  void phase(llvm::StringRef description);
  void compiled(uint64_t done, uint64_t total);
  void packed(uint64_t done, uint64_t total);
  /// Clears the line, before a message or at the end.
  void finish();

private:
  bool enabled;
  bool isShown = false;
  void bar(llvm::StringRef what, uint64_t done, uint64_t total);

  int lastPercent = -1;
};

#endif // MTP_TOOLS_MTPC_PROGRESS_H
