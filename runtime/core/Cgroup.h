//===- Cgroup.h - Control groups of this process ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CORE_CGROUP_H
#define MTP_RUNTIME_CORE_CGROUP_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Folders in which Linux reports the limits of a process. Tests use folders of
/// their own.
struct SystemFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

/// Returns the folders of the control groups that limit this process for
/// `controller` ("memory", "cpu"): its own group and all groups above it, of
/// version 2 and version 1. Some folders may not exist: a container sees its
/// own group as the root, under a path that only the host has.
std::vector<std::string> cgroupFolders(std::string_view controller,
                                       const SystemFiles &files = {});

/// Returns the whole content of a small file, or nothing if it cannot be read.
std::optional<std::string> readSmallFile(const std::string &path);

} // namespace mtp

#endif // MTP_RUNTIME_CORE_CGROUP_H
