//===- Interrupt.cpp - Ctrl-C while text is generated ---------------------===//

#include "tools/mtp-run/Interrupt.h"

#include <csignal>

/// The signal that came; 0: none.
static volatile std::sig_atomic_t interrupted = 0;

static constexpr int kSignals[] = {SIGINT, SIGTERM};

static void onInterrupt(int number) {
  interrupted = number;
  for (int each : kSignals)
    std::signal(each, SIG_DFL);
}

void mtp::catchInterrupt() {
  // What the caller ignores, as nohup and a shell's background do, stays so.
  for (int each : kSignals)
    if (std::signal(each, onInterrupt) == SIG_IGN)
      std::signal(each, SIG_IGN);
}

bool mtp::wasInterrupted() { return interrupted != 0; }

void mtp::endIfInterrupted() {
  if (!wasInterrupted())
    return;
  std::signal(interrupted, SIG_DFL);
  std::raise(interrupted);
}
