//===- LfsPointer.h - A file that was not downloaded ------------*- C++ -*-===//
//
// A clone without Git LFS has a few lines of text in place of each large file.
// Every reader of a checkpoint's files asks here before it parses one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_LFSPOINTER_H
#define MTP_COMPILER_WEIGHTS_LFSPOINTER_H

#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace mtp {

/// Fails with FailedPrecondition if `bytes`, all of the file at `path`, are a
/// Git LFS pointer: its specification bounds them to 1,024 and fixes how they
/// begin.
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
