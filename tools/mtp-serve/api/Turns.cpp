//===- Turns.cpp - Conversations of other APIs ----------------------------===//
//
// Each reader turns messages into messages of a chat template.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-serve/api/Turns.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

static std::string_view textAt(const JsonElement &element,
                               std::string_view key) {
  std::string_view text;
  return element.at_key(key).get(text) ? std::string_view() : text;
}

/// Returns a value's JSON, or `{}` if it is not there.
static std::string jsonAt(const JsonElement &element, std::string_view key) {
  JsonElement value;
  return element.at_key(key).get(value) ? "{}"
                                        : std::string(simdjson::minify(value));
}

namespace {
/// A message as it is collected from its blocks.
struct Turn {
  std::string role, text, reasoning;
  /// The calls of tools as JSON, separated by commas.
  std::string calls;
  /// The id of the call to which a message of a tool belongs.
  std::string callId;

  bool isEmpty() const {
    return text.empty() && reasoning.empty() && calls.empty();
  }
  void addText(std::string_view more) {
    text += text.empty() ? "" : "\n";
    text += more;
  }
  void addCall(std::string_view id, std::string_view name,
               const std::string &arguments, const CallForm &form);
};
} // namespace

void Turn::addCall(std::string_view id, std::string_view name,
                   const std::string &arguments, const CallForm &form) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("id", id);
  json.field("type", "function");
  json.key("function");
  json.beginObject();
  json.field("name", name);
  json.key("arguments");
  if (form.hasTextArguments)
    json.value(arguments);
  else
    json.raw(arguments);
  json.endObject();
  json.endObject();
  calls += (calls.empty() ? "" : ", ") + json.text();
}

/// Adds a message to the request's turns.
static void addTurn(GenerationRequest &request, const Turn &turn) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("role", turn.role);
  json.key("content");
  if (request.tools.facts.form.hasNullContent && turn.text.empty() &&
      !turn.calls.empty())
    json.null();
  else
    json.value(turn.text);
  if (!turn.reasoning.empty())
    json.field("reasoning_content", turn.reasoning);
  if (!turn.calls.empty()) {
    json.key("tool_calls");
    json.raw("[" + turn.calls + "]");
  }
  if (turn.role == "tool")
    json.field("tool_call_id", turn.callId);
  json.endObject();
  request.turns += (request.turns.empty() ? "" : ", ") + json.text();
  request.isChat = true;
  request.begun = turn.text;
  request.endsWithAnswer = turn.role == "assistant" && turn.calls.empty();
}

/// Reads a string, or an array of parts of the given types, whose texts are
/// joined.
static MaybeError readTexts(const std::string &name, const JsonElement &element,
                            std::initializer_list<std::string_view> types,
                            std::string &text) {
  array parts;
  if (element.get(parts)) {
    if (MaybeError error = readText(name, element, text))
      return expected(name, "a string or an array of parts", element);
    return std::nullopt;
  }
  size_t index = 0;
  for (JsonElement part : parts) {
    std::string path = strCat(name, "[", index++, "]");
    std::string_view type = textAt(part, "type"), one;
    if (std::ranges::count(types, type) == 0)
      return wrongField(path + ".type",
                        strCat("expected '", path, ".type' to be '",
                               *types.begin(), "', got '", type, "'"));
    if (part.at_key("text").get(one))
      return wrongField(path + ".text",
                        strCat("expected '", path, ".text' to be a string"));
    text += text.empty() ? "" : "\n";
    text += one;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Anthropic's messages
//===----------------------------------------------------------------------===//

/// Adds a message for the result of a tool, and begins a new turn.
static MaybeError addToolResult(const std::string &path,
                                const JsonElement &block, Turn &turn,
                                GenerationRequest &request) {
  if (!turn.isEmpty())
    addTurn(request, turn);
  turn = {turn.role, "", "", "", ""};
  Turn result = {"tool", "", "", "", std::string(textAt(block, "tool_use_id"))};
  JsonElement content;
  if (!block.at_key("content").get(content) && !content.is_null())
    if (MaybeError error =
            readTexts(path + ".content", content, {"text"}, result.text))
      return error;
  addTurn(request, result);
  return std::nullopt;
}

/// Adds a block of a message's content.
static MaybeError addBlock(const std::string &path, const JsonElement &block,
                           Turn &turn, GenerationRequest &request) {
  std::string_view type = textAt(block, "type");
  if (type == "text") {
    std::string_view text;
    if (block.at_key("text").get(text))
      return wrongField(path + ".text",
                        strCat("expected '", path, ".text' to be a string"));
    turn.addText(text);
  } else if (type == "thinking") {
    turn.reasoning += textAt(block, "thinking");
  } else if (type == "tool_use") {
    turn.addCall(textAt(block, "id"), textAt(block, "name"),
                 jsonAt(block, "input"), request.tools.facts.form);
  } else if (type == "tool_result") {
    return addToolResult(path, block, turn, request);
  } else if (type != "redacted_thinking") {
    return wrongField(
        path + ".type",
        strCat("expected '", path, ".type' to be 'text', got '", type, "'"));
  }
  return std::nullopt;
}

static MaybeError addMessage(const std::string &name,
                             const JsonElement &element, Reading &to) {
  object message;
  if (element.get(message))
    return expected(name, "an object", element);
  std::string_view role = textAt(element, "role");
  if (role != "user" && role != "assistant" && role != "system")
    return wrongField(name + ".role",
                      strCat("expected '", name,
                             ".role' to be 'user' or 'assistant', got '", role,
                             "'"));
  Turn turn = {std::string(role), "", "", "", ""};
  JsonElement content;
  array blocks;
  std::string path = name + ".content";
  if (message.at_key("content").get(content))
    return wrongField(path, strCat("expected '", path, "', got none"));
  if (content.get(blocks)) {
    if (MaybeError error = readText(path, content, turn.text))
      return expected(path, "a string or an array of blocks", content);
    addTurn(to.request, turn);
    return std::nullopt;
  }
  size_t index = 0;
  size_t before = to.request.turns.size();
  for (JsonElement block : blocks)
    if (MaybeError error =
            addBlock(strCat(path, "[", index++, "]"), block, turn, to.request))
      return error;
  if (!turn.isEmpty() || to.request.turns.size() == before)
    addTurn(to.request, turn);
  return std::nullopt;
}

static MaybeError messages(std::string_view field, const JsonElement &element,
                           Reading &to) {
  array list;
  if (element.get(list) || list.size() == 0)
    return expected(field, "an array of messages", element);
  size_t index = 0;
  for (JsonElement item : list)
    if (MaybeError error =
            addMessage(strCat(field, "[", index++, "]"), item, to))
      return error;
  return std::nullopt;
}

static MaybeError system(std::string_view field, const JsonElement &element,
                         Reading &to) {
  return readTexts(std::string(field), element, {"text"},
                   to.request.instructions);
}

/// Reads the members of an object of settings: `effort` is a variable of the
/// template, members in `neutral` change nothing, and others are refused.
static MaybeError settings(std::string_view field, const JsonElement &element,
                           std::initializer_list<std::string_view> neutral,
                           Reading &to) {
  object members;
  if (element.get(members))
    return expected(field, "an object", element);
  for (auto [key, value] : members) {
    if (value.is_null() || std::ranges::count(neutral, key) > 0)
      continue;
    std::string name = strCat(field, ".", key);
    if (key != "effort")
      return wrongField(name, strCat("expected no '", name,
                                     "', which this server does not "
                                     "support"));
    addVariable(to.request, "reasoning_effort", simdjson::minify(value));
  }
  return std::nullopt;
}

/// Reads `effort`, and `format`, the schema of the answer.
static MaybeError outputConfig(std::string_view field,
                               const JsonElement &element, Reading &to) {
  JsonElement format;
  if (!element.at_key("format").get(format) && !format.is_null())
    if (MaybeError error =
            readAnswerFormat(strCat(field, ".format"), format, to))
      return error;
  return settings(field, element, {"format"}, to);
}

static constexpr Field kMessagesFields[] = {
    {"messages", messages},
    {"system", system},
    {"output_config", outputConfig},
    {"output_format", readAnswerFormat},
};

std::span<const Field> serve::messagesFields() { return kMessagesFields; }

//===----------------------------------------------------------------------===//
// OpenAI's responses
//===----------------------------------------------------------------------===//

/// Ends the assistant's turn, to which calls may belong.
static void endAssistant(Reading &to, std::optional<Turn> &assistant) {
  if (assistant)
    addTurn(to.request, *assistant);
  assistant.reset();
}

static void addCallItem(const JsonElement &element, Reading &to,
                        std::optional<Turn> &assistant) {
  if (!assistant)
    assistant = Turn{"assistant", "", "", "", ""};
  std::string_view arguments = textAt(element, "arguments");
  JsonTree parsed;
  bool isObject = parsed.parse(arguments).isOk() && parsed.root().is_object();
  assistant->addCall(textAt(element, "call_id"), textAt(element, "name"),
                     isObject ? std::string(arguments) : "{}",
                     to.request.tools.facts.form);
}

/// Adds an item. An assistant's message and the calls after it are one turn.
static MaybeError addItem(const std::string &name, const JsonElement &element,
                          Reading &to, std::optional<Turn> &assistant) {
  object item;
  if (element.get(item))
    return expected(name, "an object", element);
  std::string_view type = textAt(element, "type");
  JsonElement content;
  if (type == "function_call") {
    addCallItem(element, to, assistant);
    return std::nullopt;
  }
  if (type == "function_call_output") {
    endAssistant(to, assistant);
    Turn turn = {"tool", "", "", "", std::string(textAt(element, "call_id"))};
    if (!item.at_key("output").get(content))
      if (MaybeError error =
              readTexts(name + ".output", content, {"input_text"}, turn.text))
        return error;
    addTurn(to.request, turn);
    return std::nullopt;
  }
  // Earlier reasoning is not part of the prompt.
  if (type == "reasoning")
    return std::nullopt;
  if (!type.empty() && type != "message")
    return wrongField(
        name + ".type",
        strCat("expected '", name, ".type' to be 'message', got '", type, "'"));
  Turn turn = {std::string(textAt(element, "role")), "", "", "", ""};
  if (turn.role.empty())
    return wrongField(name + ".role",
                      strCat("expected '", name, ".role' to be a string"));
  // Templates know the older name.
  if (turn.role == "developer")
    turn.role = "system";
  if (item.at_key("content").get(content))
    return wrongField(name + ".content",
                      strCat("expected '", name, ".content', got none"));
  if (MaybeError error =
          readTexts(name + ".content", content,
                    {"input_text", "output_text", "text"}, turn.text))
    return error;
  endAssistant(to, assistant);
  if (turn.role == "assistant")
    assistant = turn;
  else
    addTurn(to.request, turn);
  return std::nullopt;
}

static MaybeError input(std::string_view field, const JsonElement &element,
                        Reading &to) {
  array list;
  if (element.get(list)) {
    Turn turn = {"user", "", "", "", ""};
    if (MaybeError error = readText(field, element, turn.text))
      return expected(field, "a string or an array of items", element);
    addTurn(to.request, turn);
    return std::nullopt;
  }
  size_t index = 0;
  std::optional<Turn> assistant;
  for (JsonElement item : list)
    if (MaybeError error =
            addItem(strCat(field, "[", index++, "]"), item, to, assistant))
      return error;
  endAssistant(to, assistant);
  // A chat's answer is new unless a request for messages says otherwise.
  to.request.endsWithAnswer = false;
  return std::nullopt;
}

static MaybeError instructions(std::string_view field,
                               const JsonElement &element, Reading &to) {
  return readText(field, element, to.request.instructions);
}

static MaybeError reasoning(std::string_view field, const JsonElement &element,
                            Reading &to) {
  return settings(field, element, {"summary", "generate_summary"}, to);
}

/// Reads the format of the answer.
static MaybeError textFormat(std::string_view field, const JsonElement &element,
                             Reading &to) {
  object members;
  if (element.get(members))
    return expected(field, "an object", element);
  for (auto [key, value] : members) {
    if (key == "format" && !value.is_null()) {
      if (MaybeError error =
              readAnswerFormat(strCat(field, ".format"), value, to))
        return error;
      to.request.givenFormat = simdjson::minify(value);
      continue;
    }
    bool isNeutral = value.is_null();
    std::string_view word;
    isNeutral |= key == "verbosity" && !value.get(word) && word == "medium";
    if (!isNeutral)
      return wrongField(strCat(field, ".", key),
                        strCat("expected no '", field, ".", key,
                               "', which this server does not support"));
  }
  return std::nullopt;
}

/// Reads what an answer is to include in addition. Encrypted reasoning belongs
/// to answers that the server does not store; there is none to include.
static MaybeError include(std::string_view field, const JsonElement &element,
                          Reading &to) {
  array list;
  if (element.get(list))
    return expected(field, "an array", element);
  size_t index = 0;
  for (JsonElement item : list) {
    std::string_view word;
    std::string name = strCat(field, "[", index++, "]");
    if (!item.get(word) && word == "message.output_text.logprobs") {
      to.request.scores.isOn = true;
      continue;
    }
    if (item.get(word) || word != "reasoning.encrypted_content")
      return wrongField(name, strCat("expected no '", name,
                                     "', which this server does not support"));
  }
  return std::nullopt;
}

static MaybeError unsupported(std::string_view field, const JsonElement &,
                              Reading &) {
  return wrongField(
      std::string(field),
      strCat("expected no '", field, "', which this server does not support"));
}

static constexpr Field kResponsesFields[] = {
    {"input", input},
    {"instructions", instructions},
    {"reasoning", reasoning},
    {"text", textFormat},
    {"include", include},
    // A stored prompt.
    {"prompt", unsupported},
    {"messages", unsupported},
};

std::span<const Field> serve::responsesFields() { return kResponsesFields; }

void serve::joinTurns(GenerationRequest &request) {
  std::string system;
  if (!request.instructions.empty()) {
    JsonWriter json(JsonWriter::Layout::OneLine);
    json.beginObject();
    json.field("role", "system");
    json.field("content", request.instructions);
    json.endObject();
    system = json.text() + (request.turns.empty() ? "" : ", ");
  }
  addVariable(request, "messages", "[" + system + request.turns + "]");
  request.turns.clear();
}
