//===- TemporaryFile.h - Files for tools that read only files ---*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_TEMPORARYFILE_H
#define MTP_COMPILER_CODEGEN_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace mtp::codegen {

/// A file with an unpredictable name, created exclusively. It is removed when
/// the object is destroyed, or if a signal ends the process.
class TemporaryFile {
public:
  /// Creates an empty file whose name begins with `prefix`.
  static llvm::Expected<std::unique_ptr<TemporaryFile>>
  create(llvm::StringRef prefix, llvm::StringRef suffix);

  llvm::StringRef path() const { return name; }

  /// Replaces the content.
  llvm::Error write(llvm::StringRef bytes);
  /// Reads the content, which another program may have written.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read() const;

private:
  explicit TemporaryFile(const llvm::SmallString<128> &path)
      : name(path), remover(path) {}

  llvm::SmallString<128> name;
  llvm::FileRemover remover;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_TEMPORARYFILE_H
