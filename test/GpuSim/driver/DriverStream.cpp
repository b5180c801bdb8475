//===- DriverStream.cpp - Streams and events ------------------------------===//

#include "Driver.h"

#include "Stream.h"
#include "test/GpuSim/machine/Simulator.h"
#include <chrono>

using namespace mtp::gpusim;

static CUresult noStream(const char *name) {
  return refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live stream", name);
}

static CUresult noEvent(const char *name) {
  return refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live event", name);
}

MTP_API cuStreamCreate(CUstream *handle, unsigned flags) {
  Entry entry("cuStreamCreate");
  if (entry.refusedOrFull())
    return entry.result();
  if (flags & ~unsigned(CU_STREAM_NON_BLOCKING))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuStreamCreate: expected flags 0 or 1, got %u", flags);
  auto stream = std::make_unique<Stream>();
  stream->device = simulator().memory.device();
  stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
  *handle = reinterpret_cast<CUstream>(streams().add(std::move(stream)));
  return CUDA_SUCCESS;
}

/// Priorities tell which of two streams a device prefers. Here the seed
/// decides: every order that priorities allow may occur.
static constexpr int kLeastPriority = 0, kGreatestPriority = -5;

MTP_API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  Entry entry("cuCtxGetStreamPriorityRange");
  *least = kLeastPriority;
  *greatest = kGreatestPriority;
  return entry.result();
}

MTP_API cuStreamCreateWithPriority(CUstream *handle, unsigned flags,
                                   int priority) {
  if (priority > kLeastPriority || priority < kGreatestPriority)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuStreamCreateWithPriority: expected a priority from %d to "
                  "%d, got %d",
                  kGreatestPriority, kLeastPriority, priority);
  return cuStreamCreate(handle, flags);
}

MTP_API cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  Entry entry("cuLaunchHostFunc");
  if (entry.refused())
    return entry.result();
  Stream *stream = findStream(handle);
  if (!stream)
    return noStream("cuLaunchHostFunc");
  return enqueue(*stream, {[function, data] {
    HostFunction inside;
    function(data);
    return CUDA_SUCCESS;
  }});
}

MTP_API cuStreamDestroy(CUstream handle) {
  Entry entry("cuStreamDestroy");
  if (entry.refused())
    return entry.result();
  Stream *stream = streams().find(handle);
  if (!stream)
    return noStream("cuStreamDestroy");
  if (stream->capture)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "cuStreamDestroy: expected a capture to be ended first");
  CUresult result = drain(*stream);
  streams().remove(handle);
  return result;
}

MTP_API cuStreamSynchronize(CUstream handle) {
  Entry entry("cuStreamSynchronize");
  if (entry.refused())
    return entry.result();
  ++simulator().waits;
  Stream *stream = findStream(handle);
  if (stream && stream->capture)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "cuStreamSynchronize: expected a stream that is not "
                  "captured");
  return stream ? drain(*stream) : noStream("cuStreamSynchronize");
}

/// Queries a stream, and does one piece of work, so that a caller that polls
/// makes progress.
MTP_API cuStreamQuery(CUstream handle) {
  Entry entry("cuStreamQuery");
  if (entry.refused())
    return entry.result();
  Stream *stream = findStream(handle);
  if (!stream)
    return noStream("cuStreamQuery");
  if (stream->queue.empty())
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  step(result);
  return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : result;
}

MTP_API cuStreamWaitEvent(CUstream handle, CUevent eventHandle,
                          unsigned flags) {
  Entry entry("cuStreamWaitEvent");
  if (entry.refused())
    return entry.result();
  Stream *stream = findStream(handle);
  Event *event = events().find(eventHandle);
  if (!stream || !event)
    return stream ? noEvent("cuStreamWaitEvent")
                  : noStream("cuStreamWaitEvent");
  if (flags)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuStreamWaitEvent: flags %#x are not simulated", flags);
  // An event that was never recorded is not waited for.
  Operation wait;
  wait.event = event;
  wait.record = event->recorded;
  return enqueue(*stream, std::move(wait));
}

MTP_API cuEventCreate(CUevent *handle, unsigned flags) {
  Entry entry("cuEventCreate");
  if (entry.refusedOrFull())
    return entry.result();
  unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
  if (flags & ~known)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuEventCreate: flags %#x are not simulated", flags);
  auto event = std::make_unique<Event>();
  event->timed = !(flags & CU_EVENT_DISABLE_TIMING);
  *handle = reinterpret_cast<CUevent>(events().add(std::move(event)));
  return CUDA_SUCCESS;
}

MTP_API cuEventDestroy(CUevent handle) {
  Entry entry("cuEventDestroy");
  if (entry.refused())
    return entry.result();
  // Freed events are not deleted, so queued work can still refer to them.
  return events().remove(handle) ? CUDA_SUCCESS : noEvent("cuEventDestroy");
}

MTP_API cuEventRecord(CUevent eventHandle, CUstream handle) {
  Entry entry("cuEventRecord");
  if (entry.refused())
    return entry.result();
  Stream *stream = findStream(handle);
  Event *event = events().find(eventHandle);
  if (!stream || !event)
    return stream ? noEvent("cuEventRecord") : noStream("cuEventRecord");
  uint64_t record = ++event->recorded;
  return enqueue(*stream, {[event, record] {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    event->time = std::chrono::duration<double>(since).count();
    event->reached = std::max(event->reached, record);
    return CUDA_SUCCESS;
  }});
}

MTP_API cuEventQuery(CUevent handle) {
  Entry entry("cuEventQuery");
  if (entry.refused())
    return entry.result();
  Event *event = events().find(handle);
  if (!event)
    return noEvent("cuEventQuery");
  if (event->reached == event->recorded)
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  step(result);
  return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : result;
}

MTP_API cuEventSynchronize(CUevent handle) {
  Entry entry("cuEventSynchronize");
  if (entry.refused())
    return entry.result();
  ++simulator().waits;
  Event *event = events().find(handle);
  if (!event)
    return noEvent("cuEventSynchronize");
  while (event->reached != event->recorded) {
    CUresult result = CUDA_SUCCESS;
    if (!step(result))
      return refuse(CUDA_ERROR_LAUNCH_FAILED,
                    "cuEventSynchronize: nothing will record the event");
    if (result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

MTP_API cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  Entry entry("cuEventElapsedTime");
  if (entry.refused())
    return entry.result();
  Event *first = events().find(from), *second = events().find(to);
  if (!first || !second || !first->timed || !second->timed)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuEventElapsedTime: expected two live events with timing");
  if (!first->recorded || !second->recorded)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuEventElapsedTime: expected both events to be recorded");
  if (first->reached != first->recorded || second->reached != second->recorded)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = float((second->time - first->time) * 1e3);
  return CUDA_SUCCESS;
}
