//===- SchemaRules.cpp - Subschemas as rules of an automaton --------------===//

#include "runtime/grammar/schema/SchemaRules.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/regex/BoundedExpression.h"
#include "runtime/grammar/regex/Pattern.h"
#include "runtime/grammar/schema/Formats.h"
#include "runtime/grammar/schema/NumberRange.h"

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

} // namespace

Status SchemaRules::fill() {
  while (!waiting.empty() && !builder.isFull()) {
    auto [schemas, rule] = std::move(waiting.back());
    waiting.pop_back();
    MTP_ASSIGN_OR_RETURN(auto cases, shapes.read(schemas));
    for (const Shape &shape : cases)
      MTP_RETURN_IF_ERROR(
          addShape(shape, builder.startOf(rule), builder.endOf(rule)));
  }
  return okStatus();
}

RuleId SchemaRules::ruleOf(const NodeSet &schemas) {
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

Status SchemaRules::addShape(const Shape &shape, StateId from, StateId to) {
  if (shape.values) {
    for (JsonElement value : *shape.values)
      text.addValue(from, value, to);
    return okStatus();
  }
  if (shape.types & kNull)
    text.addNull(from, to);
  if (shape.types & kBoolean) {
    text.addBoolean(from, true, to);
    text.addBoolean(from, false, to);
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

Result<std::optional<SchemaRules::Lengths>>
SchemaRules::lengthsOf(const Shape &shape) {
  if (!shape.unknownFormat.empty())
    return document.unsupported(shape.patternNode, "format",
                                strCat("expected one of ", formatNames(),
                                       ", got '", shape.unknownFormat, "'"));
  bool isBounded = shape.maxLength != Shape::kUnbounded;
  if (shape.minLength > shape.maxLength)
    return std::optional<Lengths>();
  if (shape.minLength > limits.states ||
      (isBounded && shape.maxLength > limits.states))
    return document.failure(StatusCode::ResourceExhausted, shape.lengthNode,
                            isBounded ? "maxLength" : "minLength",
                            "expected a shorter string");
  Lengths lengths;
  lengths.min = static_cast<uint32_t>(shape.minLength);
  if (isBounded)
    lengths.max = static_cast<uint32_t>(shape.maxLength);
  return std::optional(lengths);
}

Status SchemaRules::addStringShape(const Shape &shape, StateId from,
                                   StateId to) {
  MTP_ASSIGN_OR_RETURN(std::optional<Lengths> lengths, lengthsOf(shape));
  if (!lengths)
    return okStatus();
  if (shape.pattern) {
    StateId first = builder.addState(), last = builder.addState();
    text.addQuote(from, first);
    text.addQuote(last, to);
    return addPattern(shape, *lengths, first, last,
                      [&](StateId a, const CodePoints &set, StateId b) {
                        text.addCharacter(a, set, b);
                      });
  }
  if (lengths->isFree())
    text.addString(from, to);
  else
    text.addString(from, lengths->min, lengths->max, to);
  return okStatus();
}

Status SchemaRules::addRawStrings(const Shape &shape, const RawText &raw,
                                  StateId from, StateId to) {
  MTP_ASSIGN_OR_RETURN(std::optional<Lengths> lengths, lengthsOf(shape));
  if (!lengths)
    return okStatus();
  CodePoints harmless = raw.harmless();
  if (shape.pattern)
    return addPattern(shape, *lengths, from, to,
                      [&](StateId a, const CodePoints &set, StateId b) {
                        builder.addCharacter(a, set.intersection(harmless), b);
                      });
  if (lengths->isFree())
    addRawText(builder, raw, from, to);
  else
    addRepeat(
        builder, lengths->min, lengths->max, from, to,
        [&](StateId a, StateId b) { builder.addCharacter(a, harmless, b); });
  return okStatus();
}

Status SchemaRules::addPattern(const Shape &shape, Lengths lengths,
                               StateId from, StateId to,
                               const CharacterWriter &write) {
  auto pattern = parsePattern(
      *shape.pattern,
      shape.isPatternWhole ? MatchMode::Whole : MatchMode::Search, limits);
  if (!pattern.isOk())
    return document.failure(pattern.status().code(), shape.patternNode,
                            shape.patternKeyword, pattern.status().message());
  if (lengths.isFree())
    addExpression(builder, *pattern, from, to, write);
  else
    addBoundedExpression(builder, *pattern, lengths.min, lengths.max, from, to,
                         write);
  return okStatus();
}

void SchemaRules::addNumberShape(const Shape &shape, StateId from, StateId to) {
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

void SchemaRules::addMemberValue(const NodeSet &schemas, StateId from,
                                 StateId to) {
  StateId value = builder.addState();
  text.addSeparator(from, ':', value);
  builder.addCall(value, ruleOf(schemas), to);
}

void SchemaRules::addObject(const Shape &shape, StateId from, StateId to) {
  StateId open = builder.addState(), first = builder.addState(),
          last = builder.addState();
  builder.addBytes(from, '{', '{', open);
  text.addGap(open, first);
  addProperties(shape, first, last);
  builder.addBytes(last, '}', '}', to);
}

void SchemaRules::addProperties(const Shape &shape, StateId from, StateId to) {
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
    addMember([&](StateId a, StateId b) { text.addName(a, property.name, b); },
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
  if (shape.hasOthers)
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

void SchemaRules::addArray(const Shape &shape, StateId from, StateId to) {
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
