//===- Prompts.cpp - Prompts from flags and files -------------------------===//

#include "tools/mtp-run/Prompts.h"
#include "runtime/core/StrCat.h"
#include "tools/support/TextFile.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
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
  return readTextFile(path, Tokenizer::kMaxTextBytes);
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

//===----------------------------------------------------------------------===//
// Texts as rows of a function
//===----------------------------------------------------------------------===//

size_t mtp::rowsOfFunction(const Model &model, std::string_view function) {
  auto inputs = model.functionInputs(function);
  if (!inputs || !model.functionOutputs(function) || inputs->size() != 3)
    return 0;
  const TensorType &type = inputs->front().type;
  if (type.element != ElementType::I32 || type.shape.size() != 1)
    return 0;
  for (const PortType &port : *inputs)
    if (port.type != type)
      return 0;
  return type.shape[0];
}

static Tensor column(const std::vector<int32_t> &values) {
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(values.data());
  return {{ElementType::I32, {values.size()}},
          {bytes, bytes + values.size() * sizeof(int32_t)}};
}

std::vector<Tensor> mtp::rowInputs(std::span<const int32_t> tokens,
                                   size_t begin, size_t count, size_t rows) {
  std::vector<int32_t> ids(rows, 0), slots(rows, 0), positions(rows, -1);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = tokens[begin + i];
    positions[i] = int32_t(begin + i);
  }
  return {column(ids), column(slots), column(positions)};
}

Result<size_t> mtp::windowOf(const RunOptions &options, const Model &model) {
  uint32_t context = model.envelope()->maxContext;
  size_t window = options.window.value_or(context);
  if (window < 2 || window > context)
    return invalidArgument(strCat("expected --window of 2 to ", context,
                                  " (the envelope's context), got ", window));
  return window;
}

Status mtp::checkIds(std::span<const int32_t> ids, uint32_t vocab) {
  for (int32_t id : ids)
    if (id < 0 || uint32_t(id) >= vocab)
      return invalidArgument(
          strCat("expected token ids of 0 to ", vocab - 1, ", got ", id));
  return okStatus();
}

RowProgress::RowProgress(std::string_view verb,
                         const std::vector<Prompt> &prompts)
    : verb(verb), enabled(::isatty(STDERR_FILENO)) {
  for (const Prompt &prompt : prompts)
    total += prompt.ids.size();
}

RowProgress::~RowProgress() {
  if (enabled)
    std::fputs("\r\033[K", stderr);
}

void RowProgress::add(size_t tokens) {
  done += tokens;
  if (enabled)
    std::fprintf(stderr, "\r%s %zu of %zu tokens", verb.c_str(), done, total);
}
