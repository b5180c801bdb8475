//===- Worker.h - A thread for work that takes a while ----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_WORKER_H
#define MTP_TOOLS_MTP_SERVE_WORKER_H

#include "tools/mtp-serve/Inbox.h"

#include <atomic>
#include <functional>
#include <thread>

namespace mtp::serve {

/// Does jobs one behind the other on a thread of its own. Jobs that have not
/// begun when it is destroyed are dropped. put() and waiting() may be called by
/// any thread.
class Worker {
public:
  using Job = std::function<void()>;

  Worker() : thread([this] { run(); }) {}
  ~Worker() {
    ends = true;
    inbox.close();
    thread.join();
  }

  void put(Job job) {
    ++jobs;
    inbox.put(std::move(job));
  }

  /// Jobs that are not done.
  size_t waiting() const { return jobs; }

private:
  void run() {
    for (;;) {
      std::vector<Job> taken = inbox.take(/*mayWait=*/true);
      if (taken.empty())
        return;
      for (Job &job : taken) {
        if (ends)
          return;
        job();
        --jobs;
      }
    }
  }

  Inbox<Job> inbox;
  std::atomic<size_t> jobs = 0;
  std::atomic<bool> ends = false;
  std::thread thread;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_WORKER_H
