//===- Download.cpp - Large copies from a GPU to the host -----------------===//

#include "runtime/device/cuda/Download.h"

#include <algorithm>
#include <utility>

using namespace mtp;

static constexpr const char *kWhat = "a read from the GPU";

/// Returns the room that a piece takes in a buffer. Transfers begin at a
/// multiple of the bus's unit.
static uint64_t alignUp(uint64_t bytes) {
  return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
}

Download::Download(std::shared_ptr<CudaContext> context, uint64_t bufferBytes,
                   uint32_t threads)
    : context(std::move(context)), most(alignUp(bufferBytes)), copies(threads) {
}

Download::~Download() {
  if (!context->enter().isOk())
    return;
  for (Buffer &buffer : buffers)
    if (buffer.filled)
      context->driver().cuEventDestroy(buffer.filled);
}

uint64_t Download::bytes() const {
  return buffers[0].memory.size() + buffers[1].memory.size();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Status Download::prepare(Buffer &buffer, uint64_t bytes) {
  const DriverApi &driver = context->driver();
  if (!buffer.filled)
    MTP_RETURN_IF_ERROR(driver.check(
        driver.cuEventCreate(&buffer.filled, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate"));
  MTP_ASSIGN_OR_RETURN(
      buffer.memory,
      PinnedMemory::allocate(context, bytes, "copies from the GPU"));
  return okStatus();
}

/// Makes buffers that hold `bytes`, or buffers of the maximum size, and never
/// shrinks them. If memory is short, returns ResourceExhausted and leaves no
/// buffers.
Status Download::makeBuffers(uint64_t bytes) {
  uint64_t each = std::min(most, bytes);
  uint64_t second = bytes > most ? most : 0;
  if (buffers[0].memory.size() >= each && buffers[1].memory.size() >= second)
    return okStatus();
  each = std::max(each, buffers[0].memory.size());
  second = std::max(second, buffers[1].memory.size());
  dropBuffers();
  MTP_ASSIGN_OR_RETURN(reservation, hostMemory().reserve(each + second,
                                                         "copies from the GPU",
                                                         hostMemoryLimit()));
  Status made = prepare(buffers[0], each);
  if (made.isOk() && second)
    made = prepare(buffers[1], second);
  if (!made.isOk())
    dropBuffers();
  return made;
}

void Download::dropBuffers() {
  for (Buffer &buffer : buffers)
    buffer.memory = {};
  reservation = {};
}

/// Waits until the device has filled the buffer, and copies its contents to
/// their targets.
Status Download::empty(Buffer &buffer) {
  if (buffer.pieces.empty())
    return okStatus();
  MTP_RETURN_IF_ERROR(context->check(
      context->driver().cuEventSynchronize(buffer.filled), kWhat));
  const uint8_t *from = buffer.memory.data();
  for (const DownloadPiece &piece : buffer.pieces) {
    copies.run(piece.target, from, piece.bytes);
    from += alignUp(piece.bytes);
  }
  buffer.pieces.clear();
  buffer.used = 0;
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

/// Gives the current buffer to the device, and empties the other one, which is
/// filled next.
Status Download::leave(CUstream stream) {
  Buffer &buffer = buffers[current];
  if (!buffer.pieces.empty())
    MTP_RETURN_IF_ERROR(context->check(
        context->driver().cuEventRecord(buffer.filled, stream), kWhat));
  current = (current + 1) % buffers.size();
  return empty(buffers[current]);
}

Status Download::add(CUstream stream, DownloadPiece piece) {
  while (piece.bytes != 0) {
    if (buffers[current].used == buffers[current].memory.size())
      MTP_RETURN_IF_ERROR(leave(stream));
    Buffer &buffer = buffers[current];
    DownloadPiece part = piece;
    part.bytes = std::min(piece.bytes, buffer.memory.size() - buffer.used);
    MTP_RETURN_IF_ERROR(context->check(
        context->driver().cuMemcpyDtoHAsync(buffer.memory.data() + buffer.used,
                                            part.source, part.bytes, stream),
        kWhat));
    buffer.pieces.push_back(part);
    buffer.used += alignUp(part.bytes);
    piece.target += part.bytes;
    piece.source += part.bytes;
    piece.bytes -= part.bytes;
  }
  return okStatus();
}

/// Copies to memory that is not pinned.
Status Download::runDirectly(CUstream stream,
                             std::span<const DownloadPiece> pieces) {
  const DriverApi &driver = context->driver();
  for (const DownloadPiece &piece : pieces)
    MTP_RETURN_IF_ERROR(
        context->check(driver.cuMemcpyDtoHAsync(piece.target, piece.source,
                                                piece.bytes, stream),
                       kWhat));
  return context->check(driver.cuStreamSynchronize(stream), kWhat);
}

Status Download::run(CUstream stream, std::span<const DownloadPiece> pieces) {
  uint64_t bytes = 0;
  for (const DownloadPiece &piece : pieces)
    bytes += alignUp(piece.bytes);
  Status made = makeBuffers(bytes);
  if (made.code() == StatusCode::ResourceExhausted)
    return runDirectly(stream, pieces);
  MTP_RETURN_IF_ERROR(made);
  // An earlier copy that failed may have left pieces.
  for (Buffer &buffer : buffers) {
    buffer.pieces.clear();
    buffer.used = 0;
  }
  current = 0;
  for (const DownloadPiece &piece : pieces)
    MTP_RETURN_IF_ERROR(add(stream, piece));
  // The last buffer but one, then the last.
  MTP_RETURN_IF_ERROR(leave(stream));
  return leave(stream);
}
