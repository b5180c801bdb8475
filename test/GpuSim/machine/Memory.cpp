//===- Memory.cpp - The simulated device's memory -------------------------===//

#include "Memory.h"

#include <cstdio>
#include <cstring>
#include <sys/mman.h>

using namespace mtp::gpusim;

static constexpr size_t kLarge = 1 << 20, kLargeUnit = 2 << 20,
                        kSmallUnit = 512;

void Allocation::beginRun(uint64_t run) {
  lastRun = run;
  written = std::move(*fresh);
  fresh.emplace(bytes);
}

void Allocation::noteWrite(size_t offset, size_t count, uint64_t run) {
  if (kind != MemoryKind::Device)
    return;
  written.set(offset, count);
  if (fresh && run == 0)
    fresh->set(offset, count);
}

Memory::~Memory() {
  for (auto &[base, allocation] : live)
    if (allocation.mappedBytes)
      munmap(reinterpret_cast<void *>(base), allocation.mappedBytes);
  for (auto &[base, bytes] : freed)
    munmap(reinterpret_cast<void *>(base), bytes);
}

size_t mtp::gpusim::footprintOf(size_t bytes) {
  size_t unit = bytes < kLarge ? kSmallUnit : kLargeUnit;
  return (bytes + unit - 1) / unit * unit;
}

bool Memory::charge(size_t bytes) {
  if (bytes > unused())
    return false;
  used() += bytes;
  return true;
}

Allocation *Memory::allocate(size_t bytes, MemoryKind kind) {
  bool onDevice = kind == MemoryKind::Device;
  if (onDevice && (bytes > unused() || footprintOf(bytes) > unused()))
    return nullptr;
  // The page after the end is protected, so the host's overrun faults.
  size_t body = (bytes + kPage - 1) / kPage * kPage, mapped = body + kPage;
  void *place = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return nullptr;
  mprotect(static_cast<char *>(place) + body, kPage, PROT_NONE);
  std::memset(place, 0xff, bytes);
  if (onDevice)
    used() += footprintOf(bytes);
  auto base = reinterpret_cast<uintptr_t>(place);
  auto entry = live.emplace(
      base,
      Allocation{base, bytes, kind, ByteBits(bytes), mapped, current, {}, 0});
  return &entry.first->second;
}

bool Memory::free(uintptr_t base) {
  auto found = live.find(base);
  if (found == live.end() || !found->second.mappedBytes)
    return false;
  const Allocation &allocation = found->second;
  // The pages go back to the system, the addresses stay reserved.
  void *reserved =
      mmap(reinterpret_cast<void *>(base), allocation.mappedBytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (reserved == MAP_FAILED)
    return false;
  if (allocation.kind == MemoryKind::Device)
    usedBytes[size_t(allocation.device)] -= footprintOf(allocation.bytes);
  freed.emplace(base, allocation.mappedBytes);
  live.erase(found);
  recents = {};
  return true;
}

void Memory::add(uintptr_t base, size_t bytes, MemoryKind kind) {
  live.emplace(
      base, Allocation{base, bytes, kind, ByteBits(bytes), 0, current, {}, 0});
}

void Memory::remove(uintptr_t base) {
  live.erase(base);
  recents = {};
}

Allocation *Memory::search(uintptr_t address, size_t bytes) {
  auto next = live.upper_bound(address);
  if (next == live.begin())
    return nullptr;
  Allocation &candidate = std::prev(next)->second;
  if (!contains(candidate, address, bytes))
    return nullptr;
  return recents[address / kPage % kRecents] = &candidate;
}

bool Memory::overlaps(uintptr_t address, size_t bytes) const {
  auto next = live.lower_bound(address + bytes);
  if (next == live.begin())
    return false;
  const Allocation &before = std::prev(next)->second;
  return before.base + before.bytes > address;
}

std::string Memory::describe(uintptr_t address) const {
  char text[160];
  auto after = freed.upper_bound(address);
  if (after != freed.begin() &&
      address < std::prev(after)->first + std::prev(after)->second) {
    std::snprintf(text, sizeof text, "in freed memory, byte %zu of it",
                  size_t(address - std::prev(after)->first));
    return text;
  }
  auto next = live.upper_bound(address);
  if (next == live.begin())
    return "outside of every allocation";
  const Allocation &before = std::prev(next)->second;
  bool isForeign =
      before.kind == MemoryKind::Device && before.device != current;
  std::snprintf(text, sizeof text, "byte %zu of an allocation of %zu%s",
                size_t(address - before.base), before.bytes,
                isForeign ? " on another device" : "");
  // If the address is far after the nearest allocation, its offset says
  // nothing.
  return address - before.base > before.bytes + (size_t(1) << 20)
             ? "outside of every allocation"
             : text;
}
