//===- CudaCopies.cpp - Writes and reads between launches -----------------===//

#include "runtime/core/StrCat.h"
#include "runtime/device/cuda/CudaExecutable.h"

#include <cstring>

using namespace mtp;

Status CudaExecutable::wait(std::string_view what) const {
  return context->check(context->driver().cuStreamSynchronize(stream), what);
}

/// Memory that is not pinned is read before the call returns.
Status CudaExecutable::upload(CUdeviceptr target, const void *source,
                              uint64_t bytes) {
  MTP_RETURN_IF_ERROR(context->enter());
  if (bytes == 0)
    return okStatus();
  return context->check(
      context->driver().cuMemcpyHtoDAsync(target, source, bytes, stream),
      "a write to the GPU");
}

/// Puts what is in the inbox in its place before anything else happens.
Status CudaExecutable::deliver() {
  MTP_RETURN_IF_ERROR(checkIdle());
  if (inbox.isEmpty())
    return okStatus();
  KernelLaunch launch = inbox.launch();
  MTP_RETURN_IF_ERROR(launchKernel(launch));
  MTP_RETURN_IF_ERROR(wait("a write to the GPU"));
  inbox.clear();
  return okStatus();
}

Status CudaExecutable::write(const Binding &binding, const void *source,
                             uint64_t bytes) {
  if (isWatched(binding)) {
    std::memcpy(pinned[binding.index].data() + binding.offset, source, bytes);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(checkIdle());
  CUdeviceptr target = address(binding);
  if (inbox.add(target, source, bytes))
    return okStatus();
  MTP_RETURN_IF_ERROR(deliver());
  return inbox.add(target, source, bytes) ? okStatus()
                                          : upload(target, source, bytes);
}

Status CudaExecutable::download(void *target, CUdeviceptr source,
                                uint64_t bytes) {
  MTP_RETURN_IF_ERROR(deliver());
  if (bytes == 0)
    return okStatus();
  MTP_RETURN_IF_ERROR(context->check(
      context->driver().cuMemcpyDtoHAsync(target, source, bytes, stream),
      "a read from the GPU"));
  return wait("a read from the GPU");
}

Status CudaExecutable::read(const Binding &binding, void *target,
                            uint64_t bytes) {
  MTP_RETURN_IF_ERROR(context->enter());
  if (isWatched(binding)) {
    std::memcpy(target, pinned[binding.index].data() + binding.offset, bytes);
    return okStatus();
  }
  return download(target, address(binding), bytes);
}

Status CudaExecutable::writePage(uint32_t cache, uint32_t layer, uint32_t page,
                                 const void *source) {
  return upload(caches[cache][layer].address() +
                    page * artifact.pageStride(cache),
                source, artifact.pageBytes(cache));
}

/// Nobody may have written what is behind the entries.
Status CudaExecutable::readPage(uint32_t cache, uint32_t layer, uint32_t page,
                                uint32_t entries, void *target) {
  MTP_RETURN_IF_ERROR(context->enter());
  CUdeviceptr source =
      caches[cache][layer].address() + page * artifact.pageStride(cache);
  uint64_t bytes = artifact.pageBytes(cache);
  uint32_t all = artifact.envelope ? artifact.envelope->page_tokens() : 1;
  // A page has the first head's shares of all entries, then the second one's.
  uint32_t heads = artifact.caches->Get(cache)->heads();
  if (heads == 0 || entries >= all)
    return download(target, source, bytes);
  uint64_t share = bytes / heads;
  for (uint64_t at = 0; at < bytes; at += share)
    MTP_RETURN_IF_ERROR(download(static_cast<uint8_t *>(target) + at,
                                 source + at, share / all * entries));
  return okStatus();
}
