//===- SimBackend.h - From one GPU kernel to a host's object ----*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_TARGET_SIMBACKEND_H
#define MTP_TEST_GPUSIM_TARGET_SIMBACKEND_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include <string_view>

namespace mtp::gpusim {

/// Compiles GPU kernels to ELF objects that `gpu::linkHostImage` takes.
class SimBackend : public codegen::KernelBackend {
public:
  /// `code` names the code of the backend.
  explicit SimBackend(std::string code) : code(std::move(code)) {}

  std::string identity() const override { return "gpu-sim " + code; }
  bool sharesSymbols() const override { return false; }
  std::unique_ptr<codegen::KernelCompiler>
  makeCompiler(mlir::MLIRContext &context) const override;

private:
  std::string code;
};

/// Returns the digest of the library with this backend
/// (tools/cmake/Fingerprint.cmake).
std::string_view simBackendCode();

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_TARGET_SIMBACKEND_H
