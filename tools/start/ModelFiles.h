//===- ModelFiles.h - The files that a model is made of ---------*- C++ -*-===//

#ifndef MTP_TOOLS_START_MODELFILES_H
#define MTP_TOOLS_START_MODELFILES_H

#include "runtime/cache/ContentIndex.h"
#include "runtime/core/Result.h"

#include <string>
#include <vector>

namespace mtp::start {

/// A file that decides what is compiled.
struct ModelFile {
  std::string path;
  /// The path in its model's folder. Empty for a model of one file, whose name
  /// does not matter.
  std::string name;
};

/// Lists the files of a model's folder or of a GGUF file. A part of a split set
/// brings the other parts. A folder brings all files below it, except hidden
/// files and files of formats that mtp-import does not read. Sorted by name.
std::vector<ModelFile> listModelFiles(const std::string &path);

/// Appends the files that words of a command line name: WORD, FLAG=WORD, or
/// either with a comma and more after it. Other words name none.
void appendNamedFiles(const std::vector<std::string> &words,
                      std::vector<ModelFile> &files);

/// Returns the stamps of files, to find out later whether one was changed. A
/// missing file has the stamp of zeros.
std::vector<cache::FileStamp> stampsOf(const std::vector<ModelFile> &files);

} // namespace mtp::start

#endif // MTP_TOOLS_START_MODELFILES_H
