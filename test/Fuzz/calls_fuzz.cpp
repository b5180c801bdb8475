//===- calls_fuzz.cpp - Untrusted answers with tool calls -----------------===//
//
// The first byte of an input is the format, and the second is the size of the
// pieces. The rest is an answer. Its parts must account for each byte, must not
// depend on the pieces, and must have valid arguments.
//
// With a first byte from 128 on, the rest is the schema of a tool, and the
// second byte is a seed. Random texts of the grammar of calls must be calls.
//
//===----------------------------------------------------------------------===//

#include "runtime/calls/CallGrammar.h"
#include "runtime/chat/tools/JsonScanner.h"
#include "runtime/chat/tools/ToolCallParser.h"
#include "test/Chat/CallSampler.h"

#include <cstdlib>

using namespace mtp;

namespace {

constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "f", "parameters": {
    "properties": {
      "s": {"type": "string"}, "i": {"type": ["integer", "null"]},
      "n": {"type": "number"}, "b": {"type": "boolean"},
      "a": {"type": "array"}, "o": {"type": "object"}}}}},
  {"type": "function", "function": {"name": "g"}}])";

/// The parts of an answer, with all pieces of one kind together.
struct Parts {
  std::string content, calls, bytes;

  bool operator==(const Parts &) const = default;
};

void require(bool holds) {
  if (!holds)
    std::abort();
}

Parts parse(ToolFormat format, const ToolSet &tools, std::string_view text,
            size_t piece) {
  ToolCallParser parser(format, tools);
  ToolEvents events;
  for (size_t at = 0; at < text.size(); at += piece)
    parser.append(text.substr(at, piece), events);
  parser.finish(events);
  Parts parts;
  std::string name, arguments;
  using Kind = ToolEvent::Kind;
  for (const ToolEvent &event : events) {
    if (event.kind == Kind::Begin) {
      name = event.text;
      arguments.clear();
      require(tools.find(name) != nullptr);
      continue;
    }
    if (event.kind == Kind::Arguments) {
      arguments += event.text;
      continue;
    }
    if (event.kind == Kind::End) {
      require(arguments.starts_with('{') && JsonScanner::isValue(arguments));
      parts.calls += name + arguments + "\n";
    } else if (event.kind != Kind::Markup) {
      parts.content += event.text;
    }
    parts.bytes += event.text;
  }
  return parts;
}

/// Samples texts of the calls of a tool, which must be calls only.
void checkGrammar(ToolFormat format, std::string_view schema, uint64_t seed) {
  auto tools = ToolSet::read(
      R"([{"type": "function", "function": {"name": "f", "parameters": )" +
      std::string(schema) + "}}]");
  if (!tools)
    return;
  auto grammar = compileCalls(format, *tools, {});
  if (!grammar)
    return;
  test::CallSampler sampler(*grammar);
  for (uint64_t i = 0; i < 3; ++i) {
    auto text = sampler.sample(seed * 3 + i, /*most=*/600);
    if (!text)
      continue;
    std::string answer =
        format == ToolFormat::Harmony
            ? "<|start|>assistant" + std::string(trimmed(*text))
            : *text;
    Parts parts = parse(format, *tools, answer, answer.size() + 1);
    require(!parts.calls.empty() && trimmed(parts.content).empty());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Result<ToolSet> tools = ToolSet::read(kTools);
  if (size < 2 || !tools)
    return 0;
  std::string_view text(reinterpret_cast<const char *>(data) + 2, size - 2);
  size_t formats = size_t(ToolFormat::Json) + 1;
  auto format = ToolFormat(data[0] % 128 % formats);
  if (data[0] >= 128) {
    checkGrammar(format, text, data[1]);
    return 0;
  }
  Parts whole = parse(format, *tools, text, std::max<size_t>(1, text.size()));
  require(whole.bytes == text);
  require(parse(format, *tools, text, size_t(data[1] % 32) + 1) == whole);
  return 0;
}
