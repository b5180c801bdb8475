//===- Prompts.cpp - Prompts from flags and files -------------------------===//

#include "tools/mtp-run/Prompts.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"

#include <charconv>

using namespace mtp;

Result<std::unique_ptr<Tokenizer>> mtp::loadTokenizer(const Model &model) {
  if (model.tokenizer().empty())
    return std::unique_ptr<Tokenizer>();
  return Tokenizer::load(model.tokenizer());
}

static Result<std::vector<int32_t>> parseIds(std::string_view text) {
  std::vector<int32_t> ids;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest[0] == ',' || rest[0] == ' ') {
      rest.remove_prefix(1);
      continue;
    }
    int32_t id = 0;
    auto end = std::from_chars(rest.data(), rest.data() + rest.size(), id);
    if (end.ec != std::errc())
      return invalidArgument(
          strCat("expected token ids such as 1,2,3, got '", text, "'"));
    ids.push_back(id);
    rest.remove_prefix(size_t(end.ptr - rest.data()));
  }
  return ids;
}

static Result<std::vector<int32_t>> encode(std::string_view text,
                                           const RunOptions &options,
                                           const Model &model,
                                           const Tokenizer *tokenizer) {
  if (!tokenizer)
    return failedPrecondition("the artifact has no tokenizer; give --ids");
  MTP_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                       tokenizer->encode(text, {!options.noSpecial, false}));
  const GenerationInfo &generation = model.generation();
  bool wanted = generation.bos && generation.addBos && !options.noSpecial;
  if (wanted && (ids.empty() || ids[0] != *generation.bos))
    ids.insert(ids.begin(), *generation.bos);
  return ids;
}

Result<std::vector<std::vector<int32_t>>>
mtp::readPrompts(const RunOptions &options, const Model &model,
                 const Tokenizer *tokenizer) {
  std::vector<std::vector<int32_t>> prompts;
  for (const std::string &text : options.prompts) {
    auto ids = encode(text, options, model, tokenizer);
    if (!ids)
      return ids.status().withContext("--prompt");
    prompts.push_back(std::move(*ids));
  }
  for (const std::string &path : options.promptFiles) {
    auto file = MappedFile::open(path);
    if (!file)
      return file.status().withContext(strCat("--prompt-file: ", path));
    std::string_view text(reinterpret_cast<const char *>((*file)->data()),
                          (*file)->size());
    auto ids = encode(text, options, model, tokenizer);
    if (!ids)
      return ids.status().withContext(strCat("--prompt-file: ", path));
    prompts.push_back(std::move(*ids));
  }
  for (const std::string &list : options.ids) {
    auto ids = parseIds(list);
    if (!ids)
      return ids.status().withContext("--ids");
    prompts.push_back(std::move(*ids));
  }
  if (prompts.empty())
    return invalidArgument("expected --prompt, --prompt-file, --ids or "
                           "--function");
  return prompts;
}
