//===- BackendCode.h - Digest of the code that compiles kernels -*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_BACKENDCODE_H
#define MTP_COMPILER_CODEGEN_UNITS_BACKENDCODE_H

#include <string_view>

namespace mtp::codegen {

/// Returns the digest of the library that compiles units to objects
/// (mtp_kernel_backend). The build computes the digest
/// (tools/cmake/Fingerprint.cmake). It is part of the keys of the kernel cache,
/// so objects of another build of the library are not found.
std::string_view kernelBackendCode();

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_BACKENDCODE_H
