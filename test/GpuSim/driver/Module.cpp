//===- Module.cpp - Images of kernels that were loaded --------------------===//

#include "Module.h"

#include "test/GpuSim/machine/Report.h"
#include "test/GpuSim/machine/Simulator.h"
#include "test/GpuSim/threads/Calls.h"
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

using namespace mtp::gpusim;

Handles<Module> &mtp::gpusim::modules() {
  static auto *all = new Handles<Module>;
  return *all;
}

Handles<Function> &mtp::gpusim::functions() {
  static auto *all = new Handles<Function>;
  return *all;
}

Function *mtp::gpusim::findFunction(CUfunction handle) {
  Function *function = functions().find(handle);
  return function && function->module->device == simulator().memory.device()
             ? function
             : nullptr;
}

/// Returns the size of an ELF image, which the driver's call does not get: its
/// section headers are at the end. Returns 0 if it has no code for this
/// machine.
static size_t imageBytes(const void *bytes) {
  Elf64_Ehdr header;
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return 0;
  std::memcpy(&header, bytes, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64)
    return 0;
  return header.e_shoff + size_t(header.e_shentsize) * header.e_shnum;
}

/// Loads bytes as a shared library, through a file in memory. The file stays
/// open as long as the library. Its number is part of the library's name, and
/// the loader would take an equal name for the library that it already has.
static void *openImage(const void *bytes, size_t count, int &file) {
  file = memfd_create("gpusim", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes, count) != ssize_t(count))
    return nullptr;
  std::string path = "/proc/self/fd/" + std::to_string(file);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

static void closeImage(void *library, int file) {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

/// Fills the slots of a unit. Returns false if it needs a missing function.
static bool resolveImports(const ImageUnit &unit) {
  for (uint64_t i = 0; i < unit.importCount; ++i) {
    const ImageImport &import = unit.imports[i];
    *import.slot = findCall(import.name);
    if (!*import.slot) {
      refuse(CUDA_ERROR_INVALID_IMAGE,
             "expected an image that calls what this simulator has, got a "
             "call of '%s'",
             import.name);
      return false;
    }
  }
  return true;
}

static CUresult checkUnit(const ImageUnit &unit) {
  for (uint64_t i = 0; i < unit.kernelCount; ++i)
    if (unit.kernels[i].staticShared > kDefaultDynamic)
      return refuse(CUDA_ERROR_INVALID_IMAGE,
                    "kernel '%s': expected at most %u bytes of static shared "
                    "memory, got %llu",
                    unit.kernels[i].name, kDefaultDynamic,
                    (unsigned long long)unit.kernels[i].staticShared);
  return resolveImports(unit) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static std::span<const ImageUnit *const> unitsOf(const Image &image) {
  return {image.begin, image.end};
}

static CUresult checkImage(const Image *image) {
  if (!image || std::memcmp(image->magic, kImageMagic, sizeof kImageMagic) != 0)
    return refuse(CUDA_ERROR_INVALID_IMAGE,
                  "expected an image for gpu-sim, got another shared library");
  if (image->version != kImageVersion)
    return refuse(CUDA_ERROR_INVALID_IMAGE,
                  "expected an image of version %u, got version %llu",
                  kImageVersion, (unsigned long long)image->version);
  for (const ImageUnit *unit : unitsOf(*image))
    if (CUresult failed = checkUnit(*unit))
      return failed;
  return CUDA_SUCCESS;
}

static uintptr_t addressOf(const ImageGlobal &global) {
  return reinterpret_cast<uintptr_t>(global.address);
}

/// Chip whose instructions kernels may use.
static constexpr int64_t kLeastChip = 90;

/// Registers the kernels and variables of a unit.
static void addUnit(const ImageUnit &unit, Module &module) {
  for (uint64_t i = 0; i < unit.globalCount; ++i)
    simulator().memory.add(addressOf(unit.globals[i]), unit.globals[i].bytes,
                           unit.globals[i].isConstant ? MemoryKind::Constant
                                                      : MemoryKind::Global);
  for (uint64_t i = 0; i < unit.kernelCount; ++i)
    module.functions[unit.kernels[i].name] =
        functions().add(std::make_unique<Function>(
            Function{&module, &unit.kernels[i], kDefaultDynamic}));
}

CUresult mtp::gpusim::loadModule(const void *bytes, Module *&result) {
  if (simulator().injected.chip < kLeastChip)
    return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                  "expected a GPU of sm_%d or later for an image, got sm_%d",
                  int(kLeastChip), int(simulator().injected.chip));
  size_t count = imageBytes(bytes);
  if (!count)
    return refuse(CUDA_ERROR_INVALID_IMAGE,
                  "expected an image for gpu-sim, got a cubin, PTX or "
                  "something else");
  int file = -1;
  void *library = openImage(bytes, count, file);
  if (!library) {
    const char *why = dlerror();
    closeImage(nullptr, file);
    return refuse(CUDA_ERROR_INVALID_IMAGE, "cannot load the image: %s",
                  why ? why : "no file in memory");
  }
  auto *image = static_cast<const Image *>(dlsym(library, kImageSymbol));
  if (CUresult failed = checkImage(image)) {
    closeImage(library, file);
    return failed;
  }
  auto module = std::make_unique<Module>();
  module->library = library;
  module->file = file;
  module->device = simulator().memory.device();
  module->image = image;
  for (const ImageUnit *unit : unitsOf(*image))
    addUnit(*unit, *module);
  result = modules().add(std::move(module));
  return CUDA_SUCCESS;
}

const ImageGlobal *mtp::gpusim::findGlobal(const Module &module,
                                           std::string_view name) {
  for (const ImageUnit *unit : unitsOf(*module.image))
    for (uint64_t i = 0; i < unit->globalCount; ++i)
      if (unit->globals[i].name == name)
        return &unit->globals[i];
  return nullptr;
}

CUresult mtp::gpusim::unloadModule(Module *module) {
  for (const ImageUnit *unit : unitsOf(*module->image))
    for (uint64_t i = 0; i < unit->globalCount; ++i)
      simulator().memory.remove(addressOf(unit->globals[i]));
  for (auto &[name, function] : module->functions)
    functions().remove(function);
  closeImage(module->library, module->file);
  modules().remove(module);
  return CUDA_SUCCESS;
}
