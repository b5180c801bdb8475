//===- LfsPointer.h - A file that was not downloaded ------------*- C++ -*-===//
//
// A clone without Git LFS has a few lines of text in place of each large file.
// Readers of a checkpoint's files call this check before they parse a file.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_LFSPOINTER_H
#define MTP_COMPILER_WEIGHTS_LFSPOINTER_H

#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace mtp {

/// Fails with FailedPrecondition if `bytes`, the whole file at `path`, is a Git
/// LFS pointer. By specification a pointer has fewer than 1,024 bytes and a
/// fixed beginning.
inline Status checkNotLfsPointer(std::string_view bytes,
                                 const std::string &path) {
  constexpr size_t kMaxPointerBytes = 1024;
  constexpr std::string_view kBegin =
      "version https://git-lfs.github.com/spec/";
  if (bytes.size() >= kMaxPointerBytes || !bytes.starts_with(kBegin))
    return okStatus();
  return failedPrecondition("\"" + path +
                            "\" is a Git LFS pointer, not the file itself; "
                            "run git lfs pull in its folder");
}

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_LFSPOINTER_H
