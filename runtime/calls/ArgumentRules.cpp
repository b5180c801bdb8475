//===- ArgumentRules.cpp - The arguments of a tool as rules ---------------===//

#include "runtime/calls/ArgumentRules.h"

#include "runtime/chat/tools/ArgumentValue.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::grammar;

/// Returns how a layout writes JSON. Strings in front of a mark must not have
/// its first character.
static JsonStyle styleOf(const CallLayout &layout) {
  JsonStyle style;
  CodePoints angle = {{'<', '<'}};
  switch (layout.form) {
  case ArgumentForm::Json:
    // A special token in a string would end a message of Harmony.
    if (layout.format == ToolFormat::Harmony)
      style.escaped = angle;
    break;
  case ArgumentForm::Tags:
    style.escaped = angle;
    break;
  case ArgumentForm::Python:
    style.null = "None";
    style.yes = "True";
    style.no = "False";
    break;
  case ArgumentForm::Gemma:
    style.escaped = angle;
    style.isRaw = true;
    style.quote = "<|\"|>";
    style.marks = {style.quote, layout.callEnd};
    style.hasBareNames = true;
    break;
  }
  return style;
}

Result<std::unique_ptr<ArgumentRules>>
ArgumentRules::create(const Tool &tool, std::string_view schema,
                      const CallLayout &layout, AutomatonBuilder &builder,
                      const Limits &limits) {
  MTP_ASSIGN_OR_RETURN(SchemaDocument document,
                       SchemaDocument::parse(schema, limits.nesting));
  return std::unique_ptr<ArgumentRules>(
      new ArgumentRules(tool, std::move(document), layout, builder, limits));
}

ArgumentRules::ArgumentRules(const Tool &tool, SchemaDocument schema,
                             const CallLayout &layout,
                             AutomatonBuilder &builder, const Limits &limits)
    : tool(tool), document(std::move(schema)), layout(layout), builder(builder),
      rules(document, builder, limits, styleOf(layout)) {}

Result<RuleId> ArgumentRules::add() {
  RuleId rule = builder.addRule("arguments of " + tool.name);
  StateId from = builder.startOf(rule), to = builder.endOf(rule);
  MTP_ASSIGN_OR_RETURN(std::vector<Shape> shapes, objects());
  for (const Shape &shape : shapes)
    switch (layout.form) {
    case ArgumentForm::Json:
    case ArgumentForm::Gemma:
      MTP_RETURN_IF_ERROR(rules.addShape(shape, from, to));
      break;
    case ArgumentForm::Tags:
      MTP_RETURN_IF_ERROR(addTags(shape, from, to));
      break;
    case ArgumentForm::Python:
      MTP_RETURN_IF_ERROR(addKeywords(shape, from, to));
      break;
    }
  MTP_RETURN_IF_ERROR(rules.fill());
  return rule;
}

Result<std::vector<Shape>> ArgumentRules::objects() {
  MTP_ASSIGN_OR_RETURN(std::vector<Shape> shapes,
                       rules.shapesOf({document.root()}));
  for (Shape &shape : shapes) {
    shape.types &= kObject;
    if (shape.values)
      std::erase_if(*shape.values,
                    [](JsonElement value) { return !value.is_object(); });
    // A model rarely means a parameter that no schema mentions.
    if (!shape.properties.empty() && shape.additional.empty())
      shape.hasOthers = false;
  }
  std::erase_if(shapes, [](const Shape &shape) {
    return shape.values ? shape.values->empty() : shape.types == 0;
  });
  if (shapes.empty())
    return document.invalid(document.root(), "type",
                            "expected a schema of objects");
  bool isText =
      layout.form == ArgumentForm::Tags || layout.form == ArgumentForm::Python;
  for (const Shape &shape : shapes)
    if (isText && shape.values)
      return document.unsupported(document.root(), "enum",
                                  "expected 'properties' in this format of "
                                  "calls, got whole values");
  return shapes;
}

Result<bool> ArgumentRules::hasName(const Property &property) const {
  bool isPlain =
      !property.name.empty() && std::ranges::none_of(property.name, [](char c) {
        return uint8_t(c) <= ' ' ||
               std::string_view("<>\"'=,:()[]{}").find(c) != std::string::npos;
      });
  if (isPlain || !property.isRequired)
    return isPlain;
  return document.unsupported(
      document.root(), "required",
      strCat("expected names that this format of calls can write, got '",
             property.name, "'"));
}

//===----------------------------------------------------------------------===//
// Keyword arguments
//===----------------------------------------------------------------------===//

Status ArgumentRules::addKeywords(const Shape &object, StateId from,
                                  StateId to) {
  // The states in front of a parameter, without and with one before it.
  StateId none = from, some = builder.addState();
  for (const Property &property : object.properties) {
    MTP_ASSIGN_OR_RETURN(bool isWritten, hasName(property));
    if (!isWritten)
      continue;
    StateId name = builder.addState(), value = builder.addState(),
            nextSome = builder.addState();
    builder.addEmpty(none, name);
    builder.addText(some, ", ", name);
    builder.addText(name, property.name + "=", value);
    builder.addCall(value, rules.ruleOf(property.schemas), nextSome);
    if (property.isRequired) {
      none = builder.addState();
    } else {
      StateId nextNone = builder.addState();
      builder.addEmpty(none, nextNone);
      builder.addEmpty(some, nextSome);
      none = nextNone;
    }
    some = nextSome;
  }
  builder.addEmpty(none, to);
  builder.addEmpty(some, to);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Tags
//===----------------------------------------------------------------------===//

Status ArgumentRules::addTags(const Shape &object, StateId from, StateId to) {
  for (const Property &property : object.properties) {
    MTP_ASSIGN_OR_RETURN(bool isWritten, hasName(property));
    if (!isWritten)
      continue;
    StateId next = builder.addState();
    if (!property.isRequired)
      builder.addEmpty(from, next);
    MTP_RETURN_IF_ERROR(addTag(property, from, next));
    from = next;
  }
  builder.addEmpty(from, to);
  return okStatus();
}

Status ArgumentRules::addTag(const Property &property, StateId from,
                             StateId to) {
  StateId value = builder.addState(), end = builder.addState();
  builder.addText(
      from, strCat(layout.tags.keyBegin, property.name, layout.tags.keyEnd),
      value);
  MTP_RETURN_IF_ERROR(addTagValue(property, value, end));
  builder.addText(end, layout.tags.valueEnd, to);
  return okStatus();
}

/// Returns the types of JSON whose text a reader takes for a value of `types`.
static uint8_t jsonTypes(const ValueTypes &types) {
  return uint8_t((types.null || !types.string ? kNull : 0) |
                 (types.boolean ? kBoolean : 0) |
                 (types.integer || types.number ? kNumber : 0) |
                 (types.object ? kObject : 0) | (types.array ? kArray : 0));
}

/// Returns the first characters of strings that a reader could take for values
/// of other types. `free`: types of which the schema allows all values.
static CodePoints otherFirsts(const ValueTypes &types, uint8_t free) {
  CodePoints firsts;
  auto add = [&firsts](std::string_view characters) {
    for (char c : characters)
      firsts.add(uint8_t(c), uint8_t(c));
  };
  if (types.integer || types.number)
    add("-0123456789");
  if (types.object)
    add("{");
  if (types.array)
    add("[(");
  if (types.boolean && !(free & kBoolean))
    add("tTfF");
  if (types.null && !(free & kNull))
    add("nN");
  if (!firsts.empty())
    add(" \t\r\n");
  return firsts;
}

Status ArgumentRules::addTagValue(const Property &property, StateId from,
                                  StateId to) {
  MTP_ASSIGN_OR_RETURN(std::vector<Shape> shapes,
                       rules.shapesOf(property.schemas));
  ValueTypes types = tool.typesOf(property.name);
  StateId text = from, json = from;
  if (layout.tags.hasAttribute) {
    text = builder.addState();
    json = builder.addState();
    builder.addText(from, " string=\"true\">", text);
    builder.addText(from, " string=\"false\">", json);
    types = {};
    types.string = true;
  } else if (types.isUnknown() && layout.tags.isJsonByDefault) {
    builder.addCall(from, rules.ruleOf(property.schemas), to);
    return okStatus();
  } else if (types.isUnknown()) {
    types.string = true;
  }
  uint8_t other = layout.tags.hasAttribute ? uint8_t(kAnyType & ~kString)
                  : types.isOnlyString()   ? uint8_t(0)
                                           : jsonTypes(types);
  uint8_t free = 0;
  for (const Shape &shape : shapes)
    free |= shape.values ? 0 : shape.types;
  for (Shape shape : shapes) {
    if (types.string)
      MTP_RETURN_IF_ERROR(
          addText(shape, types, otherFirsts(types, free), text, to));
    shape.types &= other;
    if (shape.values)
      std::erase_if(*shape.values, [&](JsonElement value) {
        return !(typeOf(value) & other);
      });
    MTP_RETURN_IF_ERROR(rules.addShape(shape, json, to));
  }
  return okStatus();
}

/// Adds the strings of a shape as text that a reader takes for these strings.
Status ArgumentRules::addText(const Shape &shape, const ValueTypes &types,
                              const CodePoints &notFirst, StateId from,
                              StateId to) {
  if (shape.values) {
    for (JsonElement value : *shape.values) {
      std::string_view text = textOf(value);
      bool isRead = value.is_string() &&
                    text.find(layout.tags.mark) == text.npos &&
                    (types.isOnlyString() ||
                     argumentJson(text, types, layout.tags.isJsonByDefault)
                         .starts_with('"'));
      if (isRead)
        builder.addText(from, text, to);
    }
    return okStatus();
  }
  if (!(shape.types & kString))
    return okStatus();
  bool isBounded = shape.pattern || shape.minLength > 0 ||
                   shape.maxLength != Shape::kUnbounded;
  if (isBounded && !notFirst.empty())
    return okStatus();
  return rules.addRawStrings(shape, {layout.tags.mark, notFirst}, from, to);
}
