//===- CudaCopies.cpp - Writes and reads between launches -----------------===//

#include "runtime/core/StrCat.h"
#include "runtime/device/cuda/CudaExecutable.h"

#include <cstring>

using namespace mtp;

Status CudaExecutable::wait(std::string_view what) const {
  return context->check(context->driver().cuStreamSynchronize(stream), what);
}

/// Copies to the device. Memory that is not pinned is read before the call
/// returns.
Status CudaExecutable::upload(CUdeviceptr target, const void *source,
                              uint64_t bytes) {
  MTP_RETURN_IF_ERROR(context->enter());
  if (bytes == 0)
    return okStatus();
  return context->check(
      context->driver().cuMemcpyHtoDAsync(target, source, bytes, stream),
      "a write to the GPU");
}

/// Launches the kernel that delivers the writes in the mailbox, before anything
/// else in the stream. The mailbox must be cleared after the launch has ended.
Status CudaExecutable::launchMailbox() {
  MTP_RETURN_IF_ERROR(checkIdle());
  if (mailbox.isEmpty())
    return okStatus();
  KernelLaunch launch = mailbox.launch();
  return launchKernel(launch);
}

Status CudaExecutable::deliver() {
  MTP_RETURN_IF_ERROR(launchMailbox());
  if (mailbox.isEmpty())
    return okStatus();
  MTP_RETURN_IF_ERROR(wait("a write to the GPU"));
  mailbox.clear();
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
  if (mailbox.add(target, source, bytes))
    return okStatus();
  // A write that cannot use the mailbox need not wait for other writes.
  if (!DeviceMailbox::fits(target, bytes) && !mailbox.overlaps(target, bytes))
    return upload(target, source, bytes);
  MTP_RETURN_IF_ERROR(deliver());
  return mailbox.add(target, source, bytes) ? okStatus()
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

/// Adds the entries of a page. The rest of the page may be unwritten memory, so
/// it is not read.
void CudaExecutable::addPage(const ReadPart &part,
                             std::vector<DownloadPiece> &pieces) const {
  uint32_t cache = part.source.index;
  CUdeviceptr source = caches[cache][part.layer].address() +
                       part.page * artifact.pageStride(cache);
  auto *target = static_cast<uint8_t *>(part.target);
  uint64_t bytes = artifact.pageBytes(cache);
  uint32_t all = artifact.envelope ? artifact.envelope->page_tokens() : 1;
  // A page has the first head's shares of all entries, then the second one's.
  uint32_t heads = artifact.caches->Get(cache)->heads();
  if (heads == 0 || part.entries >= all) {
    pieces.push_back({target, source, bytes});
    return;
  }
  uint64_t share = bytes / heads;
  for (uint64_t at = 0; at < bytes; at += share)
    pieces.push_back({target + at, source + at, share / all * part.entries});
}

Status CudaExecutable::readPage(uint32_t cache, uint32_t layer, uint32_t page,
                                uint32_t entries, void *target) {
  ReadPart part{{schema::Space::Kv, cache}, layer, page, entries, target};
  return readAll({&part, 1});
}

Status CudaExecutable::readAll(std::span<const ReadPart> parts) {
  MTP_RETURN_IF_ERROR(context->enter());
  std::vector<DownloadPiece> pieces;
  for (const ReadPart &part : parts)
    if (part.source.space == schema::Space::Kv)
      addPage(part, pieces);
    else if (isWatched(part.source))
      MTP_RETURN_IF_ERROR(read(part.source, part.target, part.source.bytes));
    else
      pieces.push_back({static_cast<uint8_t *>(part.target),
                        address(part.source), part.source.bytes});
  std::erase_if(pieces, [](const auto &piece) { return piece.bytes == 0; });
  if (pieces.empty())
    return okStatus();
  MTP_RETURN_IF_ERROR(launchMailbox());
  Status copied = copies.run(stream, pieces);
  // A failed copy may not have waited for the mailbox.
  if (copied.isOk() || wait("a read from the GPU").isOk())
    mailbox.clear();
  return copied;
}
