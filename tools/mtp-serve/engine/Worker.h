//===- Worker.h - A thread for slow work ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_WORKER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_WORKER_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace mtp::serve {

/// Runs jobs one after the other on its own thread: one job per client in turn,
/// and jobs of one client in order. So a client with many jobs delays each
/// other client by one job only. Jobs that have not begun are dropped by the
/// destructor. Any thread may call put() and waiting().
class Worker {
public:
  using Job = std::function<void()>;

  Worker() : thread([this] { run(); }) {}
  ~Worker();

  void put(uint64_t client, Job job);

  /// Returns the number of a client's jobs that are not done.
  size_t waiting(uint64_t client) const;

private:
  void run();
  /// Takes a job of the next client after `last`; requires that there are jobs.
  Job takeNext();

  mutable std::mutex mutex;
  std::condition_variable changed;
  /// Jobs that have not begun, by client.
  std::map<uint64_t, std::deque<Job>> jobs;
  /// The client whose job began last, and whether that job is running.
  uint64_t last = 0;
  bool works = false;
  bool ends = false;
  // Last: it uses the other members.
  std::thread thread;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_WORKER_H
