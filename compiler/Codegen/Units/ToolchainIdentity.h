//===- ToolchainIdentity.h - Which LLVM compiles kernels --------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_UNITS_TOOLCHAINIDENTITY_H
#define COMPILER_CODEGEN_UNITS_TOOLCHAINIDENTITY_H

#include <string>

namespace mtp::codegen {

/// Names the LLVM and MLIR of this process: the version, and the build ids of
/// the libraries, so that a new build of one version is another LLVM. If the
/// libraries are linked into the program, the program's build id stands for
/// them. Computed once; may be called from any thread.
const std::string &toolchainIdentity();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_UNITS_TOOLCHAINIDENTITY_H
