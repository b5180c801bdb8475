//===- TemporaryFile.h - Files for tools that take no memory ----*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_TEMPORARYFILE_H
#define MTP_COMPILER_CODEGEN_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"

namespace mtp::codegen {

/// Creates an empty temporary file, whose name begins with `prefix`, and
/// returns its path; a signal that ends the process removes it.
llvm::Expected<llvm::SmallString<128>> makeTemporary(llvm::StringRef prefix,
                                                     llvm::StringRef suffix);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_TEMPORARYFILE_H
