//===- Link.h - Links objects into a shared image ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_TARGET_LINK_H
#define MTP_COMPILER_CODEGEN_CPU_TARGET_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mtp::codegen {

/// Name that an image exports for a symbol of one of its objects.
struct ExportedName {
  std::string name;
  std::string symbol;
};

/// Links relocatable ELF objects into a position-independent shared image. The
/// image exports `names` and every symbol of the objects that is not hidden.
/// Reports an error for undefined symbols other than memcpy, memset and
/// memmove, because the host process may lack them.
llvm::Expected<std::vector<char>>
linkSharedImage(llvm::ArrayRef<llvm::StringRef> objects,
                llvm::ArrayRef<ExportedName> names = {});

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_TARGET_LINK_H
