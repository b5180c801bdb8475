//===- ToolTestUtil.h - Answers with tool calls in tests --------*- C++ -*-===//

#ifndef MTP_TEST_CHAT_TOOLTESTUTIL_H
#define MTP_TEST_CHAT_TOOLTESTUTIL_H

#include "runtime/chat/tools/ToolCallParser.h"
#include "runtime/jinja/value/Json.h"
#include "runtime/jinja/value/JsonReader.h"

#include <gtest/gtest.h>

namespace mtp::test {

/// Returns JSON with sorted keys, so that equal values have equal texts.
inline std::string sortedJson(std::string_view json) {
  auto value = readTemplateJson(json);
  if (!value.isOk())
    return "not JSON: " + std::string(json);
  jinja::JsonStyle style;
  style.sortKeys = true;
  return *jinja::toJson(*value, style);
}

/// The tools of the tests, in OpenAI's form.
inline constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "write_file",
    "description": "Write a file",
    "parameters": {"type": "object", "properties": {
      "path": {"type": "string", "description": "Its path"},
      "text": {"type": "string", "description": "Its text"},
      "count": {"type": "integer", "description": "Copies"},
      "ratio": {"type": "number", "description": "A share"},
      "deep": {"type": "boolean", "description": "Make folders"},
      "tags": {"type": "array", "items": {"type": "string"},
               "description": "Tags"},
      "options": {"type": "object", "description": "More"}},
      "required": ["path", "text"]}}},
  {"type": "function", "function": {"name": "calculator",
    "description": "Compute",
    "parameters": {"type": "object", "properties": {
      "expression": {"type": "string", "description": "A formula"}},
      "required": ["expression"]}}}])";

inline const ToolSet &testTools() {
  static const ToolSet tools = [] {
    auto read = ToolSet::read(kTools);
    EXPECT_TRUE(read.isOk()) << read.status().toString();
    return *std::move(read);
  }();
  return tools;
}

/// An answer as a parser divides it.
struct ParsedAnswer {
  /// Content, and the sources of broken calls.
  std::string content;
  /// "name {arguments}" of each complete call.
  std::vector<std::string> calls;
  /// All bytes of the answer that events account for.
  std::string bytes;

  bool operator==(const ParsedAnswer &) const = default;
};

/// Collects events as an API does: a broken call is content.
inline ParsedAnswer collect(const ToolEvents &events) {
  ParsedAnswer answer;
  std::string name, arguments;
  bool isOpen = false;
  using Kind = ToolEvent::Kind;
  for (const ToolEvent &event : events) {
    bool isInCall = event.kind == Kind::Arguments || event.kind == Kind::End ||
                    event.kind == Kind::Broken;
    EXPECT_EQ(isInCall, isOpen) << "an event at a wrong place";
    switch (event.kind) {
    case Kind::Begin:
      name = event.text;
      arguments.clear();
      isOpen = true;
      continue;
    case Kind::Arguments:
      arguments += event.text;
      continue;
    case Kind::End:
      answer.calls.push_back(name + " " + sortedJson(arguments));
      isOpen = false;
      break;
    case Kind::Broken:
      isOpen = false;
      [[fallthrough]];
    case Kind::Content:
      answer.content += event.text;
      break;
    case Kind::Markup:
      break;
    }
    answer.bytes += event.text;
  }
  EXPECT_FALSE(isOpen) << "a call without an end";
  return answer;
}

/// Parses a text in pieces of `bytes` bytes, and checks that no byte is lost.
inline ParsedAnswer parseIn(ToolFormat format, std::string_view text,
                            size_t bytes, const ToolSet &tools = testTools()) {
  ToolCallParser parser(format, tools);
  ToolEvents events;
  for (size_t at = 0; at < text.size(); at += bytes)
    parser.append(text.substr(at, bytes), events);
  parser.finish(events);
  ParsedAnswer answer = collect(events);
  EXPECT_EQ(answer.bytes, text);
  return answer;
}

/// Parses a text, whose parts must not depend on the size of the pieces.
inline ParsedAnswer parse(ToolFormat format, std::string_view text,
                          const ToolSet &tools = testTools()) {
  ParsedAnswer whole =
      parseIn(format, text, std::max<size_t>(1, text.size()), tools);
  for (size_t bytes : {1, 2, 3, 5, 8, 13, 21, 34})
    EXPECT_EQ(parseIn(format, text, bytes, tools), whole)
        << "pieces of " << bytes << ": " << text;
  return whole;
}

} // namespace mtp::test

#endif // MTP_TEST_CHAT_TOOLTESTUTIL_H
