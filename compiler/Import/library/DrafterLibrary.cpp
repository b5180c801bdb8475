//===- DrafterLibrary.cpp - Built-in drafter functions --------------------===//

#include "compiler/Import/library/DrafterLibrary.h"

#include "compiler/Import/library/DrafterTexts.h"

namespace mtp::drafters {

std::span<const LibraryFile> libraryFiles() {
#define MTP_DRAFTER(NAME) LibraryFile{#NAME ".mlir", NAME##Text()},
  static const LibraryFile files[] = {
#include "compiler/Import/library/DrafterNames.inc"
  };
#undef MTP_DRAFTER
  return files;
}

std::optional<std::string_view> findLibraryFile(std::string_view name) {
  for (const LibraryFile &file : libraryFiles())
    if (file.name == name)
      return file.text;
  return std::nullopt;
}

std::string listLibraryFiles() {
  std::string names;
  for (const LibraryFile &file : libraryFiles()) {
    names += names.empty() ? "" : ", ";
    names += file.name;
  }
  return names;
}

} // namespace mtp::drafters
