//===- Processors.cpp - Usable processors ---------------------------------===//

#include "runtime/core/Processors.h"

#include <algorithm>
#include <charconv>
#include <sched.h>

using namespace mtp;

/// Removes a number and the blanks around it from the start of a text.
static std::optional<int64_t> takeNumber(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int64_t number = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(size_t(end.ptr - text.data()));
  bool isWhole = text.empty() || text[0] == ' ' || text[0] == '\n';
  return end.ec == std::errc() && isWhole ? std::optional(number)
                                          : std::nullopt;
}

/// Returns the processors that one group's quota allows: a share of time in
/// each period. Version 2 has "150000 100000" or "max 100000" in one file.
/// Version 1 has two files, and a negative share means no quota.
static std::optional<uint32_t> quotaOf(const std::string &folder) {
  std::string text = readSmallFile(folder + "/cpu.max").value_or("");
  if (text.empty())
    text = readSmallFile(folder + "/cpu.cfs_quota_us").value_or("");
  std::string_view rest = text;
  std::optional<int64_t> share = takeNumber(rest);
  rest.remove_prefix(std::min(rest.find_first_not_of('\n'), rest.size()));
  std::string other;
  if (rest.empty()) {
    other = readSmallFile(folder + "/cpu.cfs_period_us").value_or("");
    rest = other;
  }
  std::optional<int64_t> period = takeNumber(rest);
  if (!share || !period || *share <= 0 || *period <= 0)
    return std::nullopt;
  int64_t processors = *share / *period + (*share % *period != 0);
  return uint32_t(std::min<int64_t>(processors, UINT32_MAX));
}

std::optional<uint32_t> mtp::quotaProcessors(const SystemFiles &files) {
  std::optional<uint32_t> least;
  for (const std::string &folder : cgroupFolders("cpu", files))
    if (std::optional<uint32_t> quota = quotaOf(folder))
      least = std::min(least.value_or(UINT32_MAX), *quota);
  return least;
}

/// Returns the number of processors that the process may run on; at least 1.
static uint32_t allowedProcessors() {
  // The call fails as long as the set has fewer bits than the kernel's own.
  for (int bits = CPU_SETSIZE; bits <= (1 << 20); bits *= 2) {
    cpu_set_t *set = CPU_ALLOC(bits);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(bits);
    bool isRead = ::sched_getaffinity(0, bytes, set) == 0;
    int count = isRead ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (isRead)
      return uint32_t(std::max(count, 1));
  }
  return 1;
}

uint32_t mtp::usableProcessors() {
  uint32_t allowed = allowedProcessors();
  return std::min(allowed, quotaProcessors().value_or(allowed));
}
