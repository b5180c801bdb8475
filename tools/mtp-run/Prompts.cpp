//===- Prompts.cpp - Prompts from flags and files -------------------------===//

#include "tools/mtp-run/Prompts.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace mtp;

/// Parses numbers separated by a comma, blanks or both.
static Result<std::vector<int32_t>> parseIds(std::string_view text) {
  std::vector<int32_t> ids;
  std::string_view rest = text;
  auto skip = [&rest](char c) {
    bool isThere = !rest.empty() && rest[0] == c;
    if (isThere)
      rest.remove_prefix(1);
    return isThere;
  };
  auto skipBlanks = [&] {
    while (skip(' ')) {
    }
  };
  skipBlanks();
  for (bool more = !rest.empty(); more;) {
    int32_t id = 0;
    auto end = std::from_chars(rest.data(), rest.data() + rest.size(), id);
    if (end.ec != std::errc())
      return invalidArgument(
          strCat("expected token ids such as 1,2,3, got '", text, "'"));
    ids.push_back(id);
    rest.remove_prefix(size_t(end.ptr - rest.data()));
    skipBlanks();
    bool comma = skip(',');
    skipBlanks();
    more = comma || !rest.empty();
  }
  return ids;
}

static Result<std::vector<int32_t>> encode(std::string_view text,
                                           const RunOptions &options,
                                           const Model &model,
                                           const Tokenizer *tokenizer) {
  if (!tokenizer)
    return failedPrecondition("the artifact has no tokenizer; give --ids");
  return promptIds(text, {!options.noStartTokens, options.special},
                   model.generation(), *tokenizer);
}

static Result<std::string> readStandardInput() {
  std::string text;
  std::vector<char> block(1 << 16);
  while (text.size() <= Tokenizer::kMaxTextBytes) {
    ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return invalidArgument(
          strCat("cannot read standard input: ", std::strerror(errno)));
    if (count == 0)
      break;
    text.append(block.data(), size_t(count));
  }
  return text;
}

static Result<std::string> readFile(const std::string &path) {
  if (path == "-")
    return readStandardInput();
  MTP_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  return std::string(reinterpret_cast<const char *>(file->data()),
                     file->size());
}

Result<std::vector<Prompt>> mtp::readPrompts(const RunOptions &options,
                                             const Model &model,
                                             const Tokenizer *tokenizer) {
  std::vector<Prompt> prompts;
  auto add = [&](std::string source, Result<std::vector<int32_t>> ids) {
    if (!ids)
      return ids.status().withContext(source);
    prompts.push_back({std::move(source), std::move(*ids)});
    return okStatus();
  };
  for (const std::string &text : options.prompts)
    MTP_RETURN_IF_ERROR(
        add("--prompt", encode(text, options, model, tokenizer)));
  bool hasRead = false;
  for (const std::string &path : options.promptFiles) {
    std::string source = strCat("--prompt-file ", path);
    if (path == "-" && std::exchange(hasRead, true))
      return invalidArgument(strCat(source, ": expected it once"));
    Result<std::string> text = readFile(path);
    if (!text)
      return text.status().withContext(source);
    MTP_RETURN_IF_ERROR(add(source, encode(*text, options, model, tokenizer)));
  }
  for (const std::string &list : options.ids)
    MTP_RETURN_IF_ERROR(add("--ids", parseIds(list)));
  return prompts;
}
