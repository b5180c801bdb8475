//===- BindText.cpp - Texts of prompts and answers ------------------------===//

#include "runtime/chat/tools/CallSchema.h"
#include "runtime/core/StrCat.h"
#include "tools/python/src/AnswerText.h"
#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
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
using Tools = std::shared_ptr<const AnswerTools>;

/// Tools of an answer, as an object of Python.
struct ToolsHandle {
  Tools tools;
};

static Ids encode(const ModelHandle &handle, const std::string &text,
                  bool addStart, bool special) {
  nb::gil_scoped_release release;
  const Tokenizer *tokenizer = take(handle.loaded->tokenizer());
  return take(promptIds(text, {addStart, special},
                        handle.loaded->model()->generation(), *tokenizer));
}

static std::string decode(const ModelHandle &handle, const Ids &ids,
                          bool skipSpecial) {
  nb::gil_scoped_release release;
  DecodeOptions options;
  options.skipSpecial = skipSpecial;
  return take(take(handle.loaded->tokenizer())->decode(ids, options));
}

/// Returns names separated by commas.
static std::string listOf(const std::vector<std::string_view> &names) {
  std::string text;
  for (std::string_view name : names)
    text += strCat(text.empty() ? "" : ", ", name);
  return text;
}

static ReasoningFormat formatOf(const ModelHandle &handle,
                                const std::string &name) {
  if (name == "auto")
    return take(handle.loaded->reasoning());
  std::optional<ReasoningFormat> format = findReasoningFormat(name);
  if (!format)
    throw StatusError(invalidArgument(
        strCat("reasoning: expected 'auto' or the name of a format (",
               listOf(reasoningFormatNames()), "), got '", name, "'")));
  return *format;
}

static std::pair<std::string, Ids> encodeChat(const ModelHandle &handle,
                                              const std::string &request) {
  nb::gil_scoped_release release;
  return take(handle.loaded->encodeChat(request));
}

/// Returns whether templates read arguments of calls as text, and whether they
/// want null as the content beside calls.
static std::pair<bool, bool> callForm(const ModelHandle &handle) {
  nb::gil_scoped_release release;
  CallForm form = take(handle.loaded->callForm());
  return {form.hasTextArguments, form.hasNullContent};
}

static ToolFormat toolFormatOf(const ModelHandle &handle,
                               const std::string &name) {
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
  if (format == ToolFormat::None)
    throw StatusError(failedPrecondition(
        "tools: expected a chat template with a known format of calls, got "
        "another one; tool_parser names a format"));
  return format;
}

/// Reads tools, JSON in the form of OpenAI's chats. `choice` is "auto",
/// "required" or the name of a tool.
static ToolsHandle readTools(const ModelHandle &handle, const std::string &json,
                             const std::string &parser,
                             const std::string &choice, bool isParallel) {
  auto tools = std::make_shared<AnswerTools>();
  Result<ToolSet> set = ToolSet::read(json);
  if (!set)
    throw StatusError(
        {set.status().code(), strCat("tools", set.status().message())});
  tools->set = *std::move(set);
  tools->isParallel = isParallel;
  if (choice == "auto") {
    tools->format = toolFormatOf(handle, parser);
    return {std::move(tools)};
  }
  CallDemand demand;
  demand.isParallel = isParallel;
  if (choice != "required") {
    demand.only = tools->set.find(choice);
    if (!demand.only)
      throw StatusError(invalidArgument(
          strCat("tool_choice: expected 'auto', 'none', 'required' or the name "
                 "of one of 'tools', got '",
                 choice, "'")));
  }
  tools->format = ToolFormat::Json;
  tools->schema = take(callSchema(tools->set, demand));
  return {std::move(tools)};
}

/// Makes the text of an output. `reasoning` is empty for the continuation of a
/// prompt.
static std::unique_ptr<AnswerText>
makeAnswer(const ModelHandle &model, const std::string &reasoning,
           const std::string &prompt, nb::handle stop, nb::handle minTokens,
           const ToolsHandle *tools) {
  AnswerOptions options;
  if (!reasoning.empty())
    options.reasoning = formatOf(model, reasoning);
  options.prompt = prompt;
  options.stops = stringsOf(stop, "stop");
  options.minTokens = countOf(minTokens, "min_tokens");
  if (tools)
    options.tools = tools->tools;
  return take(AnswerText::create(model.loaded, std::move(options)));
}

void python::bindText(nb::module_ &module) {
  module.def("encode", &encode, "model"_a, "text"_a, "add_start"_a,
             "special"_a);
  module.def("decode", &decode, "model"_a, "ids"_a, "skip_special"_a);
  module.def("encode_chat", &encodeChat, "model"_a, "request"_a);
  module.def("call_form", &callForm, "model"_a);
  nb::class_<ToolsHandle>(module, "Tools")
      .def_prop_ro("schema",
                   [](const ToolsHandle &t) { return t.tools->schema; });
  module.def("read_tools", &readTools, "model"_a, "json"_a, "parser"_a,
             "choice"_a, "is_parallel"_a);
  nb::class_<AnswerText>(module, "Answer");
  module.def("answer", &makeAnswer, "model"_a, "reasoning"_a, "prompt"_a,
             "stop"_a, "min_tokens"_a, "tools"_a.none());
}
