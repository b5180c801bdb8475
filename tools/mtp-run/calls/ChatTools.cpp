//===- ChatTools.cpp - Tools of a chat ------------------------------------===//

#include "tools/mtp-run/calls/ChatTools.h"

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"
#include "runtime/json/JsonWriter.h"
#include "tools/support/TextFile.h"

using namespace mtp;

std::string ChatTools::addTo(std::string_view variables) const {
  size_t open = variables.find('{');
  std::string_view rest =
      open == variables.npos ? "}" : variables.substr(open + 1);
  bool isEmpty = trimmed(rest).starts_with('}');
  return strCat("{\"tools\": ", json, isEmpty ? "" : ", ", rest);
}

Result<ChatTools> mtp::readChatTools(const std::string &file,
                                     const ChatTemplate &chat,
                                     std::optional<ToolFormat> format) {
  std::string context = strCat("--tools ", file);
  Result<std::string> text = readTextFile(file);
  if (!text)
    return text.status().withContext(context);
  JsonTree tree;
  Status parsed = tree.parse(*text);
  if (!parsed.isOk())
    return parsed.withContext(context);
  simdjson::dom::element list = tree.root();
  if (list.is_object() && list.at_key("tools").get(list))
    return invalidArgument(strCat(context, ": expected 'tools', got none"));
  ChatTools tools;
  tools.json = simdjson::minify(list);
  Result<ToolSet> set = ToolSet::read(tools.json);
  if (!set)
    return set.status().withContext(context);
  tools.set = *std::move(set);
  tools.format =
      format.value_or(detectToolFormat(chat.source(/*hasTools=*/true)));
  tools.form = findCallForm(chat);
  if (tools.format == ToolFormat::None)
    return failedPrecondition("the chat template has no known format of tool "
                              "calls; give --tool-parser");
  return tools;
}

std::string CallReport::append(std::string_view content) {
  ToolEvents events;
  parser.append(content, events);
  return show(events);
}

std::string CallReport::finish() {
  ToolEvents events;
  parser.finish(events);
  return show(events);
}

/// Notes a complete call, and returns its line.
std::string CallReport::endCall() {
  JsonWriter call(JsonWriter::Layout::OneLine);
  call.beginObject();
  // Nine letters or digits, as Mistral's templates want it.
  std::string number = std::to_string(count++);
  call.field("id",
             strCat("call",
                    std::string(5 - std::min<size_t>(5, number.size()), '0'),
                    number));
  call.field("type", "function");
  call.key("function");
  call.beginObject();
  call.field("name", name);
  call.key("arguments");
  if (tools.form.hasTextArguments)
    call.value(arguments);
  else
    call.raw(arguments);
  call.endObject();
  call.endObject();
  json += (json.empty() ? "" : ", ") + call.text();
  std::string line =
      strCat(isAtLine ? "" : "\n", "[call] ", name, " ", arguments, "\n");
  isAtLine = true;
  return line;
}

std::string CallReport::show(const ToolEvents &events) {
  std::string shown;
  for (const ToolEvent &event : events)
    switch (event.kind) {
    case ToolEvent::Kind::Content:
    case ToolEvent::Kind::Broken:
      text += event.text;
      shown += event.text;
      if (!event.text.empty())
        isAtLine = event.text.ends_with('\n');
      break;
    case ToolEvent::Kind::Begin:
      name = event.text;
      arguments.clear();
      break;
    case ToolEvent::Kind::Arguments:
      arguments += event.text;
      break;
    case ToolEvent::Kind::End:
      shown += endCall();
      break;
    case ToolEvent::Kind::Markup:
      break;
    }
  return shown;
}
