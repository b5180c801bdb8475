//===- SavedPrefix.cpp - Prefixes of prompts in files ---------------------===//

#include "mtp/saved_prefix.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"
#include "runtime/exec/saved/PrefixTransfer.h"
#include "runtime/saved/PrefixFile.h"

#include <algorithm>
#include <utility>

using namespace mtp;

struct SavedPrefix::Impl {
  saved::PrefixImage image;
  MemoryReservation memory;
};

SavedPrefix::SavedPrefix(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
SavedPrefix::SavedPrefix(SavedPrefix &&) noexcept = default;
SavedPrefix &SavedPrefix::operator=(SavedPrefix &&) noexcept = default;
SavedPrefix::~SavedPrefix() = default;

/// Returns the artifact and the plan of a session.
static saved::PrefixKey keyOf(const Model::Impl &inner) {
  saved::PrefixKey key;
  if (const flatbuffers::String *name = inner.artifact().model)
    key.model = name->str();
  cache::Hasher hasher;
  std::span<const uint8_t> tables = inner.file->tables();
  hasher.update(tables.data(), tables.size());
  key.artifact = hasher.digest();
  key.plan = inner.planIndex;
  return key;
}

/// Calls `work` with the pages of a session, on whose device nothing runs.
template <typename Work>
static auto withPages(Session::Impl &impl, Work work)
    -> decltype(work(std::declval<PrefixTransfer &>())) {
  FifoLock::Hold hold = impl.gate.enter();
  MTP_RETURN_IF_ERROR(impl.checkUsable());
  if (!impl.parts)
    return failedPrecondition("the artifact has functions only, no model");
  MTP_RETURN_IF_ERROR(impl.parts->land());
  PrefixTransfer transfer(impl.inner.artifact(), *impl.executable,
                          *impl.parts->memory, keyOf(impl.inner));
  return work(transfer);
}

Result<SavedPrefix> SavedPrefix::save(Session &session,
                                      std::span<const int32_t> tokens,
                                      const std::string &cacheSalt) {
  auto made = std::make_unique<Impl>();
  MTP_ASSIGN_OR_RETURN(
      made->image, withPages(*session.impl, [&](PrefixTransfer &transfer) {
        return transfer.save(tokens, cacheSalt, session.impl->memory,
                             made->memory);
      }));
  return SavedPrefix(std::move(made));
}

Result<uint64_t> SavedPrefix::restore(Session &session,
                                      const std::string &cacheSalt) const {
  return withPages(*session.impl, [&](PrefixTransfer &transfer) {
    return transfer.restore(impl->image, cacheSalt, session.impl->memory);
  });
}

uint64_t SavedPrefix::forget(Session &session, std::span<const int32_t> tokens,
                             const std::string &cacheSalt) {
  Result<uint64_t> count =
      withPages(*session.impl, [&](PrefixTransfer &transfer) {
        return Result<uint64_t>(transfer.forget(tokens, cacheSalt));
      });
  return count ? *count : 0;
}

Status SavedPrefix::write(const std::string &path) const {
  return saved::writeFile(path, impl->image);
}

Result<SavedPrefix> SavedPrefix::read(const std::string &path,
                                      uint64_t mostBytes) {
  auto made = std::make_unique<Impl>();
  MTP_ASSIGN_OR_RETURN(uint64_t bytes, saved::sizeOfFile(path));
  MTP_ASSIGN_OR_RETURN(
      made->memory,
      hostMemory().reserve(bytes, "a saved prefix", hostMemoryLimit()));
  MTP_ASSIGN_OR_RETURN(made->image,
                       saved::readFile(path, std::min(bytes, mostBytes)));
  return SavedPrefix(std::move(made));
}

std::span<const int32_t> SavedPrefix::tokens() const {
  return impl->image.tokens;
}

uint64_t SavedPrefix::length() const {
  const saved::PrefixImage &image = impl->image;
  uint64_t last = image.key.stateBytes > 0 ? 0 : image.pageEnd();
  for (const saved::StateCopy &copy : image.copies)
    last = std::max(last, copy.position);
  return last;
}

uint64_t SavedPrefix::fileBytes() const {
  return saved::fileBytes(impl->image);
}
