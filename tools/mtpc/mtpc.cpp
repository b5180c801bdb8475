//===- mtpc.cpp - The compiler: model.mlir to model.bin -------------------===//

#include "compiler/Codegen/CPU/CpuTarget.h"
#include "compiler/Codegen/GPU/target/CudaTarget.h"
#include "tools/mtpc/Tool.h"

int main(int argc, char **argv) {
  mtp::compiler::TargetRegistry registry;
  registry.add(mtp::codegen::CpuTarget::kName, mtp::codegen::CpuTarget::create);
  registry.add(mtp::codegen::CudaTarget::kName,
               mtp::codegen::CudaTarget::create);
  return runMtpc(argc, argv, registry);
}
