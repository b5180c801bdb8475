//===- MemoryLimit.cpp - The memory limit of a process --------------------===//

#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"

#include <charconv>
#include <sys/resource.h>

using namespace mtp;

/// Returns the number that a text starts with, after blanks.
static std::optional<uint64_t> leadingNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? std::optional<uint64_t>(number) : std::nullopt;
}

/// Returns the number after a key in a file with one key per line.
static std::optional<uint64_t> numberBehind(std::string_view key,
                                            const std::string &path) {
  std::string text = readSmallFile(path).value_or("");
  size_t at = text.find(key);
  if (at == std::string::npos)
    return std::nullopt;
  return leadingNumber(std::string_view(text).substr(at + key.size()));
}

/// Returns the machine's memory; the maximum if the machine does not report it.
static uint64_t machineMemory(std::string_view key, const SystemFiles &files) {
  std::optional<uint64_t> kilobytes =
      numberBehind(key, files.proc + "/meminfo");
  return kilobytes ? multiplyBytes(*kilobytes, 1024) : UINT64_MAX;
}

/// Returns the smallest limit of the process's groups. "max" of version 2 is no
/// number; version 1 writes a number that is larger than any machine's memory.
static uint64_t cgroupMemory(const SystemFiles &files) {
  uint64_t least = UINT64_MAX;
  for (const std::string &folder : cgroupFolders("memory", files))
    for (const char *name : {"/memory.max", "/memory.limit_in_bytes"})
      if (auto text = readSmallFile(folder + name))
        least = std::min(least, leadingNumber(*text).value_or(UINT64_MAX));
  return least;
}

MemoryLimit mtp::memoryLimit(const SystemFiles &files) {
  MemoryLimit limit{machineMemory("MemTotal:", files), "physical memory"};
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

/// Returns the memory that a group may still take. Cached file pages that have
/// not been read for long count as free, because the system reclaims them.
static uint64_t leftOfGroup(const std::string &folder, const char *limit,
                            const char *use) {
  auto text = readSmallFile(folder + limit);
  std::optional<uint64_t> most = text ? leadingNumber(*text) : std::nullopt;
  if (!most)
    return UINT64_MAX;
  uint64_t used = numberBehind("", folder + use).value_or(0);
  uint64_t kept =
      numberBehind("inactive_file ", folder + "/memory.stat").value_or(0);
  used -= std::min(kept, used);
  return *most - std::min(used, *most);
}

uint64_t mtp::availableMemory(const SystemFiles &files) {
  uint64_t least = machineMemory("MemAvailable:", files);
  for (const std::string &folder : cgroupFolders("memory", files)) {
    least =
        std::min(least, leftOfGroup(folder, "/memory.max", "/memory.current"));
    least = std::min(least, leftOfGroup(folder, "/memory.limit_in_bytes",
                                        "/memory.usage_in_bytes"));
  }
  return least;
}
