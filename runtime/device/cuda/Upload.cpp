//===- Upload.cpp - Large copies from the host to a GPU -------------------===//

#include "runtime/device/cuda/Upload.h"

#include <algorithm>
#include <utility>

using namespace mtp;

static constexpr const char *kWhat = "a copy of weights to the GPU";

static uint64_t alignUp(uint64_t bytes) {
  return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
}

Upload::Upload(std::shared_ptr<CudaContext> context, uint64_t bytes,
               uint64_t bufferBytes, uint32_t threads)
    : context(std::move(context)),
      bufferBytes(alignUp(std::min(bytes, bufferBytes))), copies(threads) {}

Upload::~Upload() {
  if (!stream || !context->enter().isOk())
    return;
  const DriverApi &driver = context->driver();
  // The device reads the buffers until then.
  driver.cuStreamSynchronize(stream);
  for (Buffer &buffer : buffers)
    if (buffer.emptied)
      driver.cuEventDestroy(buffer.emptied);
  driver.cuStreamDestroy(stream);
}

/// Allocates the resources of a buffer at its first use.
Status Upload::prepare(Buffer &buffer) {
  if (buffer.emptied)
    return okStatus();
  const DriverApi &driver = context->driver();
  if (!stream)
    MTP_RETURN_IF_ERROR(
        driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                     "cuStreamCreate"));
  MTP_ASSIGN_OR_RETURN(
      buffer.memory,
      PinnedMemory::allocate(context, bufferBytes, "copies of weights"));
  return driver.check(
      driver.cuEventCreate(&buffer.emptied, CU_EVENT_DISABLE_TIMING),
      "cuEventCreate");
}

/// Gives a full buffer to the device, and waits until the other one is empty.
Status Upload::nextBuffer() {
  const DriverApi &driver = context->driver();
  MTP_RETURN_IF_ERROR(context->check(
      driver.cuEventRecord(buffers[current].emptied, stream), kWhat));
  current = (current + 1) % buffers.size();
  Buffer &next = buffers[current];
  if (next.emptied)
    MTP_RETURN_IF_ERROR(
        context->check(driver.cuEventSynchronize(next.emptied), kWhat));
  next.used = 0;
  return okStatus();
}

Status Upload::add(CUdeviceptr target, const void *source, uint64_t bytes) {
  auto *from = static_cast<const uint8_t *>(source);
  while (bytes != 0) {
    if (buffers[current].used == bufferBytes)
      MTP_RETURN_IF_ERROR(nextBuffer());
    Buffer &buffer = buffers[current];
    MTP_RETURN_IF_ERROR(prepare(buffer));
    uint64_t piece = std::min(bytes, bufferBytes - buffer.used);
    uint8_t *place = buffer.memory.data() + buffer.used;
    copies.run(place, from, piece);
    MTP_RETURN_IF_ERROR(context->check(
        context->driver().cuMemcpyHtoDAsync(target, place, piece, stream),
        kWhat));
    // Transfers begin at a multiple of the bus's unit.
    buffer.used = std::min(bufferBytes, alignUp(buffer.used + piece));
    target += piece;
    from += piece;
    bytes -= piece;
  }
  return okStatus();
}

Status Upload::finish() {
  if (!stream)
    return okStatus();
  return context->check(context->driver().cuStreamSynchronize(stream), kWhat);
}
