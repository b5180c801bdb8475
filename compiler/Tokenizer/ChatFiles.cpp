//===- ChatFiles.cpp - A model's chat templates ---------------------------===//

#include "compiler/Tokenizer/ChatFiles.h"

#include "compiler/Tokenizer/GgufReader.h"
#include "compiler/Tokenizer/InputText.h"
#include "compiler/Tokenizer/Json.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/core/PathKind.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/ChatLimits.h"

#include <algorithm>

using namespace mtp;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

constexpr const char *kConfigFile = "tokenizer_config.json";

/// The special tokens that transformers passes to templates.
constexpr const char *kTokens[] = {"bos_token", "eos_token", "unk_token",
                                   "sep_token", "pad_token", "cls_token",
                                   "mask_token"};

Result<std::optional<JsonDocument>> openJson(const fs::path &path) {
  if (!isInputFile(path))
    return std::optional<JsonDocument>();
  MTP_ASSIGN_OR_RETURN(std::string text, readInputFile(path));
  MTP_ASSIGN_OR_RETURN(JsonDocument document,
                       JsonDocument::parse(path.filename().string(), text));
  return std::optional<JsonDocument>(std::move(document));
}

/// Adds templates from a text, or from a list of objects with a name and a
/// text.
Status addTemplates(const JsonValue &value, Texts &templates) {
  if (value.isString()) {
    MTP_ASSIGN_OR_RETURN(std::string_view text, value.asString());
    templates.emplace_back("default", text);
    return okStatus();
  }
  if (!value.isArray())
    return value.expected("a text or a list of named ones");
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> items, value.asArray());
  for (const JsonValue &item : items) {
    MTP_ASSIGN_OR_RETURN(JsonValue nameValue, item.member("name"));
    MTP_ASSIGN_OR_RETURN(std::string_view name, nameValue.asString());
    MTP_ASSIGN_OR_RETURN(JsonValue textValue, item.member("template"));
    MTP_ASSIGN_OR_RETURN(std::string_view text, textValue.asString());
    templates.emplace_back(name, text);
  }
  return okStatus();
}

/// Adds templates from their own files, sorted by name.
Status readTemplateFiles(const fs::path &folder, Texts &templates) {
  if (isInputFile(folder / "chat_template.jinja")) {
    MTP_ASSIGN_OR_RETURN(std::string text,
                         readInputFile(folder / "chat_template.jinja"));
    templates.emplace_back("default", std::move(text));
  }
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator it(folder / "additional_chat_templates", error), end;
  for (; !error && it != end; it.increment(error))
    if (it->path().extension() == ".jinja" && isInputFile(it->path()))
      files.push_back(it->path());
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files) {
    MTP_ASSIGN_OR_RETURN(std::string text, readInputFile(file));
    templates.emplace_back(file.stem().string(), std::move(text));
  }
  return okStatus();
}

Status readTemplates(const fs::path &folder,
                     const std::optional<JsonDocument> &config,
                     Texts &templates) {
  MTP_RETURN_IF_ERROR(readTemplateFiles(folder, templates));
  if (!templates.empty())
    return okStatus();
  if (config)
    if (auto value = config->root().find("chat_template"))
      return addTemplates(*value, templates);
  MTP_ASSIGN_OR_RETURN(auto document, openJson(folder / "chat_template.json"));
  if (document)
    if (auto value = document->root().find("chat_template"))
      return addTemplates(*value, templates);
  return okStatus();
}

/// Reads a token: its text, or an object with the text as "content".
Status readToken(const JsonValue &root, const char *key, Texts &tokens) {
  std::optional<JsonValue> value = root.find(key);
  if (!value)
    return okStatus();
  if (value->isObject()) {
    // A serialised AddedToken.
    MTP_ASSIGN_OR_RETURN(value, value->member("content"));
  }
  MTP_ASSIGN_OR_RETURN(std::string_view text, value->asString());
  tokens.emplace_back(key, text);
  return okStatus();
}

Status readTokens(const fs::path &folder,
                  const std::optional<JsonDocument> &config, Texts &tokens) {
  MTP_ASSIGN_OR_RETURN(auto map, openJson(folder / "special_tokens_map.json"));
  for (const char *key : kTokens) {
    size_t before = tokens.size();
    if (config)
      MTP_RETURN_IF_ERROR(readToken(config->root(), key, tokens));
    if (map && tokens.size() == before)
      MTP_RETURN_IF_ERROR(readToken(map->root(), key, tokens));
  }
  return okStatus();
}

Status checkSizes(const ChatSource &source) {
  if (source.templates.size() > kMostChatTemplates)
    return invalidArgument(strCat("expected at most ", kMostChatTemplates,
                                  " chat templates, got ",
                                  source.templates.size()));
  Texts sorted = source.templates;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto &[name, text] = sorted[i];
    bool isVisible = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return c > ' ' && c != 0x7f;
    });
    if (name.empty() || name.size() > kMostChatTokenBytes || !isVisible)
      return invalidArgument(strCat(
          "expected a visible name of a chat template, got '", name, "'"));
    if (i > 0 && name == sorted[i - 1].first)
      return invalidArgument(
          strCat("expected one chat template '", name, "', got two"));
    if (text.empty() || text.size() > kMostChatTemplateBytes)
      return invalidArgument(strCat("expected chat template '", name,
                                    "' of 1 to ", kMostChatTemplateBytes,
                                    " bytes, got ", text.size()));
  }
  for (const auto &[name, text] : source.tokens)
    if (text.size() > kMostChatTokenBytes)
      return invalidArgument(strCat("expected ", name, " of at most ",
                                    kMostChatTokenBytes, " bytes, got ",
                                    text.size()));
  return okStatus();
}

Result<ChatSource> readGguf(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  MTP_ASSIGN_OR_RETURN(GgufHeader header, parseGguf(file.bytes()));
  MTP_ASSIGN_OR_RETURN(ChatSource source, chatFromGguf(header));
  MTP_RETURN_IF_ERROR(checkSizes(source));
  return source;
}

} // namespace

Result<ChatSource> mtp::readChatFiles(const std::string &tokenizer) {
  if (kindOf(tokenizer) == PathKind::Gguf)
    return readGguf(tokenizer);
  fs::path folder(tokenizer);
  std::error_code error;
  if (!fs::is_directory(folder, error))
    folder = folder.parent_path();
  MTP_ASSIGN_OR_RETURN(auto config, openJson(folder / kConfigFile));
  ChatSource source;
  MTP_RETURN_IF_ERROR(readTemplates(folder, config, source.templates));
  if (source.templates.empty())
    return source;
  MTP_RETURN_IF_ERROR(readTokens(folder, config, source.tokens));
  MTP_RETURN_IF_ERROR(checkSizes(source));
  return source;
}
