//===- ToolchainIdentity.cpp - Identity of LLVM and MLIR ------------------===//

#include "compiler/Codegen/Units/ToolchainIdentity.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"
#include <elf.h>
#include <link.h>

using namespace mtp::codegen;

namespace {
/// Build ids of the objects in the process.
struct BuildIds {
  std::string program;
  std::string libraries;
};
} // namespace

/// Finds the build id among the notes of a segment; empty if there is none.
static std::string findBuildId(llvm::ArrayRef<uint8_t> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    auto *header = reinterpret_cast<const ElfW(Nhdr) *>(notes.data());
    uint64_t name = sizeof(*header);
    uint64_t text = name + llvm::alignTo(header->n_namesz, 4);
    uint64_t end = text + llvm::alignTo(header->n_descsz, 4);
    if (end > notes.size())
      return "";
    if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
        std::equal(notes.begin() + name, notes.begin() + name + 4, "GNU"))
      return llvm::toHex(notes.slice(text, header->n_descsz));
    notes = notes.drop_front(end);
  }
  return "";
}

static int addObject(struct dl_phdr_info *info, size_t, void *to) {
  auto &ids = *static_cast<BuildIds *>(to);
  llvm::StringRef path = info->dlpi_name;
  bool isLibrary = path.contains("libLLVM") || path.contains("libMLIR");
  // The first object is the program, whose name is empty.
  if (!isLibrary && !path.empty())
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    auto *notes =
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's addresses
        reinterpret_cast<const uint8_t *>(info->dlpi_addr + header.p_vaddr);
    std::string id = findBuildId({notes, size_t(header.p_memsz)});
    (isLibrary ? ids.libraries : ids.program) += id;
  }
  return 0;
}

const std::string &mtp::codegen::toolchainIdentity() {
  static const std::string identity = [] {
    BuildIds ids;
    dl_iterate_phdr(addObject, &ids);
    return std::string("LLVM " LLVM_VERSION_STRING " ") +
           (ids.libraries.empty() ? ids.program : ids.libraries);
  }();
  return identity;
}
