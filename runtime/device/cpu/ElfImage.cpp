//===- ElfImage.cpp - Checks of kernel images -----------------------------===//

#include "runtime/device/cpu/ElfImage.h"
#include "runtime/core/Result.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <string_view>
#include <vector>

using namespace mtp;

namespace {

class ElfReader {
public:
  explicit ElfReader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  Status verify();

private:
  Status readHeader();
  Status readSegments();
  Status readDynamic();
  Result<uint64_t> symbolCount() const;
  Status checkSymbols();
  Status checkRelocations(uint64_t tag, uint64_t sizeTag);

  bool fits(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }
  /// Reads a `T` at an offset of the file; false if it is not inside the file.
  template <typename T>
  bool readAt(uint64_t offset, T &value) const {
    if (!fits(offset, sizeof(T)))
      return false;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return true;
  }
  /// Reads a `T` at an address of the loaded image.
  template <typename T>
  bool read(uint64_t address, T &value) const {
    for (const Elf64_Phdr &load : loads)
      if (address >= load.p_vaddr && load.p_filesz >= sizeof(T) &&
          address - load.p_vaddr <= load.p_filesz - sizeof(T))
        return readAt(load.p_offset + (address - load.p_vaddr), value);
    return false;
  }
  /// Whether [address, address + size) is in a segment with these flags.
  bool isLoaded(uint64_t address, uint64_t size, uint32_t flags) const {
    return std::any_of(loads.begin(), loads.end(), [&](const Elf64_Phdr &p) {
      return (p.p_flags & flags) == flags && address >= p.p_vaddr &&
             size <= p.p_memsz && address - p.p_vaddr <= p.p_memsz - size;
    });
  }
  uint64_t dynamic(uint64_t tag) const {
    auto found = dynamics.find(tag);
    return found == dynamics.end() ? 0 : found->second;
  }
  std::string_view nameAt(uint64_t offset) const;

  std::span<const uint8_t> bytes;
  Elf64_Ehdr header;
  std::vector<Elf64_Phdr> loads;
  Elf64_Phdr dynamicSegment = {};
  std::map<uint64_t, uint64_t> dynamics;
  uint64_t symbols = 0;
};

} // namespace

Status ElfReader::readHeader() {
  if (!readAt(0, header))
    return dataLoss(strCat("expected an ELF header of ", sizeof(header),
                           " bytes, got ", bytes.size()));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return dataLoss("expected a 64-bit ELF shared object");
#if defined(__x86_64__)
  if (header.e_machine != EM_X86_64)
    return failedPrecondition(
        strCat("expected an ELF for x86_64, got machine ", header.e_machine));
#endif
  return okStatus();
}

Status ElfReader::readSegments() {
  bool hasDynamic = false;
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phentsize != sizeof(segment) ||
        header.e_phoff > bytes.size() ||
        !readAt(header.e_phoff + i * sizeof(segment), segment) ||
        !fits(segment.p_offset, segment.p_filesz))
      return dataLoss(strCat("segment ", i, " is not in the file"));
    if (segment.p_type == PT_INTERP || segment.p_type == PT_TLS)
      return dataLoss(strCat("expected no segment of type ", segment.p_type));
    bool isMemory = segment.p_type == PT_LOAD || segment.p_type == PT_GNU_STACK;
    if (isMemory && (segment.p_flags & PF_W) && (segment.p_flags & PF_X))
      return dataLoss("expected no memory that can be written and run");
    if (segment.p_type == PT_LOAD) {
      if (segment.p_memsz < segment.p_filesz ||
          segment.p_memsz > uint64_t(1) << 32 ||
          segment.p_vaddr > uint64_t(1) << 40)
        return dataLoss(strCat("segment ", i, " has no size in memory"));
      if (!loads.empty() &&
          segment.p_vaddr < loads.back().p_vaddr + loads.back().p_memsz)
        return dataLoss(strCat("segment ", i, " lies over the one before"));
      loads.push_back(segment);
    }
    if (segment.p_type == PT_DYNAMIC) {
      if (hasDynamic)
        return dataLoss("expected one dynamic section, got two");
      hasDynamic = true;
      dynamicSegment = segment;
    }
  }
  if (!hasDynamic)
    return dataLoss("expected a dynamic section");
  return okStatus();
}

/// Whether an entry only helps to find symbols and relocations.
static bool isHarmless(uint64_t tag) {
  constexpr uint64_t kTags[] = {
      DT_HASH,   DT_GNU_HASH, DT_STRTAB,   DT_STRSZ,   DT_SYMTAB,
      DT_SYMENT, DT_RELA,     DT_RELASZ,   DT_RELAENT, DT_RELACOUNT,
      DT_JMPREL, DT_PLTREL,   DT_PLTRELSZ, DT_PLTGOT,  DT_BIND_NOW,
      DT_FLAGS,  DT_FLAGS_1,  DT_SONAME};
  return std::find(std::begin(kTags), std::end(kTags), tag) != std::end(kTags);
}

Status ElfReader::readDynamic() {
  // The linker reads the table at its loaded address.
  for (uint64_t at = dynamicSegment.p_vaddr;; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (!read(at, entry))
      return dataLoss("the dynamic section does not end in the file");
    if (entry.d_tag == DT_NULL)
      break;
    uint64_t tag = uint64_t(entry.d_tag);
    if (tag == DT_NEEDED)
      return dataLoss("expected an image that needs no other library");
    if (tag == DT_INIT || tag == DT_INIT_ARRAY || tag == DT_PREINIT_ARRAY ||
        tag == DT_FINI || tag == DT_FINI_ARRAY)
      return dataLoss("expected an image without code that runs when it is "
                      "loaded or unloaded");
    if (!isHarmless(tag))
      return dataLoss(strCat("unexpected dynamic entry ", tag));
    if (!dynamics.emplace(tag, entry.d_un.d_val).second)
      return dataLoss(strCat("two dynamic entries ", tag));
  }
  if (dynamic(DT_FLAGS) & DF_TEXTREL)
    return dataLoss("expected code that needs no patching");
  if (dynamic(DT_SYMENT) != sizeof(Elf64_Sym))
    return dataLoss("expected a table of symbols");
  return okStatus();
}

/// Returns the number of symbols of the table. With a GNU hash table they end
/// at the end of its longest chain.
Result<uint64_t> ElfReader::symbolCount() const {
  uint32_t head[4], value;
  uint64_t table = dynamic(DT_GNU_HASH);
  if (!table || !read(table, head))
    return dataLoss("expected a GNU hash table of symbols");
  uint64_t buckets = table + sizeof(head) + uint64_t(head[2]) * 8;
  uint64_t chains = buckets + uint64_t(head[0]) * 4;
  uint64_t last = 0;
  for (uint64_t i = 0; i < head[0]; ++i) {
    if (!read(buckets + i * 4, value))
      return dataLoss("the hash table of symbols is not in the file");
    last = std::max<uint64_t>(last, value);
  }
  if (last < head[1])
    return uint64_t(head[1]);
  for (;; ++last) {
    if (!read(chains + (last - head[1]) * 4, value))
      return dataLoss("the hash table of symbols is not in the file");
    if (value & 1)
      return last + 1;
  }
}

/// Returns a name of the string table, empty if it does not end inside the
/// table.
std::string_view ElfReader::nameAt(uint64_t offset) const {
  uint64_t size = dynamic(DT_STRSZ);
  for (const Elf64_Phdr &load : loads) {
    uint64_t table = dynamic(DT_STRTAB);
    if (table < load.p_vaddr || table - load.p_vaddr > load.p_filesz ||
        size > load.p_filesz - (table - load.p_vaddr) || offset >= size)
      continue;
    const uint8_t *text =
        bytes.data() + load.p_offset + (table - load.p_vaddr) + offset;
    const void *end = std::memchr(text, 0, size - offset);
    if (end)
      return {reinterpret_cast<const char *>(text),
              size_t(static_cast<const uint8_t *>(end) - text)};
  }
  return {};
}

Status ElfReader::checkSymbols() {
  MTP_ASSIGN_OR_RETURN(symbols, symbolCount());
  for (uint64_t i = 1; i < symbols; ++i) {
    Elf64_Sym symbol;
    if (!read(dynamic(DT_SYMTAB) + i * sizeof(symbol), symbol))
      return dataLoss(strCat("symbol ", i, " is not in the file"));
    std::string_view name = nameAt(symbol.st_name);
    uint32_t type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_GNU_IFUNC || type == STT_TLS)
      return dataLoss(strCat("expected functions and data, '", name,
                             "' is of type ", type));
    if (symbol.st_shndx == SHN_UNDEF) {
      if (name != "memcpy" && name != "memmove" && name != "memset")
        return dataLoss(strCat("expected no imports but memcpy, memmove and "
                               "memset, got '",
                               name, "'"));
    } else if (type == STT_FUNC && !isLoaded(symbol.st_value, 1, PF_X)) {
      return dataLoss(strCat("function '", name, "' is not in the code"));
    }
  }
  return okStatus();
}

Status ElfReader::checkRelocations(uint64_t tag, uint64_t sizeTag) {
  uint64_t count = dynamic(sizeTag) / sizeof(Elf64_Rela);
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Rela entry;
    if (!read(dynamic(tag) + i * sizeof(entry), entry))
      return dataLoss("the relocations are not in the file");
    uint64_t type = ELF64_R_TYPE(entry.r_info);
    bool isPlain = type == R_X86_64_RELATIVE || type == R_X86_64_64 ||
                   type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT;
    if (!isPlain || ELF64_R_SYM(entry.r_info) >= std::max<uint64_t>(symbols, 1))
      return dataLoss(
          strCat("relocation ", i, " is of type ", type, " or of no symbol"));
    if (!isLoaded(entry.r_offset, 8, PF_W))
      return dataLoss(strCat("relocation ", i, " is outside the image's data"));
  }
  return okStatus();
}

Status ElfReader::verify() {
  MTP_RETURN_IF_ERROR(readHeader());
  MTP_RETURN_IF_ERROR(readSegments());
  MTP_RETURN_IF_ERROR(readDynamic());
  MTP_RETURN_IF_ERROR(checkSymbols());
  MTP_RETURN_IF_ERROR(checkRelocations(DT_RELA, DT_RELASZ));
  return checkRelocations(DT_JMPREL, DT_PLTRELSZ);
}

Status mtp::verifyElf(std::span<const uint8_t> elf) {
  return ElfReader(elf).verify().withContext("kernel image");
}
