//===- DriverModule.cpp - Modules, functions and launches -----------------===//

#include "Driver.h"

#include "Module.h"
#include "Stream.h"
#include "test/GpuSim/machine/Simulator.h"
#include "test/GpuSim/threads/Launch.h"

using namespace mtp::gpusim;

MTP_API cuModuleLoadData(CUmodule *handle, const void *image) {
  Entry entry("cuModuleLoadData");
  if (entry.refusedOrFull())
    return entry.result();
  Module *module = nullptr;
  CUresult result = loadModule(image, module);
  if (result == CUDA_SUCCESS)
    *handle = reinterpret_cast<CUmodule>(module);
  return result;
}

MTP_API cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned count,
                           CUjit_option *, void **) {
  if (count)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuModuleLoadDataEx: options are not simulated, got %u",
                  count);
  return cuModuleLoadData(handle, image);
}

MTP_API cuModuleUnload(CUmodule handle) {
  Entry entry("cuModuleUnload");
  if (entry.refused())
    return entry.result();
  Module *module = modules().find(handle);
  if (!module)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuModuleUnload: expected a live module");
  if (CUresult failed = drainAll())
    return failed;
  return unloadModule(module);
}

MTP_API cuModuleGetFunction(CUfunction *function, CUmodule handle,
                            const char *name) {
  Entry entry("cuModuleGetFunction");
  if (entry.refused())
    return entry.result();
  Module *module = modules().find(handle);
  if (!module)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuModuleGetFunction: expected a live module");
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return refuse(CUDA_ERROR_NOT_FOUND,
                  "cuModuleGetFunction: the module has no kernel '%s'", name);
  *function = reinterpret_cast<CUfunction>(found->second);
  return CUDA_SUCCESS;
}

MTP_API cuModuleGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUmodule handle,
                          const char *name) {
  Entry entry("cuModuleGetGlobal");
  if (entry.refused())
    return entry.result();
  Module *module = modules().find(handle);
  if (!module)
    return refuse(CUDA_ERROR_INVALID_HANDLE,
                  "cuModuleGetGlobal: expected a live module");
  const ImageGlobal *global = findGlobal(*module, name);
  if (!global)
    return refuse(CUDA_ERROR_NOT_FOUND,
                  "cuModuleGetGlobal: the module has no variable '%s'", name);
  if (pointer)
    *pointer = reinterpret_cast<CUdeviceptr>(global->address);
  if (bytes)
    *bytes = global->bytes;
  return CUDA_SUCCESS;
}

static Function *activeFunction(const char *name, CUfunction handle) {
  Function *function = findFunction(handle);
  if (!function)
    refuse(CUDA_ERROR_INVALID_HANDLE, "%s: expected a live function", name);
  return function;
}

MTP_API cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                           int value) {
  Entry entry("cuFuncSetAttribute");
  if (entry.refused())
    return entry.result();
  Function *function = activeFunction("cuFuncSetAttribute", handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
      value >= -1 && value <= 100) {
    function->carveout = value;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuFuncSetAttribute: attribute %d with %d is not simulated",
                  int(attribute), value);
  if (value < 0 || value + function->kernel->staticShared > kMaxShared)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuFuncSetAttribute: expected at most %u bytes of shared "
                  "memory, static ones included, got %d",
                  kMaxShared, value);
  function->maxDynamic = value;
  return CUDA_SUCCESS;
}

MTP_API cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                           CUfunction handle) {
  Entry entry("cuFuncGetAttribute");
  if (entry.refused())
    return entry.result();
  Function *function = activeFunction("cuFuncGetAttribute", handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = function->kernel->staticShared;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->maxDynamic;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = function->carveout;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = function->kernel->maxThreads ? function->kernel->maxThreads : 1024;
    return CUDA_SUCCESS;
  default:
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "cuFuncGetAttribute: attribute %d is not simulated",
                  int(attribute));
  }
}

MTP_API cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset,
                           size_t *bytes) {
  Entry entry("cuFuncGetParamInfo");
  if (entry.refused())
    return entry.result();
  Function *function = activeFunction("cuFuncGetParamInfo", handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  const ImageKernel &kernel = *function->kernel;
  // No error message: callers learn the number of parameters in this way.
  if (index >= kernel.paramCount)
    return CUDA_ERROR_INVALID_VALUE;
  // Each parameter begins at a multiple of its size.
  size_t at = 0;
  for (size_t i = 0; i <= index; ++i) {
    size_t size = kernel.paramBytes[i];
    at = (at + size - 1) / size * size;
    *offset = at;
    at += size;
  }
  if (bytes)
    *bytes = kernel.paramBytes[index];
  return CUDA_SUCCESS;
}

MTP_API cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY,
                       unsigned gridZ, unsigned blockX, unsigned blockY,
                       unsigned blockZ, unsigned dynamicShared,
                       CUstream streamHandle, void **values, void **extra) {
  Entry entry("cuLaunchKernel");
  if (entry.refusedOrFull())
    return entry.result();
  Function *function = activeFunction("cuLaunchKernel", handle);
  Stream *stream = findStream(streamHandle);
  if (!function || !stream)
    return function ? refuse(CUDA_ERROR_INVALID_HANDLE,
                             "cuLaunchKernel: expected a live stream")
                    : CUDA_ERROR_INVALID_HANDLE;
  if (extra || (function->kernel->paramCount && !values))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "cuLaunchKernel: expected parameters as an array of "
                  "pointers, and no extra ones");
  LaunchShape shape{
      {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, dynamicShared};
  std::string wrong =
      checkShape(*function->kernel, shape, function->maxDynamic);
  if (!wrong.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, "%s", wrong.c_str());
  auto parameters = std::make_shared<Parameters>(*function->kernel, values);
  const ImageKernel &kernel = *function->kernel;
  return enqueue(*stream, {[&kernel, shape, parameters] {
    Launch launch(kernel, shape, *parameters, nullptr,
                  /*programmatic=*/false);
    return launch.finish() ? CUDA_SUCCESS : loseDevice(launch.fault());
  }});
}
