//===- BackendCode.h - Which code compiles kernels --------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_UNITS_BACKENDCODE_H
#define COMPILER_CODEGEN_UNITS_BACKENDCODE_H

#include <string_view>

namespace mtp::codegen {

/// Digest of the library that makes objects of units (mtp_kernel_backend). The
/// build computes it (tools/cmake/Fingerprint.cmake), so that an object which
/// other code made is not found in the kernel cache.
std::string_view kernelBackendCode();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_UNITS_BACKENDCODE_H
