//===- Worker.h - A thread for slow work ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_WORKER_H
#define MTP_TOOLS_MTP_SERVE_WORKER_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace mtp::serve {

/// Does jobs one behind the other on a thread of its own: of each client in
/// turn one, of one client in order. So of who has many nobody waits for more
/// than one. Jobs that have not begun when it is destroyed are dropped. put()
/// and waiting() may be called by any thread.
class Worker {
public:
  using Job = std::function<void()>;

  Worker() : thread([this] { run(); }) {}
  ~Worker();

  void put(uint64_t client, Job job);

  /// A client's jobs that are not done.
  size_t waiting(uint64_t client) const;

private:
  void run();
  /// The next one of who comes behind `last`; there are jobs.
  Job takeNext();

  mutable std::mutex mutex;
  std::condition_variable changed;
  /// By client, of those that have some, what has not begun.
  std::map<uint64_t, std::deque<Job>> jobs;
  /// Whose job began last, and whether it is at work.
  uint64_t last = 0;
  bool works = false;
  bool ends = false;
  // Last: it uses the others.
  std::thread thread;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_WORKER_H
