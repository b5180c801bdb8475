//===- Link.cpp - Links objects into a shared image -----------------------===//
//
// lld works on files. The objects (as one archive) and the image pass through
// temporary files.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/target/Link.h"

#include "compiler/Codegen/TemporaryFile.h"
#include "lld/Common/Driver.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mtp::codegen;
using namespace llvm;

static Error linkError(const Twine &message) {
  return createStringError(errc::io_error, message);
}

static Error runLinker(StringRef input, StringRef output,
                       ArrayRef<ExportedName> names) {
  // lld keeps its state in globals.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);

  std::vector<std::string> words = {"ld.lld",
                                    "-shared",
                                    "--hash-style=gnu",
                                    "-z",
                                    "relro",
                                    "-z",
                                    "noexecstack",
                                    "-z",
                                    "now",
                                    "--build-id=none",
                                    "--strip-all",
                                    "--threads=1"};
  for (const ExportedName &exported : names)
    words.push_back("--defsym=" + exported.name + "=" + exported.symbol);
  words.insert(words.end(),
               {"-o", output.str(), "--whole-archive", input.str()});
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  std::string log;
  raw_string_ostream stream(log);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0 || !result.canRunAgain)
    return linkError("lld failed: " + StringRef(log).trim());
  return Error::success();
}

/// Reports an error if the image has an undefined symbol that is not allowed.
static Error checkUndefined(MemoryBufferRef image) {
  Expected<std::unique_ptr<object::ObjectFile>> file =
      object::ObjectFile::createELFObjectFile(image);
  if (!file)
    return file.takeError();
  auto *elf = cast<object::ELFObjectFileBase>(file->get());
  for (const object::ELFSymbolRef &symbol : elf->getDynamicSymbolIterators()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & object::SymbolRef::SF_Undefined))
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!name->empty() && *name != "memcpy" && *name != "memset" &&
        *name != "memmove")
      return linkError("expected no undefined symbols in the kernel image, "
                       "got '" +
                       *name + "'");
  }
  return Error::success();
}

/// Creates an archive of `objects`.
static Expected<std::unique_ptr<MemoryBuffer>>
archiveOf(ArrayRef<StringRef> objects) {
  std::vector<NewArchiveMember> members;
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back(std::to_string(i) + ".o");
  for (auto [object, name] : zip_equal(objects, names)) {
    MemoryBufferRef member(object, name);
    // The linker ends the process if a member is not an object.
    if (auto file = object::ObjectFile::createELFObjectFile(member); !file)
      return linkError("expected an ELF object of kernels: " +
                       toString(file.takeError()));
    members.emplace_back(member);
  }
  return writeArchiveToBuffer(members, SymtabWritingMode::NoSymtab,
                              object::Archive::K_GNU, /*Deterministic=*/true,
                              /*Thin=*/false);
}

Expected<std::vector<char>>
mtp::codegen::linkSharedImage(ArrayRef<StringRef> objects,
                              ArrayRef<ExportedName> names) {
  auto archive = archiveOf(objects);
  if (!archive)
    return archive.takeError();
  auto input = TemporaryFile::create("mtpc-kernels", "a");
  if (!input)
    return input.takeError();
  auto output = TemporaryFile::create("mtpc-kernels", "so");
  if (!output)
    return output.takeError();
  if (Error failed = (*input)->write((*archive)->getBuffer()))
    return std::move(failed);
  if (Error failed = runLinker((*input)->path(), (*output)->path(), names))
    return std::move(failed);
  auto image = (*output)->read();
  if (!image)
    return image.takeError();
  if (Error failed = checkUndefined((*image)->getMemBufferRef()))
    return std::move(failed);
  return std::vector<char>((*image)->getBufferStart(),
                           (*image)->getBufferEnd());
}
