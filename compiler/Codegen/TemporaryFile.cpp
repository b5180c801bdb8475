//===- TemporaryFile.cpp - Files for tools that read only files -----------===//

#include "compiler/Codegen/TemporaryFile.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mtp::codegen;

static Error fileError(const char *what, std::error_code error) {
  return createStringError(errc::io_error,
                           Twine("cannot ") + what +
                               " a temporary file: " + error.message());
}

Expected<std::unique_ptr<TemporaryFile>>
TemporaryFile::create(StringRef prefix, StringRef suffix) {
  SmallString<128> path;
  int descriptor = -1;
  if (std::error_code error =
          sys::fs::createTemporaryFile(prefix, suffix, descriptor, path))
    return fileError("create", error);
  // A process that ends by Ctrl-C also removes the file.
  sys::RemoveFileOnSignal(path);
  std::unique_ptr<TemporaryFile> file(new TemporaryFile(path));
  if (std::error_code error =
          sys::Process::SafelyCloseFileDescriptor(descriptor))
    return fileError("close", error);
  return file;
}

Error TemporaryFile::write(StringRef bytes) {
  std::error_code error;
  raw_fd_ostream stream(name, error);
  if (!error) {
    stream << bytes;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  return error ? fileError("write", error) : Error::success();
}

Expected<std::unique_ptr<MemoryBuffer>> TemporaryFile::read() const {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      name, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fileError("read", file.getError());
  return std::move(*file);
}
