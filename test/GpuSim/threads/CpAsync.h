//===- CpAsync.h - Copies in flight to shared memory ------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_THREADS_CPASYNC_H
#define MTP_TEST_GPUSIM_THREADS_CPASYNC_H

#include <cstdint>
#include <vector>

namespace mtp::gpusim {

/// A pending copy. It is made when its thread waits for its group, which is as
/// late as the program allows. An earlier read finds the old contents.
struct PendingCopy {
  char *to;
  const char *from;
  uint32_t bytes, sourceBytes;
};

struct CopyGroups {
  std::vector<PendingCopy> open;
  /// Groups from the oldest to the newest.
  std::vector<std::vector<PendingCopy>> committed;

  bool empty() const { return open.empty() && committed.empty(); }
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_THREADS_CPASYNC_H
