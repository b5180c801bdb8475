//===- Interrupt.cpp - Ctrl-C while text is generated ---------------------===//

#include "tools/mtp-run/Interrupt.h"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

/// The signal that arrived; 0: none.
static volatile std::sig_atomic_t interrupted = 0;

static constexpr int kSignals[] = {SIGINT, SIGTERM};

static void onInterrupt(int number) {
  interrupted = number;
  for (int each : kSignals)
    std::signal(each, SIG_DFL);
}

void mtp::catchInterrupt() {
  // Signals that the caller ignores, as nohup and a shell's background jobs do,
  // stay ignored.
  for (int each : kSignals)
    if (std::signal(each, onInterrupt) == SIG_IGN)
      std::signal(each, SIG_IGN);
}

/// Set by SIGINT until takeInterrupt().
static volatile std::sig_atomic_t pending = 0;

static void onEachInterrupt(int) { pending = 1; }

void mtp::catchEachInterrupt() {
  catchInterrupt();
  struct sigaction action = {};
  action.sa_handler = onEachInterrupt;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = onInterrupt;
  sigaction(SIGTERM, &action, nullptr);
}

bool mtp::takeInterrupt() {
  bool was = pending != 0;
  pending = 0;
  return was;
}

bool mtp::waitForInput() {
  // Blocked, since a signal between the check and the call would be missed.
  sigset_t signals, before;
  sigemptyset(&signals);
  for (int each : kSignals)
    sigaddset(&signals, each);
  sigprocmask(SIG_BLOCK, &signals, &before);
  bool isReady = false;
  while (!isReady && pending == 0 && interrupted == 0) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    // Errors are left to the reader of the input.
    isReady = ppoll(&input, 1, nullptr, &before) != -1 || errno != EINTR;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return isReady;
}

bool mtp::wasInterrupted() { return interrupted != 0; }

void mtp::endIfInterrupted() {
  if (!wasInterrupted())
    return;
  std::signal(interrupted, SIG_DFL);
  std::raise(interrupted);
}
