//===- TokenizerTables.cpp - Finding a tokenizer's files ------------------===//

#include "compiler/Tokenizer/TokenizerTables.h"

#include "compiler/Tokenizer/TokenizerCode.h"
#include "compiler/Weights/LfsPointer.h"

#include <filesystem>
#include <fstream>

using namespace mtp;
namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kMaxFileBytes = uintmax_t(1) << 28;
constexpr const char *kTiktokenFile = "tiktoken.model";

bool isFile(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// The bytes of a regular file; a device or a pipe could be endless.
Result<std::string> readFile(const fs::path &path) {
  std::error_code error;
  uintmax_t size = isFile(path) ? fs::file_size(path, error) : 0;
  if (!isFile(path) || error)
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

Result<std::string> readConfigBeside(const fs::path &path) {
  fs::path config = path.parent_path() / "tokenizer_config.json";
  return isFile(config) ? readFile(config) : Result<std::string>(std::string());
}

Result<std::string> buildFromFile(const fs::path &path) {
  MTP_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
  MTP_ASSIGN_OR_RETURN(std::string config, readConfigBeside(path));
  if (path.filename() == kTiktokenFile) {
    MTP_ASSIGN_OR_RETURN(std::string code, findTokenizerCode(config));
    MTP_ASSIGN_OR_RETURN(code, readFile(path.parent_path() / code));
    return tablesFromTiktoken(bytes, config, code);
  }
  return path.extension() == ".json" ? tablesFromHuggingFace(bytes, config)
                                     : tablesFromSentencePiece(bytes, config);
}

Result<std::string> buildFromGpt2Files(const fs::path &encoder,
                                       const fs::path &merges) {
  MTP_ASSIGN_OR_RETURN(std::string encoderJson, readFile(encoder));
  MTP_ASSIGN_OR_RETURN(std::string vocabBpe, readFile(merges));
  return tablesFromGpt2(encoderJson, vocabBpe);
}

} // namespace

std::vector<std::string> mtp::findTokenizerFiles(const std::string &folder) {
  fs::path path(folder);
  for (const char *name : {"tokenizer.json", "tokenizer.model", kTiktokenFile})
    if (isFile(path / name))
      return {(path / name).string()};
  for (auto [encoder, merges] : {std::pair("encoder.json", "vocab.bpe"),
                                 std::pair("vocab.json", "merges.txt")})
    if (isFile(path / encoder) && isFile(path / merges))
      return {(path / encoder).string(), (path / merges).string()};
  return {};
}

Result<std::string> mtp::buildTokenizerTables(const std::string &pathString) {
  fs::path path(pathString);
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error))
      return notFound("expected a tokenizer at '" + pathString + "'");
    return buildFromFile(path);
  }
  std::vector<std::string> files = findTokenizerFiles(pathString);
  if (files.size() == 1)
    return buildFromFile(files[0]);
  if (files.size() == 2)
    return buildFromGpt2Files(files[0], files[1]);
  return notFound("expected tokenizer.json, tokenizer.model, tiktoken.model or "
                  "encoder.json with vocab.bpe in '" +
                  pathString + "'");
}
