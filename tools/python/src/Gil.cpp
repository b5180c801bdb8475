//===- Gil.cpp - Code without Python's lock -------------------------------===//

#include "tools/python/src/Gil.h"

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>
#include <unistd.h>

using namespace mtp::python;

/// The number of threads in the extension without the lock.
static std::atomic<int> inside = 0;
/// The thread that ends Python; none before.
static std::atomic<std::thread::id> ending;

void WithoutGil::watchForks() {
  pthread_atfork(nullptr, nullptr, [] { inside = 0; });
}

bool WithoutGil::mustEnd() {
  std::thread::id thread = ending.load();
  return thread != std::thread::id() && thread != std::this_thread::get_id();
}

WithoutGil::WithoutGil() {
  ++inside;
  state = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  if (mustEnd()) {
    --inside;
    while (true)
      pause();
  }
  PyEval_RestoreThread(state);
  --inside;
}

void WithoutGil::end() {
  constexpr auto kPeriod = std::chrono::milliseconds(1);
  // A step of a large model may take seconds.
  constexpr auto kLimit = std::chrono::seconds(30);
  ending = std::this_thread::get_id();
  // Sleeping threads keep objects.
  nanobind::set_leak_warnings(false);
  nanobind::gil_scoped_release release;
  auto limit = std::chrono::steady_clock::now() + kLimit;
  while (inside > 0 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(kPeriod);
}
