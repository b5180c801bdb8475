//===- BackendCode.h - Which code compiles kernels --------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_UNITS_BACKENDCODE_H
#define COMPILER_CODEGEN_UNITS_BACKENDCODE_H

#include <string_view>

namespace mtp::codegen {

/// Returns the digest of the library that compiles units to objects
/// (mtp_kernel_backend). The build computes the digest
/// (tools/cmake/Fingerprint.cmake). With another library, an object in the
/// kernel cache therefore has another key.
std::string_view kernelBackendCode();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_UNITS_BACKENDCODE_H
