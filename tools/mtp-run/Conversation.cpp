//===- Conversation.cpp - The messages of a chat --------------------------===//

#include "tools/mtp-run/Conversation.h"

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"

using namespace mtp;

void Conversation::answer(std::string reasoning, std::string content,
                          std::string calls, bool hasNullContent) {
  Turn &turn = turns.back();
  turn.reasoning = std::move(reasoning);
  turn.content = std::move(content);
  turn.calls = std::move(calls);
  turn.hasNullContent = hasNullContent;
  turn.isAnswered = true;
}

bool Conversation::undo() {
  if (turns.empty())
    return false;
  turns.pop_back();
  return true;
}

static void writeMessage(JsonWriter &json, std::string_view role,
                         std::string_view content,
                         std::string_view reasoning = {},
                         const std::string &calls = {},
                         bool hasNullContent = false) {
  json.beginObject();
  json.field("role", role);
  if (!reasoning.empty()) {
    // The names that templates use.
    json.field("reasoning_content", reasoning);
    json.field("thinking", reasoning);
  }
  json.key("content");
  if (hasNullContent && content.empty() && !calls.empty())
    json.null();
  else
    json.value(content);
  if (!calls.empty()) {
    json.key("tool_calls");
    json.raw("[" + calls + "]");
  }
  json.endObject();
}

std::string Conversation::json() const {
  JsonWriter json;
  json.beginObject();
  json.key("messages");
  json.beginArray();
  if (!system.empty())
    writeMessage(json, "system", system);
  for (const Turn &turn : turns) {
    writeMessage(json, "user", turn.question);
    if (turn.isAnswered)
      writeMessage(json, "assistant", turn.content, turn.reasoning, turn.calls,
                   turn.hasNullContent);
  }
  json.endArray();
  json.endObject();
  return json.text();
}

std::string Conversation::request(std::string_view variables) const {
  std::string messages = json();
  size_t open = variables.find('{'), close = variables.rfind('}');
  if (open == variables.npos ||
      variables.find_first_not_of(" \t\r\n", open + 1) == close)
    return messages;
  return strCat(variables.substr(0, close), ",", messages.substr(1));
}
