//===- Module.cpp - Images of kernels that were loaded --------------------===//

#include "Module.h"

#include "Calls.h"
#include "Report.h"
#include "Simulator.h"
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
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

/// The bytes of an ELF image, which the driver's call does not get: its
/// section headers end it. 0 where it is no image of this machine's code.
static size_t imageBytes(const void *bytes) {
  Elf64_Ehdr header;
  if (std::memcmp(bytes, ELFMAG, SELFMAG))
    return 0;
  std::memcpy(&header, bytes, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64)
    return 0;
  return header.e_shoff + size_t(header.e_shentsize) * header.e_shnum;
}

/// Loads bytes as a shared library, by way of a file in memory. The file stays
/// open as long as the library: its number is the library's name, and the
/// loader takes a name that it knows for the library that it has.
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

/// Fills the image's slots; false where it asks for what is not here.
static bool resolveImports(const Image &image) {
  for (uint64_t i = 0; i < image.importCount; ++i) {
    const ImageImport &import = image.imports[i];
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

static CUresult checkImage(const Image *image) {
  if (!image || std::memcmp(image->magic, kImageMagic, sizeof kImageMagic) != 0)
    return refuse(CUDA_ERROR_INVALID_IMAGE,
                  "expected an image for gpu-sim, got another shared library");
  if (image->version != kImageVersion)
    return refuse(CUDA_ERROR_INVALID_IMAGE,
                  "expected an image of version %u, got version %llu",
                  kImageVersion, (unsigned long long)image->version);
  for (uint64_t i = 0; i < image->kernelCount; ++i)
    if (image->kernels[i].staticShared > kDefaultDynamic)
      return refuse(CUDA_ERROR_INVALID_IMAGE,
                    "kernel '%s': expected at most %u bytes of static shared "
                    "memory, got %llu",
                    image->kernels[i].name, kDefaultDynamic,
                    (unsigned long long)image->kernels[i].staticShared);
  return resolveImports(*image) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static uintptr_t addressOf(const ImageGlobal &global) {
  return reinterpret_cast<uintptr_t>(global.address);
}

/// The chip whose instructions kernels may use.
static constexpr int64_t kLeastChip = 90;

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
  for (uint64_t i = 0; i < image->globalCount; ++i)
    simulator().memory.add(addressOf(image->globals[i]),
                           image->globals[i].bytes,
                           image->globals[i].isConstant ? MemoryKind::Constant
                                                        : MemoryKind::Global);
  for (uint64_t i = 0; i < image->kernelCount; ++i)
    module->functions[image->kernels[i].name] =
        functions().add(std::make_unique<Function>(
            Function{module.get(), &image->kernels[i], kDefaultDynamic}));
  result = modules().add(std::move(module));
  return CUDA_SUCCESS;
}

CUresult mtp::gpusim::unloadModule(Module *module) {
  for (uint64_t i = 0; i < module->image->globalCount; ++i)
    simulator().memory.remove(addressOf(module->image->globals[i]));
  for (auto &[name, function] : module->functions)
    functions().remove(function);
  closeImage(module->library, module->file);
  modules().remove(module);
  return CUDA_SUCCESS;
}
