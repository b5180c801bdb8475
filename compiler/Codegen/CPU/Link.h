//===- Link.h - Links an object into a shared image -------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_LINK_H
#define COMPILER_CODEGEN_CPU_LINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace mtp::codegen {

/// Links a relocatable ELF object into a shared image with lld. An error if
/// the image would need symbols other than memcpy, memset and memmove.
llvm::Expected<std::vector<char>> linkSharedImage(llvm::StringRef object);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_LINK_H
