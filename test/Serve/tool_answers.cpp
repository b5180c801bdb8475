//===- tool_answers.cpp - Answers with calls, for clients -----------------===//
//
// Prints answers with tool calls as one JSON object, whole and as events. A
// test gives them to a client of the API.
//
//===----------------------------------------------------------------------===//

#include "test/Serve/ToolRig.h"

#include <cstdio>

using namespace mtp;
using namespace mtp::test;

int main() {
  ToolRig rig;
  Answered chat(rig, AnswerForm::OpenAi), responses(rig, AnswerForm::Responses);
  std::string text = strCat("<think>hm</think>Two:\n", kCall, "\n", kCall);
  std::string broken(kCall.substr(0, kCall.size() - 20));
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("arguments", kArguments);
  json.field("chat", chat.whole(text));
  json.field("chat_events", chat.stream(text));
  json.field("broken", broken);
  json.field("broken_chat", chat.whole(broken, FinishReason::Length));
  json.field("broken_events", chat.stream(broken, FinishReason::Length));
  json.field("response", responses.whole(text));
  json.field("response_events", responses.stream(text));
  json.endObject();
  std::puts(json.text().c_str());
  return 0;
}
