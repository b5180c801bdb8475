//===- DrafterLibrary.h - Built-in drafter functions ------------*- C++ -*-===//
//
// Files of functions in the mtp dialect (compiler/Import/library), embedded in
// the tools. A module imports them with `mtp.import "<NAME>"`.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_LIBRARY_DRAFTERLIBRARY_H
#define MTP_COMPILER_IMPORT_LIBRARY_DRAFTERLIBRARY_H

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mtp::drafters {

struct LibraryFile {
  std::string_view name; ///< For example "lookup.mlir".
  std::string_view text;
};

/// Returns all files, sorted by name.
std::span<const LibraryFile> libraryFiles();

/// Returns the text of the file called `name`, if there is one.
std::optional<std::string_view> findLibraryFile(std::string_view name);

/// Returns the names of all files for a message: "lookup.mlir, suffix.mlir".
std::string listLibraryFiles();

} // namespace mtp::drafters

#endif // MTP_COMPILER_IMPORT_LIBRARY_DRAFTERLIBRARY_H
