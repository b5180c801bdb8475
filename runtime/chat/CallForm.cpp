//===- CallForm.cpp - Messages with tool calls in templates ---------------===//

#include "runtime/chat/CallForm.h"

#include "runtime/core/StrCat.h"

using namespace mtp;

/// Returns a conversation with a call. Templates of Mistral want ids of nine
/// letters or digits.
static std::string conversationIn(const CallForm &form) {
  return strCat(
      R"({"tools": [{"type": "function", "function": {"name": "probe", )"
      R"("description": "d", "parameters": {"type": "object", "properties": )"
      R"({"key": {"type": "string", "description": "d"}}}}}], )"
      R"("messages": [{"role": "user", "content": "q"}, {"role": "assistant", )"
      R"("content": )",
      form.hasNullContent ? "null" : R"("")",
      R"(, "tool_calls": [{"id": "abcdefghi", "type": "function", )"
      R"("function": {"name": "probe", "arguments": )",
      form.hasTextArguments ? R"("{\"key\": \"probed value\"}")"
                            : R"({"key": "probed value"})",
      R"(}}]}], "add_generation_prompt": false})");
}

CallForm mtp::findCallForm(const ChatTemplate &chat) {
  for (CallForm form : {CallForm{false, false}, CallForm{false, true},
                        CallForm{true, false}, CallForm{true, true}}) {
    Result<std::string> text = chat.render(conversationIn(form));
    // A text that is quoted once more has backslashes.
    std::string_view shown =
        form.hasTextArguments ? R"({"key": "probed value"})" : "probed value";
    if (text && text->find(shown) != std::string::npos)
      return form;
  }
  return {};
}
