//===- PromptFields.cpp - Read prompts and conversations ------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/Messages.h"
#include "tools/mtp-serve/api/tools/ToolFields.h"

#include <algorithm>
#include <set>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

//===----------------------------------------------------------------------===//
// Completions
//===----------------------------------------------------------------------===//

/// Reads a text, or ids.
static MaybeError readPrompt(std::string_view field, const JsonElement &element,
                             Reading &to, PromptSource &prompt) {
  prompt.isText = element.is_string();
  if (MaybeError error = prompt.isText
                             ? readText(field, element, prompt.text)
                             : readIds(field, element,
                                       int64_t(to.facts.vocab) - 1, prompt.ids))
    return error;
  if (prompt.isText && !to.facts.tokenizer)
    return wrongField(std::string(field),
                      "expected 'prompt' to be token ids, for the model has "
                      "no tokenizer, got a string");
  return std::nullopt;
}

/// Returns whether an array has both strings and numbers. Other elements of
/// such an array are errors.
static bool isMixed(const array &list) {
  size_t texts = 0, numbers = 0;
  for (JsonElement item : list) {
    texts += item.is_string();
    numbers += item.is_number();
  }
  return texts > 0 && numbers > 0;
}

/// Reads texts and ids of one prompt, as in llama-server.
static MaybeError readMixed(std::string_view field, const array &list,
                            Reading &to, PromptSource &prompt) {
  for (JsonElement item : list) {
    int64_t id = 0;
    PromptSource part;
    if (item.is_string()) {
      if (MaybeError error = readPrompt(field, item, to, part))
        return error;
    } else if (!getWhole(item, id) || id < 0 || id >= to.facts.vocab) {
      return wrongField(std::string(field),
                        strCat("expected strings or token ids of 0 to ",
                               int64_t(to.facts.vocab) - 1, " in '", field,
                               "', got ", describe(item)));
    } else {
      part.ids.push_back(int32_t(id));
    }
    // Ids that follow each other are one part.
    if (!part.isText && !prompt.parts.empty() && !prompt.parts.back().isText)
      prompt.parts.back().ids.push_back(part.ids.front());
    else
      prompt.parts.push_back(std::move(part));
  }
  return std::nullopt;
}

static MaybeError addPrompt(std::string_view field, const JsonElement &element,
                            Reading &to) {
  array list;
  PromptSource prompt;
  bool isList = !element.get(list);
  if (MaybeError error = isList && isMixed(list)
                             ? readMixed(field, list, to, prompt)
                             : readPrompt(field, element, to, prompt))
    return error;
  to.request.prompts.push_back(std::move(prompt));
  return std::nullopt;
}

/// Reads a text, ids, a mixture, or an array of these.
static MaybeError prompts(std::string_view field, const JsonElement &element,
                          Reading &to) {
  array list;
  JsonElement first;
  if (element.get(list) || list.at(0).get(first) || first.is_number() ||
      isMixed(list)) {
    if (!element.is_string() && !element.is_array())
      return expected(field, "a string, token ids, or an array of these",
                      element);
    return addPrompt(field, element, to);
  }
  for (JsonElement item : list) {
    if (to.request.prompts.size() == GenerationRequest::kMaxChoices)
      return wrongField(std::string(field),
                        strCat("expected at most ",
                               GenerationRequest::kMaxChoices, " prompts, got ",
                               list.size()));
    if (MaybeError error = addPrompt(field, item, to))
      return error;
  }
  return std::nullopt;
}

static constexpr Field kPromptFields[] = {
    {"prompt", prompts},
    {"echo", readFlagField<&GenerationRequest::echo>},
    {"add_special", readFlagField<&GenerationRequest::addSpecialTokens>},
    {"parse_special", readFlagField<&GenerationRequest::parsesSpecial>},
    {"add_special_tokens", readFlagField<&GenerationRequest::addSpecialTokens>},
};

std::span<const Field> serve::promptFields() { return kPromptFields; }

//===----------------------------------------------------------------------===//
// Conversations
//===----------------------------------------------------------------------===//

void serve::addVariable(GenerationRequest &request, std::string_view name,
                        const std::string &json) {
  JsonWriter quoted(JsonWriter::Layout::OneLine);
  quoted.value(name);
  request.conversation += request.conversation.empty() ? "" : ", ";
  request.conversation += quoted.text() + ": " + json;
}

static MaybeError variable(std::string_view field, const JsonElement &element,
                           Reading &to) {
  addVariable(to.request, field, simdjson::minify(element));
  return std::nullopt;
}

/// Passes documents to the template, which may have no use for them.
static MaybeError documents(std::string_view field, const JsonElement &element,
                            Reading &to) {
  array list;
  if (element.get(list))
    return expected(field, "an array of documents", element);
  return list.size() == 0 ? std::nullopt : variable(field, element, to);
}

static MaybeError generationPrompt(std::string_view field,
                                   const JsonElement &element, Reading &to) {
  bool value = true;
  if (MaybeError error = readFlag(field, element, value))
    return error;
  to.request.asksGenerationPrompt = value;
  return variable(field, element, to);
}

static MaybeError continuation(std::string_view field,
                               const JsonElement &element, Reading &to) {
  bool value = false;
  if (MaybeError error = readFlag(field, element, value))
    return error;
  to.request.continuesLast = value;
  return std::nullopt;
}

/// Adds variables whose names are not the server's own.
static MaybeError variables(std::string_view field, const JsonElement &element,
                            Reading &to) {
  object more;
  if (element.get(more))
    return expected(field, "an object", element);
  constexpr std::string_view kOwn[] = {"messages", "tools", "documents",
                                       "add_generation_prompt",
                                       "reasoning_effort"};
  std::set<std::string_view> seen;
  for (auto [key, value] : more) {
    std::string name = strCat(field, ".", key);
    if (std::ranges::count(kOwn, key) > 0 || !seen.insert(key).second)
      return wrongField(name, strCat("expected no '", name,
                                     "', which is a field or given twice"));
    addVariable(to.request, key, simdjson::minify(value));
  }
  return std::nullopt;
}

static MaybeError messages(std::string_view field, const JsonElement &element,
                           Reading &to) {
  array list;
  if (element.get(list) || list.size() == 0)
    return expected(field, "an array of messages", element);
  JsonWriter json(JsonWriter::Layout::OneLine);
  LastMessage last;
  if (MaybeError error =
          writeMessages(list, to.request.tools.facts.form, json, last))
    return error;
  to.request.begun = last.text;
  to.request.endsWithAnswer = last.isAnswer;
  addVariable(to.request, field, json.text());
  to.request.isChat = true;
  return std::nullopt;
}

/// Refuses true: the template alone makes the prompt.
static MaybeError onlyFalse(std::string_view field, const JsonElement &element,
                            Reading &) {
  bool value = false;
  if (element.get(value) || value)
    return expected(field, "false in a conversation", element);
  return std::nullopt;
}

/// Reads {"type": "disabled"} and the like into the variable that templates
/// know.
static MaybeError thinking(std::string_view field, const JsonElement &element,
                           Reading &to) {
  std::string_view type;
  if (element.at_key("type").get(type) ||
      (type != "enabled" && type != "disabled" && type != "adaptive"))
    return expected(field,
                    "an object whose 'type' is enabled, disabled or adaptive",
                    element);
  addVariable(to.request, "enable_thinking",
              type == "disabled" ? "false" : "true");
  return std::nullopt;
}

MaybeError serve::pathError(const Status &status) {
  if (status.isOk())
    return std::nullopt;
  std::string_view message = status.message();
  return wrongField(std::string(message.substr(0, message.find(": "))),
                    std::string(message));
}

static ToolApi toolApi(AnswerForm form) {
  return form == AnswerForm::Messages    ? ToolApi::Messages
         : form == AnswerForm::Responses ? ToolApi::Responses
                                         : ToolApi::Chats;
}

static MaybeError tools(std::string_view, const JsonElement &element,
                        Reading &to) {
  return pathError(
      readTools(element, toolApi(to.request.form), to.request.tools));
}

static MaybeError toolChoice(std::string_view, const JsonElement &element,
                             Reading &to) {
  return pathError(
      readToolChoice(element, toolApi(to.request.form), to.request.tools));
}

static MaybeError parallelCalls(std::string_view field,
                                const JsonElement &element, Reading &to) {
  return readFlag(field, element, to.request.tools.isParallel);
}

/// Decides whether a grammar restricts the answers to calls.
static MaybeError settleCalls(GenerationRequest &request,
                              const ModelFacts &facts) {
  ToolUse &use = request.tools;
  if (!use.mustCall()) {
    // Without grammars a strict tool is like any other, and a call of another
    // tool than `allowed` is text.
    bool isLimited = use.set && (use.set->hasStrict() || !use.allowed.empty());
    use.isRestricted = isLimited && facts.hasGrammars && !request.grammar;
    return std::nullopt;
  }
  if (!facts.hasGrammars)
    return wrongField("tool_choice",
                      strCat("expected 'tool_choice' to be 'auto' or 'none', "
                             "as the model ",
                             facts.hasLogitRules
                                 ? "has no tokenizer or no end tokens"
                                 : "was imported with --without-logit-rules"));
  // A format is that of a text for the user, which the answer does not have.
  bool isFormat = request.grammar && request.grammar->isAnswerFormat;
  if (request.grammar && !isFormat)
    return wrongField(request.grammar->field,
                      "expected no grammar beside a 'tool_choice' that demands "
                      "a call");
  request.grammar.reset();
  use.isRestricted = true;
  return std::nullopt;
}

MaybeError serve::settleTools(GenerationRequest &request,
                              const ModelFacts &facts) {
  if (MaybeError error = pathError(settleTools(request.tools)))
    return error;
  if (MaybeError error = settleCalls(request, facts))
    return error;
  if (request.tools.set)
    addVariable(request, "tools", "[" + request.tools.items + "]");
  return std::nullopt;
}

static constexpr Field kConversationFields[] = {
    {"messages", messages},
    {"documents", documents},
    {"add_generation_prompt", generationPrompt},
    {"continue_final_message", continuation},
    {"chat_template_kwargs", variables},
    {"reasoning_effort", variable},
    {"enable_thinking", variable},
    {"with_pieces", readFlagField<&GenerationRequest::returnsPieces>},
    {"return_token_strs", readFlagField<&GenerationRequest::returnsStrings>},
    {"add_special_tokens", onlyFalse},
    {"echo", onlyFalse},
    {"thinking", thinking},
};

static constexpr Field kToolFields[] = {
    {"tools", tools},
    {"tool_choice", toolChoice},
    {"parallel_tool_calls", parallelCalls},
};

std::span<const Field> serve::toolFields() { return kToolFields; }

std::span<const Field> serve::conversationFields() {
  return kConversationFields;
}
