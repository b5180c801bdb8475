//===- Interrupt.cpp - Ctrl-C while text is generated ---------------------===//

#include "tools/mtp-run/Interrupt.h"

#include <csignal>

static volatile std::sig_atomic_t interrupted = 0;

static void onInterrupt(int number) {
  interrupted = 1;
  std::signal(number, SIG_DFL);
}

void mtp::catchInterrupt() { std::signal(SIGINT, onInterrupt); }

bool mtp::wasInterrupted() { return interrupted != 0; }

void mtp::endIfInterrupted() {
  if (!wasInterrupted())
    return;
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}
