//===- Stream.h - Streams and events ----------------------------*- C++ -*-===//
//
// Work is queued, and done when somebody waits for it, as late as the program
// allows: who reads a result without waiting finds what was there before.
// Which stream goes on is the seed's choice.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_GPUSIM_STREAM_H
#define TEST_GPUSIM_STREAM_H

#include "Handles.h"
#include <cuda.h>
#include <deque>
#include <functional>
#include <vector>

namespace mtp::gpusim {

/// The result of work that never ends: the stream it is in stays busy.
inline constexpr CUresult kHangs = CUDA_ERROR_TIMEOUT;

struct Event {
  /// Records that were enqueued, and that were reached.
  uint64_t recorded = 0, reached = 0;
  bool timed = true;
  /// Seconds, of the last record that was reached.
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
  /// Where it runs.
  int device = 0;
  /// The graph that the stream is captured to, or null, and the nodes that the
  /// next one depends on.
  Graph *capture = nullptr;
  std::vector<CUgraphNode> captured;
};

Handles<Stream> &streams();
Handles<Event> &events();

/// The stream of a handle; the current device's default one for null. Null
/// where the handle is none, or another device's.
Stream *findStream(CUstream handle);

/// Queues work; the default stream and blocking ones wait for each other. A
/// stream that is captured takes none.
CUresult enqueue(Stream &stream, Operation operation);
/// Does work until the stream, or every one, is empty.
CUresult drain(Stream &stream);
CUresult drainAll();
/// What a copy that waits for its end orders itself after: the default stream
/// and all blocking ones.
CUresult drainDefault();
/// Does one piece of work somewhere; false where nothing is ready.
bool step(CUresult &result);
/// Forgets what is queued on the current device, when it is lost.
void dropQueues();

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_STREAM_H
