//===- MemoryLimit.cpp - How much memory there can be ---------------------===//

#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"

#include <charconv>
#include <sys/resource.h>

using namespace mtp;

/// The number that a text starts with, blanks before it aside.
static std::optional<uint64_t> leadingNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? std::optional<uint64_t>(number) : std::nullopt;
}

static uint64_t physicalMemory(const SystemFiles &files) {
  std::string text = readSmallFile(files.proc + "/meminfo").value_or("");
  constexpr std::string_view key = "MemTotal:";
  size_t at = text.find(key);
  if (at == std::string::npos)
    return UINT64_MAX;
  std::optional<uint64_t> kilobytes =
      leadingNumber(std::string_view(text).substr(at + key.size()));
  return kilobytes ? multiplyBytes(*kilobytes, 1024) : UINT64_MAX;
}

/// The least limit of the process's groups. "max" of version 2 is no number;
/// version 1 writes a number that no machine has.
static uint64_t cgroupMemory(const SystemFiles &files) {
  uint64_t least = UINT64_MAX;
  for (const std::string &folder : cgroupFolders("memory", files))
    for (const char *name : {"/memory.max", "/memory.limit_in_bytes"})
      if (auto text = readSmallFile(folder + name))
        least = std::min(least, leadingNumber(*text).value_or(UINT64_MAX));
  return least;
}

MemoryLimit mtp::memoryLimit(const SystemFiles &files) {
  MemoryLimit limit{physicalMemory(files), "physical memory"};
  if (uint64_t bytes = cgroupMemory(files); bytes < limit.bytes)
    limit = {bytes, "the cgroup's memory limit"};
  struct rlimit space;
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY &&
      space.rlim_cur < limit.bytes)
    limit = {space.rlim_cur, "address space (ulimit -v)"};
  return limit;
}

Status mtp::checkMemory(uint64_t bytes, std::string_view what,
                        const MemoryLimit &limit) {
  if (bytes <= limit.bytes)
    return okStatus();
  return resourceExhausted(strCat(what, " need ", bytes,
                                  " bytes, more than the ", limit.bytes,
                                  " bytes of ", limit.source));
}
