//===- Module.h - Images of kernels that were loaded ------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_MODULE_H
#define MTP_TEST_GPUSIM_DRIVER_MODULE_H

#include "Handles.h"
#include "test/GpuSim/target/SimAbi.h"
#include <cuda.h>
#include <map>
#include <string>

namespace mtp::gpusim {

struct Module;

struct Function {
  Module *module;
  const ImageKernel *kernel;
  /// Limit that cuFuncSetAttribute raises.
  uint32_t maxDynamic;
  /// Percentage of a processor's shared memory, or -1.
  int carveout = -1;
};

struct Module {
  void *library = nullptr;
  int file = -1;
  int device = 0;
  const Image *image = nullptr;
  std::map<std::string, Function *> functions;
};

Handles<Module> &modules();
Handles<Function> &functions();
/// Returns the current device's function of a handle, or null.
Function *findFunction(CUfunction handle);
/// Returns the variable of that name in the module's image, or null.
const ImageGlobal *findGlobal(const Module &module, std::string_view name);

/// Loads an image that `mtp_gpu_compile --chip=sim` made. `result` is null on
/// failure.
CUresult loadModule(const void *bytes, Module *&result);
CUresult unloadModule(Module *module);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_MODULE_H
