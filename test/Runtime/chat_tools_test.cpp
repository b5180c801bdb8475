//===- chat_tools_test.cpp - mtp-run --chat --tools -----------------------===//

#include "support/FakeModel.h"
#include "tools/mtp-run/Conversation.h"
#include "tools/mtp-run/calls/ChatTools.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"f","parameters":{}}}])";

std::shared_ptr<const ChatTemplate> templateOf(const std::string &source) {
  return *ChatTemplate::parse({{{"default", source}}, {}});
}

/// Reads the tools of a file with this text.
Result<ChatTools> readTools(std::string_view text, const ChatTemplate &chat,
                            std::optional<ToolFormat> format = std::nullopt) {
  std::string path = writeFile("chat_tools.json", {text.begin(), text.end()});
  Result<ChatTools> tools = readChatTools(path, chat, format);
  std::remove(path.c_str());
  return tools;
}

/// Returns the message of an error without the path of the file.
std::string errorOf(const Result<ChatTools> &tools) {
  std::string message(tools.status().message());
  size_t at = message.find(".json: ");
  return at == message.npos ? message : message.substr(at + 7);
}

} // namespace

TEST(ChatTools, areReadFromAFile) {
  auto chat = templateOf("{{ tools | tojson }}<tool_call>");
  for (const std::string &text :
       {std::string(kTools), "{\"tools\": " + std::string(kTools) + "}"}) {
    Result<ChatTools> tools = readTools(text, *chat);
    ASSERT_TRUE(tools.isOk()) << tools.status().toString();
    EXPECT_EQ(tools->json, kTools);
    EXPECT_EQ(tools->format, ToolFormat::Hermes);
    EXPECT_NE(tools->set.find("f"), nullptr);
  }
  EXPECT_EQ(readTools(kTools, *chat, ToolFormat::Glm)->format, ToolFormat::Glm);
  EXPECT_EQ(errorOf(readTools("{}", *chat)), "expected 'tools', got none");
  EXPECT_EQ(errorOf(readTools("[{}]", *chat)), "[0].type: expected 'function'");
  EXPECT_NE(errorOf(readTools("[", *chat)), "");
  EXPECT_EQ(errorOf(readTools(kTools, *templateOf("{{ messages }}"))),
            "the chat template has no known format of tool calls; give "
            "--tool-parser");
  EXPECT_FALSE(readChatTools("none.json", *chat, std::nullopt).isOk());
}

TEST(ChatTools, joinTheVariables) {
  ChatTools tools;
  tools.json = "[1]";
  EXPECT_EQ(tools.addTo(""), R"({"tools": [1]})");
  EXPECT_EQ(tools.addTo("{ }"), R"({"tools": [1] })");
  EXPECT_EQ(tools.addTo(R"({"a": 1})"), R"({"tools": [1], "a": 1})");
}

TEST(ChatTools, areShownOnLines) {
  auto chat = templateOf("<tool_call>");
  Result<ChatTools> tools = readTools(kTools, *chat);
  ASSERT_TRUE(tools.isOk());
  const std::string call =
      R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>)";
  const std::string text = "So:\n" + call + call + " End <tool_call>{";
  for (size_t bytes : {size_t(1), size_t(5), text.size()}) {
    CallReport report(*tools);
    std::string shown;
    for (size_t at = 0; at < text.size(); at += bytes)
      shown += report.append(text.substr(at, bytes));
    shown += report.finish();
    EXPECT_EQ(shown, "So:\n[call] f {\"a\": 1}\n[call] f {\"a\": 1}\n"
                     " End <tool_call>{");
    EXPECT_EQ(report.content(), "So: End <tool_call>{");
    EXPECT_EQ(report.calls(),
              R"({"id": "call00000", "type": "function", "function": {"name": )"
              R"("f", "arguments": {"a": 1}}}, {"id": "call00001", "type": )"
              R"("function", "function": {"name": "f", "arguments": )"
              R"({"a": 1}}})");
  }
}

TEST(ChatTools, areMessagesOfTheConversation) {
  auto chat = templateOf("{% for m in messages %}{{ m }};{% endfor %}");
  for (bool isNull : {false, true}) {
    Conversation talk;
    talk.ask("q");
    talk.answer("", "", R"({"id": "x"})", isNull);
    Result<std::string> text = chat->render(talk.request(""));
    ASSERT_TRUE(text.isOk());
    EXPECT_EQ(*text, std::string("{'role': 'user', 'content': 'q'};{'role': "
                                 "'assistant', 'content': ") +
                         (isNull ? "None" : "''") +
                         ", 'tool_calls': [{'id': 'x'}]};");
  }
}
