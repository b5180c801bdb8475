//===- ChatTools.h - Tools of a chat ----------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CALLS_CHATTOOLS_H
#define MTP_TOOLS_MTP_RUN_CALLS_CHATTOOLS_H

#include "runtime/chat/CallForm.h"
#include "runtime/chat/tools/ToolCallParser.h"

namespace mtp {

/// The tools that answers of a chat may call.
struct ChatTools {
  /// The tools as JSON, an array in the form of OpenAI's chats.
  std::string json;
  ToolSet set;
  ToolFormat format = ToolFormat::None;
  CallForm form;

  /// Returns variables of the template, a JSON object or nothing, with the
  /// tools.
  std::string addTo(std::string_view variables) const;
};

/// Reads the tools of a file: an array in OpenAI's form, or an object with the
/// array as `tools`. The format of calls is that of the template, unless it is
/// given.
Result<ChatTools> readChatTools(const std::string &file,
                                const ChatTemplate &chat,
                                std::optional<ToolFormat> format);

/// Divides the content of an answer into text and calls, and shows each call on
/// a line of its own: `[call] NAME ARGUMENTS`.
class CallReport {
public:
  /// `tools` must outlive the object.
  explicit CallReport(const ChatTools &tools)
      : tools(tools), parser(tools.format, tools.set) {}

  /// Add content, or end the answer, and return the text to show.
  std::string append(std::string_view content);
  std::string finish();

  /// Returns whether the string of a special token is a part of a mark.
  bool isMark(std::string_view token) const { return parser.isMark(token); }
  /// Returns the text of the content without calls.
  const std::string &content() const { return text; }
  /// Returns the JSON of the calls for the conversation, separated by commas.
  const std::string &calls() const { return json; }

private:
  std::string show(const ToolEvents &events);
  std::string endCall();

  const ChatTools &tools;
  ToolCallParser parser;
  std::string text, json;
  std::string name, arguments;
  size_t count = 0;
  /// Whether the text that was shown last ends a line.
  bool isAtLine = true;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CALLS_CHATTOOLS_H
