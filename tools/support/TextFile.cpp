//===- TextFile.cpp - Text files that users name --------------------------===//

#include "tools/support/TextFile.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"

#include <memory>

using namespace mtp;

Result<std::string> mtp::readTextFile(const std::string &path, uint64_t most) {
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file,
                       MappedFile::open(path));
  if (file->size() > most)
    return invalidArgument(strCat("expected a text of at most ", most,
                                  " bytes, got ", file->size()));
  return std::string(reinterpret_cast<const char *>(file->data()),
                     file->size());
}

std::vector<std::string> mtp::linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!line.empty())
      lines.emplace_back(line);
  }
  return lines;
}
