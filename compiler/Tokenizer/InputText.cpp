//===- InputText.cpp - A tokenizer's files as text ------------------------===//

#include "compiler/Tokenizer/InputText.h"

#include "compiler/Weights/LfsPointer.h"

#include <fstream>

using namespace mtp;
namespace fs = std::filesystem;

static constexpr uintmax_t kMaxFileBytes = uintmax_t(1) << 28;

bool mtp::isInputFile(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

Result<std::string> mtp::readInputFile(const fs::path &path) {
  std::error_code error;
  uintmax_t size = isInputFile(path) ? fs::file_size(path, error) : 0;
  if (!isInputFile(path) || error)
    return unavailable("expected a readable file at '" + path.string() + "'");
  if (size > kMaxFileBytes)
    return invalidArgument(path.filename().string() + ": expected at most " +
                           std::to_string(kMaxFileBytes) + " bytes, got " +
                           std::to_string(size));
  std::string bytes(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(size)))
    return unavailable("expected " + std::to_string(size) + " bytes in '" +
                       path.string() + "'");
  MTP_RETURN_IF_ERROR(checkNotLfsPointer(bytes, path.string()));
  return bytes;
}
