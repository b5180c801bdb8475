//===- Stream.cpp - Streams and events ------------------------------------===//

#include "Stream.h"

#include "test/GpuSim/machine/Report.h"
#include "test/GpuSim/machine/Simulator.h"
#include <array>
#include <vector>

using namespace mtp::gpusim;

Handles<Stream> &mtp::gpusim::streams() {
  static auto *all = new Handles<Stream>;
  return *all;
}

Handles<Event> &mtp::gpusim::events() {
  static auto *all = new Handles<Event>;
  return *all;
}

static Stream &defaultStream(int device) {
  static auto *streams = [] {
    auto *made = new std::array<Stream, kMostDevices>;
    for (int device = 0; device < kMostDevices; ++device)
      (*made)[size_t(device)].device = device;
    return made;
  }();
  return (*streams)[size_t(device)];
}

/// Returns the default stream of the current device.
static Stream &defaultStream() {
  return defaultStream(simulator().memory.device());
}

Stream *mtp::gpusim::findStream(CUstream handle) {
  if (!handle || handle == CU_STREAM_LEGACY)
    return &defaultStream();
  Stream *stream = streams().find(handle);
  return stream && stream->device == simulator().memory.device() ? stream
                                                                 : nullptr;
}

bool mtp::gpusim::step(CUresult &result) {
  std::vector<Stream *> ready;
  auto consider = [&](Stream &stream) {
    if (!stream.queue.empty() && stream.queue.front().isReady())
      ready.push_back(&stream);
  };
  for (int device = 0; device < kMostDevices; ++device)
    consider(defaultStream(device));
  for (Stream *stream : streams().all())
    consider(*stream);
  if (ready.empty())
    return false;
  Stream &stream = *ready[simulator().random(ready.size())];
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  int device = simulator().memory.device();
  simulator().memory.setDevice(stream.device);
  if (operation.run)
    result = operation.run();
  if (result == kHangs) {
    static auto *never = new Event;
    stream.queue.push_front({nullptr, never, /*record=*/1});
    result = CUDA_SUCCESS;
  }
  simulator().memory.setDevice(device);
  return true;
}

CUresult mtp::gpusim::drain(Stream &stream) {
  while (!stream.queue.empty()) {
    CUresult result = CUDA_SUCCESS;
    if (!step(result))
      return refuse(CUDA_ERROR_LAUNCH_FAILED,
                    "a stream waits for an event that nothing records");
    if (result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

CUresult mtp::gpusim::drainAll() {
  CUresult result = drain(defaultStream());
  for (Stream *stream : streams().all())
    if (result == CUDA_SUCCESS)
      result = drain(*stream);
  return result;
}

CUresult mtp::gpusim::drainDefault() {
  CUresult result = drain(defaultStream());
  for (Stream *stream : streams().all())
    if (result == CUDA_SUCCESS && stream->blocking)
      result = drain(*stream);
  return result;
}

void mtp::gpusim::dropQueues() {
  defaultStream().queue.clear();
  for (Stream *stream : streams().all())
    if (stream->device == defaultStream().device)
      stream->queue.clear();
}

CUresult mtp::gpusim::enqueue(Stream &stream, Operation operation) {
  if (stream.capture)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "expected a stream that is not captured: of a library's "
                  "calls alone the capture is simulated");
  if (&stream == &defaultStream() || stream.blocking) {
    CUresult result =
        &stream == &defaultStream() ? drainDefault() : drain(defaultStream());
    if (result != CUDA_SUCCESS)
      return result;
  }
  stream.queue.push_back(std::move(operation));
  return CUDA_SUCCESS;
}
