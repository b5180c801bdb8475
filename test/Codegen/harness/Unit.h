//===- Unit.h - Compiling one kernel, or finding it -------------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_UNIT_H
#define MTP_TEST_CODEGEN_HARNESS_UNIT_H

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Units/KernelUnits.h"

namespace mtp::codegen::test {

/// Compiles a kernel that `emit` writes, unless the kernel cache of the tests
/// ($MTPC_KERNEL_CACHE) has it.
mlir::FailureOr<CompiledUnit> compileUnit(const KernelSpec &spec,
                                          const KernelBackend &backend,
                                          decltype(UnitRequest::emit) emit);

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_UNIT_H
