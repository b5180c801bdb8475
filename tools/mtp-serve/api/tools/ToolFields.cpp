//===- ToolFields.cpp - Read the tools of a request -----------------------===//

#include "tools/mtp-serve/api/tools/ToolFields.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

static std::string_view textAt(const element &value, std::string_view key) {
  std::string_view text;
  return value.at_key(key).get(text) ? std::string_view() : text;
}

static std::string_view kindOf(const element &value) {
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return "an array";
  if (value.is_string())
    return "another string";
  return value.is_null() ? "null" : value.is_bool() ? "a flag" : "a number";
}

/// Returns the error "<path>: expected <what>, got <the value>".
static Status expected(std::string_view path, std::string_view what,
                       const element &value) {
  return invalidArgument(
      strCat(path, ": expected ", what, ", got ", kindOf(value)));
}

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

/// Writes a member of a tool under another name, if the tool has it.
static void writeMember(JsonWriter &json, const element &tool,
                        std::string_view from, std::string_view to) {
  element value;
  if (tool.at_key(from).get(value) || value.is_null())
    return;
  json.key(to);
  json.raw(std::string(simdjson::minify(value)));
}

/// Returns a tool whose members are at its top in the form of chats.
static std::string chatForm(const element &tool, std::string_view schema) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "function");
  json.key("function");
  json.beginObject();
  writeMember(json, tool, "name", "name");
  writeMember(json, tool, "description", "description");
  writeMember(json, tool, schema, "parameters");
  writeMember(json, tool, "strict", "strict");
  json.endObject();
  json.endObject();
  return json.text();
}

/// Checks the kind of a tool. Anthropic's own tools have other types.
static Status checkType(const std::string &path, const element &tool,
                        ToolApi api) {
  element type;
  bool hasType = !tool.at_key("type").get(type) && !type.is_null();
  std::string_view text = textAt(tool, "type");
  bool isRight = api == ToolApi::Messages ? !hasType || text == "custom"
                                          : text == "function";
  if (isRight)
    return okStatus();
  return invalidArgument(
      strCat(path, ".type: expected '",
             api == ToolApi::Messages ? "custom" : "function",
             "', the only kind of tool here, got ",
             !hasType ? "none" : strCat("'", text, "'")));
}

Status serve::readTools(const element &value, ToolApi api, ToolUse &use) {
  array list;
  if (value.get(list))
    return expected("tools", "an array", value);
  if (list.size() > ToolSet::kMostTools)
    return invalidArgument(strCat("tools: expected at most ",
                                  ToolSet::kMostTools, " tools, got ",
                                  list.size()));
  use.api = api;
  for (element tool : list) {
    std::string path = strCat("tools[", use.count++, "]");
    if (!tool.is_object())
      return expected(path, "an object", tool);
    MTP_RETURN_IF_ERROR(checkType(path, tool, api));
    use.items += use.items.empty() ? "" : ", ";
    use.items += api == ToolApi::Chats
                     ? std::string(simdjson::minify(tool))
                     : chatForm(tool, api == ToolApi::Messages ? "input_schema"
                                                               : "parameters");
  }
  use.given = simdjson::minify(value);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Reads OpenAI's words. Returns whether the text is one of them.
static bool readWord(std::string_view word, ToolChoice &choice) {
  if (word == "auto")
    choice = ToolChoice::Auto;
  else if (word == "none")
    choice = ToolChoice::None;
  else if (word == "required")
    choice = ToolChoice::Required;
  else
    return false;
  return true;
}

/// Reads the name of a tool {"type": "function", ...}. Chats have the name in a
/// member `function`, and responses have it at the top.
static Status readName(std::string path, const element &value, ToolApi api,
                       AllowedTool &tool) {
  element function = value;
  if (api == ToolApi::Chats) {
    path += ".function";
    if (value.at_key("function").get(function))
      return invalidArgument(strCat(path, ": expected an object, got none"));
  }
  tool = {std::string(textAt(function, "name")), path + ".name"};
  return okStatus();
}

/// Reads the members `mode` and `tools`.
static Status readAllowed(const std::string &path, const element &value,
                          ToolApi api, ToolUse &use) {
  std::string_view mode = textAt(value, "mode");
  if (mode == "none" || !readWord(mode, use.choice))
    return invalidArgument(
        strCat(path, ".mode: expected 'auto' or 'required', got ",
               mode.empty() ? "none" : strCat("'", mode, "'")));
  array list;
  element given;
  if (value.at_key("tools").get(given))
    return invalidArgument(strCat(
        path, ".tools: expected an array of one tool or more, got none"));
  if (given.get(list) || list.size() == 0)
    return expected(strCat(path, ".tools"), "an array of one tool or more",
                    given);
  size_t index = 0;
  for (element tool : list) {
    std::string at = strCat(path, ".tools[", index++, "]");
    MTP_RETURN_IF_ERROR(checkType(at, tool, api));
    MTP_RETURN_IF_ERROR(readName(at, tool, api, use.allowed.emplace_back()));
  }
  return okStatus();
}

/// Reads a word, an object of the type "function" with the tool's name, or an
/// object of the type "allowed_tools" with several names. Chats have its
/// members in a member `allowed_tools`, and responses have them at the top.
static Status readOpenAiChoice(const element &value, ToolApi api,
                               ToolUse &use) {
  std::string_view word;
  bool isWord = !value.get(word);
  if (!isWord)
    word = textAt(value, "type");
  use.givenChoice = simdjson::minify(value);
  if (readWord(word, use.choice))
    return okStatus();
  if (isWord || (word != "function" && word != "allowed_tools"))
    return expected("tool_choice",
                    "'auto', 'none', 'required' or an object of the type "
                    "'function' or 'allowed_tools'",
                    value);
  if (word == "function") {
    use.choice = ToolChoice::Required;
    return readName("tool_choice", value, api, use.allowed.emplace_back());
  }
  if (api != ToolApi::Chats)
    return readAllowed("tool_choice", value, api, use);
  element members;
  if (value.at_key("allowed_tools").get(members))
    return invalidArgument("tool_choice.allowed_tools: expected an object, got "
                           "none");
  return readAllowed("tool_choice.allowed_tools", members, api, use);
}

/// Reads Anthropic's {"type": "auto", "disable_parallel_tool_use": a flag}.
static Status readMessagesChoice(const element &value, ToolUse &use) {
  std::string_view type = textAt(value, "type");
  if (type == "tool") {
    use.choice = ToolChoice::Required;
    use.allowed.push_back(
        {std::string(textAt(value, "name")), "tool_choice.name"});
  } else if (!readWord(type == "any" ? "required" : type, use.choice) ||
             type == "required") {
    return expected("tool_choice",
                    "an object whose 'type' is 'auto', 'any', 'tool' or 'none'",
                    value);
  }
  element flag;
  bool isSingle = false;
  if (!value.at_key("disable_parallel_tool_use").get(flag) &&
      flag.get(isSingle))
    return expected("tool_choice.disable_parallel_tool_use", "a flag", flag);
  use.isParallel = !isSingle;
  return okStatus();
}

Status serve::readToolChoice(const element &value, ToolApi api, ToolUse &use) {
  return api == ToolApi::Messages ? readMessagesChoice(value, use)
                                  : readOpenAiChoice(value, api, use);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Status serve::toolStatus(const Status &status, ToolApi api) {
  std::string message(status.message());
  if (!message.starts_with("["))
    message.insert(0, ": ");
  auto replace = [&message](std::string_view from, std::string_view to) {
    size_t at = message.find(from);
    if (at < message.find(": "))
      message.replace(at, from.size(), to);
  };
  if (api != ToolApi::Chats) {
    replace(".function.parameters",
            api == ToolApi::Messages ? ".input_schema" : ".parameters");
    replace(".function.name", ".name");
    replace(".function.strict", ".strict");
  }
  return {status.code(), "tools" + message};
}

/// Applies `tool_choice` to the tools; null: there are none.
static Status applyChoice(const ToolUse &use, ToolSet *set) {
  if (!set && (use.mustCall() || !use.allowed.empty()))
    return invalidArgument(
        "tool_choice: expected 'tools' with this choice, got none");
  std::vector<std::string> names;
  for (const AllowedTool &tool : use.allowed) {
    if (!set->find(tool.name))
      return invalidArgument(
          strCat(tool.path, ": expected the name of one of 'tools', got '",
                 tool.name, "'"));
    names.push_back(tool.name);
  }
  if (!names.empty())
    set->restrictTo(names);
  return okStatus();
}

Status serve::settleTools(ToolUse &use) {
  if (use.count > 0) {
    Result<ToolSet> set = ToolSet::read("[" + use.items + "]");
    if (!set)
      return toolStatus(set.status(), use.api);
    MTP_RETURN_IF_ERROR(applyChoice(use, &*set));
    use.set = std::make_shared<const ToolSet>(*std::move(set));
  } else {
    MTP_RETURN_IF_ERROR(applyChoice(use, nullptr));
  }
  if (use.choice == ToolChoice::None)
    use.set = nullptr;
  if (use.set && use.facts.format == ToolFormat::None)
    return invalidArgument("tools: expected none, because the chat template "
                           "has no known format of tool calls (mtp-serve "
                           "--tool-parser names one)");
  return okStatus();
}
