//===- BenchSupport.h - Helpers of benchmark programs -----------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_BENCHSUPPORT_H
#define MTP_TEST_RUNTIME_SUPPORT_BENCHSUPPORT_H

#include "mtp/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace mtp::test {

/// Returns the seconds of a clock, such as CLOCK_PROCESS_CPUTIME_ID.
inline double secondsOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Returns the value. On a failure the program prints the reason and exits with
/// 1.
template <typename T>
T get(Result<T> result) {
  if (result)
    return std::move(*result);
  std::fprintf(stderr, "%s: error: %s\n", program_invocation_short_name,
               result.status().toString().c_str());
  std::exit(1);
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_BENCHSUPPORT_H
