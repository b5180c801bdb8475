//===- TextRows.cpp - Texts as rows of a function -------------------------===//

#include "tools/mtp-run/TextRows.h"
#include "runtime/core/StrCat.h"

#include <cstdio>
#include <unistd.h>

using namespace mtp;

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
