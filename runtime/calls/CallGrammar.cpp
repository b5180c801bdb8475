//===- CallGrammar.cpp - Grammars of answers with tool calls --------------===//

#include "runtime/calls/CallGrammar.h"

#include "runtime/calls/ArgumentRules.h"
#include "runtime/chat/tools/CallReaders.h"
#include "runtime/chat/tools/CallText.h"
#include "runtime/chat/tools/ToolCallParser.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"

#include <set>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// The most white space between two tokens of JSON. Models seldom write more,
/// and small ones might write nothing else.
constexpr uint32_t kMostJsonSpace = 1;

class CallCompiler {
public:
  CallCompiler(ToolFormat format, const ToolSet &tools,
               const CallDemand &demand)
      : format(format), tools(tools), demand(demand), limits(limitsOf(format)),
        builder(limits) {}

  Result<std::shared_ptr<const Grammar>> run();

private:
  static Limits limitsOf(ToolFormat format);
  /// Adds text of a layout, in which bytes can stand for other text.
  void addLayoutText(StateId from, std::string_view text, StateId to);
  Status addCalls(const CallLayout &layout, StateId from, StateId to);
  Result<RuleId> argumentsOf(size_t tool, const CallLayout &layout);
  /// Adds text without calls. It may go on at `calls`.
  void addFreeText(StateId from, StateId calls, StateId to);

  ToolFormat format;
  const ToolSet &tools;
  const CallDemand &demand;
  Limits limits;
  AutomatonBuilder builder;
  std::vector<std::unique_ptr<ArgumentRules>> arguments;
  /// The rule of each tool's arguments in the form of the last layout.
  std::vector<std::optional<RuleId>> made;
  ArgumentForm madeForm = ArgumentForm::Json;
};

Limits CallCompiler::limitsOf(ToolFormat format) {
  Limits limits;
  limits.whitespace = format == ToolFormat::Gemma4 ? 0 : kMostJsonSpace;
  return limits;
}

void CallCompiler::addLayoutText(StateId from, std::string_view text,
                                 StateId to) {
  constexpr std::string_view kStands{"\1\2"};
  for (size_t at; (at = text.find_first_of(kStands)) != text.npos;) {
    StateId before = builder.addState(), after = builder.addState();
    builder.addText(from, text.substr(0, at), before);
    bool isId = text[at] == kAnyId;
    addRepeat(builder, isId ? 9 : 1, isId ? 9 : 3, before, after,
              [&](StateId a, StateId b) {
                builder.addBytes(a, '0', '9', b);
                if (!isId)
                  return;
                builder.addBytes(a, 'A', 'Z', b);
                builder.addBytes(a, 'a', 'z', b);
              });
    text.remove_prefix(at + 1);
    from = after;
  }
  builder.addText(from, text, to);
}

/// Returns a schema of objects with the properties of a tool, of any type and
/// none required. Formats that are no JSON can write declared properties only.
std::string looseSchema(const Tool &tool) {
  std::string members;
  std::set<std::string, std::less<>> seen;
  auto add = [&](std::string_view name) {
    if (seen.emplace(name).second)
      members += strCat(members.empty() ? "" : ", ", jsonQuoted(name), ": {}");
  };
  // In the order in which a model writes them.
  JsonTree tree;
  simdjson::dom::object root, properties;
  if (tree.parse(tool.schema).isOk() && !tree.root().get(root) &&
      !root.at_key("properties").get(properties))
    for (auto [name, schema] : properties)
      add(name);
  for (const auto &[name, types] : tool.parameters)
    add(name);
  return strCat(R"({"type": "object", "properties": {)", members, "}}");
}

Result<RuleId> CallCompiler::argumentsOf(size_t tool,
                                         const CallLayout &layout) {
  // The layouts of a format can have other tags.
  if (layout.form != madeForm || layout.form == ArgumentForm::Tags)
    made.clear();
  madeForm = layout.form;
  made.resize(tools.tools().size());
  if (made[tool])
    return *made[tool];
  const Tool &one = tools.tools()[tool];
  bool hasSchema = demand.isRequired || one.isStrict;
  bool isJson =
      layout.form == ArgumentForm::Json || layout.form == ArgumentForm::Gemma;
  auto withPath = [tool](const Status &status) {
    return Status(status.code(),
                  strCat("[", tool, "].function.parameters",
                         status.message().starts_with("/") ? "" : ": ",
                         status.message()));
  };
  auto rules =
      ArgumentRules::create(one,
                            hasSchema ? one.schema
                            : isJson  ? std::string(R"({"type": "object"})")
                                      : looseSchema(one),
                            layout, builder, limits);
  if (!rules)
    return withPath(rules.status());
  arguments.push_back(*std::move(rules));
  Result<RuleId> rule = arguments.back()->add();
  if (!rule)
    return withPath(rule.status());
  made[tool] = *rule;
  return *rule;
}

Status CallCompiler::addCalls(const CallLayout &layout, StateId from,
                              StateId to) {
  StateId first = builder.addState(), name = builder.addState(),
          end = builder.addState(), last = builder.addState();
  builder.addText(from, layout.begin, first);
  builder.addText(first, layout.callBegin, name);
  for (size_t i = 0; i < tools.tools().size(); ++i) {
    const Tool &tool = tools.tools()[i];
    if (!tool.isCallable)
      continue;
    MTP_ASSIGN_OR_RETURN(RuleId rule, argumentsOf(i, layout));
    StateId after = builder.addState(), begin = builder.addState();
    builder.addText(name, tool.name, after);
    addLayoutText(after, layout.nameEnd, begin);
    builder.addCall(begin, rule, end);
  }
  builder.addText(end, layout.callEnd, last);
  if (demand.isParallel && !layout.isSingle) {
    StateId next = builder.addState();
    builder.addText(last, layout.between, next);
    builder.addText(next, layout.callBegin, name);
  }
  builder.addText(last, layout.end, to);
  return okStatus();
}

void CallCompiler::addFreeText(StateId from, StateId calls, StateId to) {
  if (format == ToolFormat::Harmony) {
    StateId text = builder.addState();
    builder.addText(from, "<|channel|>final<|message|>", text);
    addTextWithout(builder, {"<|"}, text, to);
    return;
  }
  // Text begins no call except the last ones.
  std::vector<std::string_view> marks;
  CodePoints notFirst;
  std::unique_ptr<CallReader> reader = makeCallReader(format);
  for (const CallOpening &opening : reader->openings())
    if (opening.isStart)
      notFirst.add(uint8_t(opening.mark[0]), uint8_t(opening.mark[0]));
    else
      marks.push_back(opening.mark);
  bool isStart = !notFirst.empty();
  for (char c : std::string_view(" \t\r\n"))
    notFirst.add(uint8_t(c), uint8_t(c));
  for (std::string_view mark : marks)
    notFirst.add(uint8_t(mark[0]), uint8_t(mark[0]));
  StateId text = builder.addState(), last = builder.addState();
  builder.addEmpty(from, to);
  builder.addEmpty(last, to);
  if (!isStart) {
    builder.addEmpty(from, text);
    builder.addEmpty(last, calls);
  } else {
    builder.addCharacter(from, notFirst.complement(), text);
  }
  if (marks.empty())
    addRepeat(builder, 0, Expression::kUnbounded, text, last,
              [&](StateId a, StateId b) {
                builder.addCharacter(a, CodePoints::all(), b);
              });
  else
    addTextWithout(builder, marks, text, last);
}

Result<std::shared_ptr<const Grammar>> CallCompiler::run() {
  if (callLayouts(format).empty())
    return invalidArgument("expected a format of tool calls, got none");
  RuleId root = builder.addRule("calls");
  StateId start = builder.addState(), calls = builder.addState(),
          to = builder.endOf(root);
  addStart(builder, demand.start, builder.startOf(root), start);
  builder.addEmpty(start, calls);
  for (const CallLayout &layout : callLayouts(format))
    MTP_RETURN_IF_ERROR(addCalls(layout, calls, to));
  if (!demand.isRequired)
    addFreeText(start, calls, to);
  MTP_ASSIGN_OR_RETURN(Automaton automaton, std::move(builder).finish(root));
  return std::make_shared<const Grammar>(std::move(automaton), limits);
}

} // namespace

Result<std::shared_ptr<const Grammar>>
mtp::compileCalls(ToolFormat format, const ToolSet &tools,
                  const CallDemand &demand) {
  return CallCompiler(format, tools, demand).run();
}

bool mtp::isCallMark(ToolFormat format, ReasoningFormat reasoning,
                     std::string_view token) {
  static const ToolSet kNone;
  return ToolCallParser(format, kNone).isMark(token) ||
         ReasoningSplitter(reasoning, "").isMark(token);
}
