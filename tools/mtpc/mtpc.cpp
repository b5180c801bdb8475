//===- mtpc.cpp - The compiler: model.mlir to model.bin -------------------===//

#include "compiler/Codegen/CPU/CpuTarget.h"
#include "tools/mtpc/Tool.h"

int main(int argc, char **argv) {
  mtp::compiler::TargetRegistry registry;
  registry.add(mtp::codegen::CpuTarget::kName, mtp::codegen::CpuTarget::create);
  return runMtpc(argc, argv, registry);
}
