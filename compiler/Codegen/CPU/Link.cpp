//===- Link.cpp - Links an object into a shared image ---------------------===//
//
// lld works on files, so the object and the image pass through temporary
// files with unpredictable names, created exclusively and removed on every
// path.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/Link.h"

#include "compiler/Codegen/TemporaryFile.h"
#include "lld/Common/Driver.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mtp::codegen;
using namespace llvm;

static Error linkError(const Twine &message) {
  return createStringError(errc::io_error, message);
}

static Error runLinker(StringRef input, StringRef output) {
  // lld keeps its state in globals.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);

  std::string inputPath = input.str(), outputPath = output.str();
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "--hash-style=gnu",
                             "-z",
                             "noexecstack",
                             "-z",
                             "relro",
                             "-z",
                             "now",
                             "--build-id=none",
                             "--strip-all",
                             "--threads=1",
                             "-o",
                             outputPath.c_str(),
                             inputPath.c_str()};
  std::string log;
  raw_string_ostream stream(log);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0 || !result.canRunAgain)
    return linkError("lld failed: " + StringRef(log).trim());
  return Error::success();
}

/// Checks that the image's undefined symbols are all allowed.
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

Expected<std::vector<char>> mtp::codegen::linkSharedImage(StringRef object) {
  Expected<SmallString<128>> input = makeTemporary("mtpc-kernels", "o");
  if (!input)
    return input.takeError();
  FileRemover removeInput(*input);
  Expected<SmallString<128>> output = makeTemporary("mtpc-kernels", "so");
  if (!output)
    return output.takeError();
  FileRemover removeOutput(*output);

  std::error_code error;
  raw_fd_ostream stream(*input, error);
  if (error)
    return linkError("cannot write a temporary file: " + error.message());
  stream << object;
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    return linkError("cannot write a temporary file: " + error.message());
  }

  if (Error failed = runLinker(*input, *output))
    return failed;
  ErrorOr<std::unique_ptr<MemoryBuffer>> image =
      MemoryBuffer::getFile(*output, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!image)
    return linkError("cannot read the linked image: " +
                     image.getError().message());
  if (Error failed = checkUndefined((*image)->getMemBufferRef()))
    return failed;
  return std::vector<char>((*image)->getBufferStart(),
                           (*image)->getBufferEnd());
}
