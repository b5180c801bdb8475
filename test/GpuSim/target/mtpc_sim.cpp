//===- mtpc_sim.cpp - mtpc with the GPU simulator as a target -------------===//

#include "compiler/Codegen/CPU/CpuTarget.h"
#include "test/GpuSim/target/SimTarget.h"
#include "tools/mtpc/Tool.h"

using namespace mtp;

int main(int argc, char **argv) {
  compiler::TargetRegistry registry;
  registry.add(codegen::CpuTarget::kName, codegen::CpuTarget::create);
  registry.add(codegen::CudaTarget::kName, codegen::CudaTarget::create);
  registry.add(gpusim::SimTarget::kName, gpusim::SimTarget::create);
  return runMtpc(argc, argv, registry);
}
