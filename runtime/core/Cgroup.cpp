//===- Cgroup.cpp - Control groups of this process ------------------------===//

#include "runtime/core/Cgroup.h"

#include <cstdio>

using namespace mtp;

std::optional<std::string> mtp::readSmallFile(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "re");
  if (!file)
    return std::nullopt;
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  bool good = std::ferror(file) == 0;
  std::fclose(file);
  return good ? std::optional<std::string>(std::move(text)) : std::nullopt;
}

/// Appends root + path, and root + each folder above `path`.
static void appendChain(const std::string &root, std::string_view path,
                        std::vector<std::string> &folders) {
  while (path.size() > 1 && path.front() == '/') {
    folders.push_back(root + std::string(path));
    path = path.substr(0, path.rfind('/'));
  }
  folders.push_back(root);
}

/// Whether a comma-separated list has an entry.
static bool hasEntry(std::string_view list, std::string_view entry) {
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == entry)
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::vector<std::string> mtp::cgroupFolders(std::string_view controller,
                                            const SystemFiles &files) {
  std::vector<std::string> folders;
  std::string text = readSmallFile(files.proc + "/self/cgroup").value_or("");
  // Lines such as "4:memory:/a/b", of version 2 "0::/a/b".
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos)
      continue;
    std::string_view names = line.substr(first + 1, second - first - 1);
    std::string_view path = line.substr(second + 1);
    if (names.empty()) {
      appendChain(files.cgroup, path, folders);
      // If both versions are mounted.
      appendChain(files.cgroup + "/unified", path, folders);
    } else if (hasEntry(names, controller)) {
      appendChain(files.cgroup + "/" + std::string(controller), path, folders);
    }
  }
  return folders;
}
