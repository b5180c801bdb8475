//===- SchemaCompiler.cpp - JSON Schema to automata -----------------------===//
//
// A rule of the automaton belongs to a set of subschemas that apply to one
// value. The rule of a set is made once, so recursive schemas end. Rules wait
// in a list until they are filled: no stack grows with the schema.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaCompiler.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/regex/BoundedExpression.h"
#include "runtime/grammar/regex/Pattern.h"
#include "runtime/grammar/schema/Formats.h"
#include "runtime/grammar/schema/JsonText.h"
#include "runtime/grammar/schema/NumberRange.h"
#include "runtime/grammar/schema/ShapeReader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Returns a number in plain decimal digits.
std::string decimal(double number) {
  char text[400];
  auto end = std::to_chars(text, text + sizeof(text), number,
                           std::chars_format::fixed);
  return number == 0 ? "0" : std::string(text, end.ptr);
}

class Compiler {
public:
  Compiler(SchemaDocument &document, const Limits &limits)
      : document(document), limits(limits), builder(limits),
        text(builder, limits), shapes(document, limits) {}

  Result<Automaton> run();

private:
  /// Returns the rule of values that match all schemas.
  RuleId ruleOf(const NodeSet &schemas);
  Status addShape(const Shape &shape, StateId from, StateId to);
  Status addStringShape(const Shape &shape, StateId from, StateId to);
  /// Adds strings of a pattern or format with `min` to `max` characters.
  Status addPattern(const Shape &shape, StateId from, uint32_t min,
                    uint32_t max, StateId to);
  void addNumberShape(const Shape &shape, StateId from, StateId to);
  void addObject(const Shape &shape, StateId from, StateId to);
  void addProperties(const Shape &shape, StateId from, StateId to);
  /// Adds `: value` after a name.
  void addMemberValue(const NodeSet &schemas, StateId from, StateId to);
  void addArray(const Shape &shape, StateId from, StateId to);

  SchemaDocument &document;
  const Limits &limits;
  AutomatonBuilder builder;
  JsonText text;
  ShapeReader shapes;
  std::map<NodeSet, RuleId> rules;
  /// Sets whose rule has no edges yet.
  std::vector<std::pair<NodeSet, RuleId>> waiting;
};

Result<Automaton> Compiler::run() {
  RuleId root = ruleOf({document.root()});
  while (!waiting.empty() && !builder.isFull()) {
    auto [schemas, rule] = std::move(waiting.back());
    waiting.pop_back();
    MTP_ASSIGN_OR_RETURN(auto cases, shapes.read(schemas));
    for (const Shape &shape : cases)
      MTP_RETURN_IF_ERROR(
          addShape(shape, builder.startOf(rule), builder.endOf(rule)));
  }
  return std::move(builder).finish(root);
}

RuleId Compiler::ruleOf(const NodeSet &schemas) {
  auto [entry, isNew] = rules.try_emplace(schemas, 0);
  if (isNew) {
    std::string name = "any value";
    if (!schemas.empty()) {
      const std::string &path = document.path(*schemas.begin());
      name = path.empty() ? "#" : path;
    }
    entry->second = builder.addRule(std::move(name));
    waiting.emplace_back(schemas, entry->second);
  }
  return entry->second;
}

Status Compiler::addShape(const Shape &shape, StateId from, StateId to) {
  if (shape.values) {
    for (JsonElement value : *shape.values)
      text.addValue(from, value, to);
    return okStatus();
  }
  if (shape.types & kNull)
    text.addText(from, "null", to);
  if (shape.types & kBoolean) {
    text.addText(from, "true", to);
    text.addText(from, "false", to);
  }
  if (shape.types & kString)
    MTP_RETURN_IF_ERROR(addStringShape(shape, from, to));
  if (shape.types & kNumber)
    addNumberShape(shape, from, to);
  if (shape.types & kObject)
    addObject(shape, from, to);
  if (shape.types & kArray)
    addArray(shape, from, to);
  return okStatus();
}

Status Compiler::addStringShape(const Shape &shape, StateId from, StateId to) {
  if (!shape.unknownFormat.empty())
    return document.unsupported(shape.patternNode, "format",
                                strCat("expected one of ", formatNames(),
                                       ", got '", shape.unknownFormat, "'"));
  bool isBounded = shape.maxLength != Shape::kUnbounded;
  if (shape.minLength > shape.maxLength)
    return okStatus();
  if (shape.minLength > limits.states ||
      (isBounded && shape.maxLength > limits.states))
    return document.failure(StatusCode::ResourceExhausted, shape.lengthNode,
                            isBounded ? "maxLength" : "minLength",
                            "expected a shorter string");
  auto min = static_cast<uint32_t>(shape.minLength);
  auto max = isBounded ? static_cast<uint32_t>(shape.maxLength)
                       : Expression::kUnbounded;
  if (shape.pattern)
    return addPattern(shape, from, min, max, to);
  if (min == 0 && !isBounded)
    text.addString(from, to);
  else
    text.addString(from, min, max, to);
  return okStatus();
}

Status Compiler::addPattern(const Shape &shape, StateId from, uint32_t min,
                            uint32_t max, StateId to) {
  auto pattern = parsePattern(
      *shape.pattern,
      shape.isPatternWhole ? MatchMode::Whole : MatchMode::Search, limits);
  if (!pattern.isOk())
    return document.failure(pattern.status().code(), shape.patternNode,
                            shape.patternKeyword, pattern.status().message());
  StateId first = builder.addState(), last = builder.addState();
  builder.addBytes(from, '"', '"', first);
  builder.addBytes(last, '"', '"', to);
  auto write = [&](StateId a, const CodePoints &set, StateId b) {
    text.addCharacter(a, set, b);
  };
  if (min == 0 && max == Expression::kUnbounded)
    addExpression(builder, *pattern, first, last, write);
  else
    addBoundedExpression(builder, *pattern, min, max, first, last, write);
  return okStatus();
}

void Compiler::addNumberShape(const Shape &shape, StateId from, StateId to) {
  bool isInteger = !(shape.types & kFraction);
  bool isBounded = std::isfinite(shape.least) || std::isfinite(shape.most);
  if (!isBounded)
    return isInteger ? text.addInteger(from, to) : text.addNumber(from, to);
  if (isInteger && shape.minimum > shape.maximum)
    return;
  if (!isInteger && shape.least > shape.most)
    return;
  std::optional<NumberBound> least, most;
  if (std::isfinite(shape.least))
    least = {isInteger ? std::to_string(shape.minimum) : decimal(shape.least),
             !isInteger && shape.isLeastExclusive};
  if (std::isfinite(shape.most))
    most = {isInteger ? std::to_string(shape.maximum) : decimal(shape.most),
            !isInteger && shape.isMostExclusive};
  addNumbers(builder, from, least, most, !isInteger, to);
}

void Compiler::addMemberValue(const NodeSet &schemas, StateId from,
                              StateId to) {
  StateId value = builder.addState();
  text.addSeparator(from, ':', value);
  builder.addCall(value, ruleOf(schemas), to);
}

void Compiler::addObject(const Shape &shape, StateId from, StateId to) {
  StateId open = builder.addState(), first = builder.addState(),
          last = builder.addState();
  builder.addBytes(from, '{', '{', open);
  text.addGap(open, first);
  addProperties(shape, first, last);
  builder.addBytes(last, '}', '}', to);
}

void Compiler::addProperties(const Shape &shape, StateId from, StateId to) {
  // For each property: the state in front of it without any member before, the
  // state after a member, and the state after a comma. They skip the property
  // if it is optional.
  StateId none = from, some = builder.addState(), comma = builder.addState();
  std::vector<std::string> names;
  auto addMember = [&](auto addName, const NodeSet &schemas, StateId after) {
    StateId name = builder.addState(), colon = builder.addState();
    builder.addEmpty(none, name);
    builder.addEmpty(comma, name);
    addName(name, colon);
    addMemberValue(schemas, colon, after);
  };
  // Nothing leads to the first `some` and `comma`: no member is before them.
  for (const Property &property : shape.properties) {
    if (builder.isFull())
      return;
    names.push_back(property.name);
    StateId nextSome = builder.addState(), nextComma = builder.addState();
    text.addSeparator(nextSome, ',', nextComma);
    addMember(
        [&](StateId a, StateId b) { text.addQuoted(a, property.name, b); },
        property.schemas, nextSome);
    if (property.isRequired) {
      none = builder.addState();
    } else {
      StateId nextNone = builder.addState();
      builder.addEmpty(none, nextNone);
      builder.addEmpty(some, nextSome);
      builder.addEmpty(comma, nextComma);
      none = nextNone;
    }
    some = nextSome;
    comma = nextComma;
  }
  if (shape.properties.empty())
    text.addSeparator(some, ',', comma);
  addMember(
      [&](StateId a, StateId b) {
        if (names.empty())
          text.addString(a, b);
        else
          text.addStringExcept(a, names, b);
      },
      shape.additional, some);
  builder.addEmpty(none, to);
  text.addGap(some, to);
}

void Compiler::addArray(const Shape &shape, StateId from, StateId to) {
  uint64_t min = shape.minItems, max = shape.maxItems;
  if (min > max)
    return;
  StateId open = builder.addState(), first = builder.addState(),
          last = builder.addState(), close = builder.addState();
  builder.addBytes(from, '[', '[', open);
  text.addGap(open, first);
  builder.addBytes(close, ']', ']', to);
  if (min == 0)
    builder.addEmpty(first, close);
  text.addGap(last, close);
  // Items with a place of their own: prefix items and counted items.
  uint64_t counted = std::max<uint64_t>(shape.prefix.size(), min);
  if (max != Shape::kUnbounded)
    counted = max;
  StateId at = builder.addState();
  builder.addEmpty(first, at);
  for (uint64_t i = 0; i < counted && !builder.isFull(); ++i) {
    const NodeSet &item =
        i < shape.prefix.size() ? shape.prefix[i] : shape.items;
    StateId after = builder.addState();
    builder.addCall(at, ruleOf(item), after);
    if (i + 1 >= min)
      builder.addEmpty(after, last);
    at = builder.addState();
    text.addSeparator(after, ',', at);
  }
  if (max != Shape::kUnbounded)
    return;
  StateId after = builder.addState();
  builder.addCall(at, ruleOf(shape.items), after);
  text.addSeparator(after, ',', at);
  builder.addEmpty(after, last);
}

} // namespace

Result<Automaton> mtp::grammar::compileJsonSchema(std::string_view schema,
                                                  const Limits &limits) {
  MTP_ASSIGN_OR_RETURN(SchemaDocument document,
                       SchemaDocument::parse(schema, limits.nesting));
  return Compiler(document, limits).run();
}
