//===- Worker.cpp - A thread for slow work --------------------------------===//

#include "tools/mtp-serve/engine/Worker.h"

#include <utility>

using namespace mtp::serve;

Worker::~Worker() {
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_one();
  thread.join();
}

void Worker::put(uint64_t client, Job job) {
  {
    std::lock_guard lock(mutex);
    jobs[client].push_back(std::move(job));
  }
  changed.notify_one();
}

size_t Worker::waiting(uint64_t client) const {
  std::lock_guard lock(mutex);
  auto own = jobs.find(client);
  size_t begun = works && last == client ? 1 : 0;
  return begun + (own == jobs.end() ? 0 : own->second.size());
}

Worker::Job Worker::takeNext() {
  auto next = jobs.upper_bound(last);
  if (next == jobs.end())
    next = jobs.begin();
  last = next->first;
  Job job = std::move(next->second.front());
  next->second.pop_front();
  if (next->second.empty())
    jobs.erase(next);
  return job;
}

void Worker::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ends || !jobs.empty(); });
    if (ends)
      return;
    works = true;
    {
      Job job = takeNext();
      lock.unlock();
      job();
    }
    lock.lock();
    works = false;
  }
}
