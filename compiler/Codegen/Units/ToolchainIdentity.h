//===- ToolchainIdentity.h - Identity of LLVM and MLIR ----------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_TOOLCHAINIDENTITY_H
#define MTP_COMPILER_CODEGEN_UNITS_TOOLCHAINIDENTITY_H

#include <string>

namespace mtp::codegen {

/// Returns the identity of this process's LLVM and MLIR: the version and the
/// build ids of the libraries. A new build of one version therefore has another
/// identity. If the libraries are linked into the program, the program's build
/// id replaces theirs. Computed once; may be called from any thread.
const std::string &toolchainIdentity();

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_TOOLCHAINIDENTITY_H
