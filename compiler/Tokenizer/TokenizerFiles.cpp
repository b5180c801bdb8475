//===- TokenizerFiles.cpp - Finding a tokenizer's files -------------------===//

#include "compiler/Tokenizer/TokenizerFiles.h"

#include "compiler/Tokenizer/GgufReader.h"
#include "compiler/Tokenizer/InputText.h"
#include "compiler/Tokenizer/TokenizerCode.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/core/PathKind.h"

using namespace mtp;
namespace fs = std::filesystem;

namespace {

constexpr const char *kTiktokenFile = "tiktoken.model";

Result<std::string> readConfigBeside(const fs::path &path) {
  fs::path config = path.parent_path() / "tokenizer_config.json";
  return isInputFile(config) ? readInputFile(config)
                             : Result<std::string>(std::string());
}

/// Reads the tokenizer of a GGUF file, which may be larger than memory.
Result<std::string> buildFromGguf(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  Result<GgufHeader> header = parseGguf(file.bytes());
  Result<std::string> tables =
      header ? tablesFromGguf(*header) : Result<std::string>(header.status());
  if (!tables)
    return tables.status().withContext(fs::path(path).filename().string());
  return tables;
}

Result<std::string> buildFromFile(const fs::path &path) {
  if (kindOf(path.string()) == PathKind::Gguf)
    return buildFromGguf(path.string());
  MTP_ASSIGN_OR_RETURN(std::string bytes, readInputFile(path));
  MTP_ASSIGN_OR_RETURN(std::string config, readConfigBeside(path));
  if (path.filename() == kTiktokenFile) {
    MTP_ASSIGN_OR_RETURN(std::string code, findTokenizerCode(config));
    MTP_ASSIGN_OR_RETURN(code, readInputFile(path.parent_path() / code));
    return tablesFromTiktoken(bytes, config, code);
  }
  return path.extension() == ".json" ? tablesFromHuggingFace(bytes, config)
                                     : tablesFromSentencePiece(bytes, config);
}

Result<std::string> buildFromGpt2Files(const fs::path &encoder,
                                       const fs::path &merges) {
  MTP_ASSIGN_OR_RETURN(std::string encoderJson, readInputFile(encoder));
  MTP_ASSIGN_OR_RETURN(std::string vocabBpe, readInputFile(merges));
  return tablesFromGpt2(encoderJson, vocabBpe);
}

} // namespace

std::vector<std::string> mtp::findTokenizerFiles(const std::string &folder) {
  fs::path path(folder);
  if (isInputFile(path))
    return {folder};
  for (const char *name : {"tokenizer.json", "tokenizer.model", kTiktokenFile})
    if (isInputFile(path / name))
      return {(path / name).string()};
  for (auto [encoder, merges] : {std::pair("encoder.json", "vocab.bpe"),
                                 std::pair("vocab.json", "merges.txt")})
    if (isInputFile(path / encoder) && isInputFile(path / merges))
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
