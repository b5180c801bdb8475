//===- Stream.h - Streams and events ----------------------------*- C++ -*-===//
//
// Work is queued, and runs when a caller waits for it, as late as the program
// allows. So a caller that reads a result without waiting finds the old
// contents. The seed decides which stream goes on.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_GPUSIM_DRIVER_STREAM_H
#define MTP_TEST_GPUSIM_DRIVER_STREAM_H

#include "Handles.h"
#include <cuda.h>
#include <deque>
#include <functional>
#include <vector>

namespace mtp::gpusim {

/// Result of work that never ends. Its stream stays busy.
inline constexpr CUresult kHangs = CUDA_ERROR_TIMEOUT;

struct Event {
  /// Number of records that were enqueued, and that were reached.
  uint64_t recorded = 0, reached = 0;
  bool timed = true;
  /// Time in seconds of the last record that was reached.
  double time = 0;
};

/// Work, or a wait for a record of an event.
struct Operation {
  std::function<CUresult()> run;
  Event *event = nullptr;
  uint64_t record = 0;

  bool isReady() const { return !event || event->reached >= record; }
};

struct Graph;

struct Stream {
  std::deque<Operation> queue;
  bool blocking = true;
  /// Device of the stream.
  int device = 0;
  /// Graph that captures the stream, or null, and the nodes that the next
  /// captured node depends on.
  Graph *capture = nullptr;
  std::vector<CUgraphNode> captured;
};

Handles<Stream> &streams();
Handles<Event> &events();

/// Returns the stream of a handle, or the current device's default stream for a
/// null handle. Returns null if the handle is invalid, or belongs to another
/// device.
Stream *findStream(CUstream handle);

/// Queues work. The default stream and blocking streams wait for each other. A
/// captured stream accepts no work.
CUresult enqueue(Stream &stream, Operation operation);
/// Runs work until the stream, or every stream, is empty.
CUresult drain(Stream &stream);
CUresult drainAll();
/// Runs the work that a synchronous copy waits for: the default stream and all
/// blocking streams.
CUresult drainDefault();
/// Runs one piece of work of any stream. Returns false if nothing is ready.
bool step(CUresult &result);
/// Drops all queued work of the current device, after it was lost.
void dropQueues();

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_STREAM_H
