//===- call_samples.cpp - Random calls of all formats ---------------------===//
//
// call_samples SCHEMAS COUNT: makes a tool of each schema in a file, samples
// texts of the grammar of its calls in each format, and parses them. Prints a
// line of JSON for each call, or for a schema that a format refuses:
// {"format": ..., "schema": index, "arguments": ...} or "refused".
//
//===----------------------------------------------------------------------===//

#include "runtime/calls/CallGrammar.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"
#include "runtime/json/JsonWriter.h"
#include "test/Chat/CallSampler.h"

#include "runtime/chat/tools/ToolCallParser.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace mtp;
using namespace mtp::test;

namespace {

struct Case {
  ToolFormat format;
  std::string_view name;
  size_t schema;

  void print(const char *member, std::string_view json) const {
    JsonWriter line(JsonWriter::Layout::OneLine);
    line.beginObject();
    line.field("format", name);
    line.field("schema", schema);
    line.key(member);
    line.raw(json);
    line.endObject();
    std::cout << line.text() << '\n';
  }
};

/// Prints the arguments of a text's calls. Returns whether the text has calls
/// only.
bool printCalls(const Case &one, const ToolSet &tools, std::string_view text) {
  ToolCallParser parser(one.format, tools);
  ToolEvents events;
  bool isHarmony = one.format == ToolFormat::Harmony;
  parser.append(isHarmony ? strCat("<|start|>assistant", trimmed(text))
                          : std::string(text),
                events);
  parser.finish(events);
  std::string arguments;
  size_t calls = 0;
  JsonTree tree;
  for (const ToolEvent &event : events)
    switch (event.kind) {
    case ToolEvent::Kind::Begin:
      arguments.clear();
      break;
    case ToolEvent::Kind::Arguments:
      arguments += event.text;
      break;
    case ToolEvent::Kind::End:
      ++calls;
      if (!tree.parse(arguments).isOk())
        return false;
      // On one line.
      one.print("arguments", simdjson::minify(tree.root()));
      break;
    case ToolEvent::Kind::Broken:
      return false;
    case ToolEvent::Kind::Content:
      if (!trimmed(event.text).empty())
        return false;
      break;
    case ToolEvent::Kind::Markup:
      break;
    }
  return calls > 0;
}

/// Samples the calls of one schema in one format. Returns whether all are
/// calls.
bool sampleCase(const Case &one, const ToolSet &tools, uint64_t count) {
  auto grammar = compileCalls(one.format, tools, {});
  if (!grammar) {
    one.print("refused", jsonQuoted(grammar.status().message()));
    return true;
  }
  CallSampler sampler(*grammar);
  for (uint64_t seed = 0; seed < count; ++seed)
    if (auto text = sampler.sample(seed);
        text && !printCalls(one, tools, *text)) {
      std::cerr << one.name << ": expected calls, got " << *text << '\n';
      return false;
    }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::ifstream file(argv[1]);
  std::string json((std::istreambuf_iterator<char>(file)), {});
  JsonTree tree;
  simdjson::dom::array list;
  if (!tree.parse(json).isOk() || tree.root().get(list))
    return 2;
  size_t index = 0;
  for (simdjson::dom::element one : list) {
    auto tools = ToolSet::read(
        strCat(R"([{"type": "function", "function": {"name": "f", )",
               R"("parameters": )",
               simdjson::minify(one.at_key("schema").value_unsafe()), "}}]"));
    for (std::string_view name : toolFormatNames())
      if (name != "none" &&
          !sampleCase({*findToolFormat(name), name, index}, *tools,
                      std::strtoull(argv[2], nullptr, 10)))
        return 1;
    ++index;
  }
  return 0;
}
