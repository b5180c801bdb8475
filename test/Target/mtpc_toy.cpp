//===- mtpc_toy.cpp - mtpc with an additional target ----------------------===//

#include "ToyTarget.h"

#include "compiler/Codegen/CPU/CpuTarget.h"
#include "tools/mtpc/Tool.h"

int main(int argc, char **argv) {
  mtp::compiler::TargetRegistry registry;
  registry.add(mtp::codegen::CpuTarget::kName, mtp::codegen::CpuTarget::create);
  registry.add(mtp::test::ToyTarget::kName, mtp::test::ToyTarget::create);
  return runMtpc(argc, argv, registry);
}
