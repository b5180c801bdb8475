//===- DrafterLibrary.h - Drafter functions that tools bring ----*- C++ -*-===//
//
// Files of functions in the mtp dialect (compiler/Import/Drafters), which the
// tools have in themselves: a module takes them by `mtp.import "<NAME>"`.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERLIBRARY_H
#define MTP_COMPILER_IMPORT_DRAFTERLIBRARY_H

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mtp::drafters {

struct LibraryFile {
  std::string_view name; ///< "lookup.mlir"
  std::string_view text;
};

/// All files, by name.
std::span<const LibraryFile> libraryFiles();

/// The text of the file called `name`, if there is one.
std::optional<std::string_view> findLibraryFile(std::string_view name);

/// "lookup.mlir, suffix.mlir", for a message.
std::string listLibraryFiles();

} // namespace mtp::drafters

#endif // MTP_COMPILER_IMPORT_DRAFTERLIBRARY_H
