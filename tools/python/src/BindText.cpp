//===- BindText.cpp - Texts of prompts and answers ------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/tokenizer/BadWordTokens.h"
#include "tools/python/src/AnswerText.h"
#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Gil.h"
#include "tools/python/src/Handles.h"
#include "tools/python/src/RequestFields.h"
#include "tools/support/PromptText.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

using namespace mtp;
using namespace mtp::python;
namespace nb = nanobind;
using namespace nb::literals;

using Ids = std::vector<int32_t>;

static Ids encode(const ModelHandle &handle, const std::string &text,
                  bool addStart, bool special) {
  WithoutGil unlocked;
  const Tokenizer *tokenizer = take(handle.loaded->tokenizer());
  return take(promptIds(text, {addStart, special},
                        handle.loaded->model()->generation(), *tokenizer));
}

static std::string decode(const ModelHandle &handle, const Ids &ids,
                          bool skipSpecial) {
  WithoutGil unlocked;
  DecodeOptions options;
  options.skipSpecial = skipSpecial;
  return take(take(handle.loaded->tokenizer())->decode(ids, options));
}

/// Returns the token sequences of a bad word. `path` begins errors.
static std::vector<Ids> badWord(const ModelHandle &handle,
                                const std::string &path,
                                const std::string &word) {
  std::vector<Ids> sequences;
  Status added = addBadWord(*take(handle.loaded->tokenizer()), word, sequences);
  if (!added.isOk())
    throw StatusError({added.code(), strCat(path, ": ", added.message())});
  return sequences;
}

/// Returns names separated by commas.
static std::string listOf(const std::vector<std::string_view> &names) {
  std::string text;
  for (std::string_view name : names)
    text += strCat(text.empty() ? "" : ", ", name);
  return text;
}

static std::pair<std::string, Ids> encodeChat(const ModelHandle &handle,
                                              const std::string &request) {
  WithoutGil unlocked;
  return take(handle.loaded->encodeChat(request));
}

/// Returns whether templates read arguments of calls as text, and whether they
/// want null as the content beside calls.
static std::pair<bool, bool> callForm(const ModelHandle &handle) {
  WithoutGil unlocked;
  CallForm form = take(handle.loaded->callForm());
  return {form.hasTextArguments, form.hasNullContent};
}

/// Returns the format of calls. Without one, calls that a grammar demands are
/// JSON.
static ToolFormat toolFormatOf(const ModelHandle &handle,
                               const std::string &name, bool isRequired) {
  if (name != "auto") {
    std::optional<ToolFormat> format = findToolFormat(name);
    if (!format || *format == ToolFormat::None)
      throw StatusError(invalidArgument(
          strCat("tool_parser: expected 'auto' or the name of a format (",
                 listOf(toolFormatNames()), "), got '", name, "'")));
    return *format;
  }
  ToolFormat format =
      detectToolFormat(take(handle.loaded->chat())->source(/*hasTools=*/true));
  if (format == ToolFormat::None && !isRequired)
    throw StatusError(failedPrecondition(
        "tools: expected a chat template with a known format of calls, got "
        "another one; tool_parser names a format"));
  return format == ToolFormat::None ? ToolFormat::Json : format;
}

/// Reads tools, JSON in the form of OpenAI's chats. `allowed` has the paths of
/// the names of tools that the answer may call, and the names; empty: all.
static ToolsHandle
readTools(const ModelHandle &handle, const std::string &json,
          const std::string &parser, bool isRequired,
          const std::vector<std::pair<std::string, std::string>> &allowed,
          bool isParallel) {
  Result<ToolSet> set = ToolSet::read(json);
  if (!set)
    throw StatusError(
        {set.status().code(), strCat("tools", set.status().message())});
  std::vector<std::string> names;
  for (const auto &[path, name] : allowed) {
    if (!set->find(name))
      throw StatusError(invalidArgument(strCat(
          path, ": expected the name of one of 'tools', got '", name, "'")));
    names.push_back(name);
  }
  if (!names.empty())
    set->restrictTo(names);
  auto calls = std::make_shared<AnswerCalls>();
  calls->tools = std::make_shared<const ToolSet>(*std::move(set));
  calls->format = toolFormatOf(handle, parser, isRequired);
  calls->isParallel = isParallel;
  calls->isRequired = isRequired;
  return {std::move(calls)};
}

/// Makes the text of an output. `reasoning` is empty for the continuation of a
/// prompt.
static std::unique_ptr<AnswerText>
makeAnswer(const ModelHandle &model, const std::string &reasoning,
           const std::string &prompt, nb::handle stop, nb::handle minTokens,
           const ToolsHandle *tools) {
  AnswerOptions options;
  if (!reasoning.empty())
    options.reasoning = take(model.loaded->reasoning(reasoning));
  options.prompt = prompt;
  options.stops = stringsOf(stop, "stop");
  options.minTokens = countOf(minTokens, "min_tokens");
  if (tools)
    options.tools = tools->calls;
  return take(AnswerText::create(model.loaded, std::move(options)));
}

/// Adds tokens as the last update of a sequence, for tests. Returns (content,
/// reasoning).
static std::pair<std::string, std::string> readAll(AnswerText &answer,
                                                   const Ids &ids) {
  SequenceUpdate update;
  update.tokens = ids;
  update.finish = FinishReason::Length;
  check(answer.take(update));
  AnswerNews news = answer.takeNews();
  return {std::move(news.content), std::move(news.reasoning)};
}

void python::bindText(nb::module_ &module) {
  module.def("encode", &encode, "model"_a, "text"_a, "add_start"_a,
             "special"_a);
  module.def("decode", &decode, "model"_a, "ids"_a, "skip_special"_a);
  module.def("encode_chat", &encodeChat, "model"_a, "request"_a);
  module.def("call_form", &callForm, "model"_a);
  nb::class_<ToolsHandle>(module, "Tools")
      .def_prop_ro("is_required",
                   [](const ToolsHandle &t) { return t.calls->isRequired; })
      .def_prop_ro("has_strict", [](const ToolsHandle &t) {
        return t.calls->tools->hasStrict();
      });
  module.def("read_tools", &readTools, "model"_a, "json"_a, "parser"_a,
             "is_required"_a, "allowed"_a, "is_parallel"_a);
  module.def("bad_word", &badWord, "model"_a, "path"_a, "word"_a);
  nb::class_<AnswerText>(module, "Answer").def("read_all", &readAll, "ids"_a);
  module.def("answer", &makeAnswer, "model"_a, "reasoning"_a, "prompt"_a,
             "stop"_a, "min_tokens"_a, "tools"_a.none());
}
