//===- GrammarFields.cpp - Fields that ask for structured output ----------===//

#include "tools/mtp-serve/api/FieldReaders.h"

#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;
using grammar::Source;
using simdjson::dom::array;
using simdjson::dom::object;

namespace {

/// Collects the grammars of a body.
class Reader {
public:
  MaybeError read(std::string_view name, const JsonElement &value);
  MaybeError readResponseFormat(std::string_view name,
                                const JsonElement &value);

  std::optional<GrammarRequest> request;

private:
  MaybeError readJsonSchemaFormat(std::string_view name, const object &format);
  MaybeError readStructuredOutputs(std::string_view name,
                                   const JsonElement &value);
  /// Reads a schema, as an object, a Boolean or a string of JSON.
  MaybeError readSchema(std::string_view name, const JsonElement &value);
  MaybeError readText(std::string_view name, const JsonElement &value,
                      Source::Kind kind);
  MaybeError readChoice(std::string_view name, const JsonElement &value);
  MaybeError readJsonObject(std::string_view name, const JsonElement &value);
  MaybeError set(std::string_view name, Source source);
};

MaybeError Reader::set(std::string_view name, Source source) {
  if (request)
    return wrongField(std::string(name),
                      strCat("expected one grammar in a request, got ",
                             request->field, " and ", name));
  request = GrammarRequest{std::move(source), std::string(name)};
  return std::nullopt;
}

MaybeError Reader::readSchema(std::string_view name, const JsonElement &value) {
  std::string_view text;
  if (!value.get(text))
    return set(name, {Source::Kind::JsonSchema, std::string(text), {}});
  if (!value.is_object() && !value.is_bool())
    return expected(name, "a JSON Schema, or a string with one", value);
  return set(name, {Source::Kind::JsonSchema, simdjson::minify(value), {}});
}

MaybeError Reader::readText(std::string_view name, const JsonElement &value,
                            Source::Kind kind) {
  std::string_view text;
  if (value.get(text))
    return expected(name, "a string", value);
  return set(name, {kind, std::string(text), {}});
}

MaybeError Reader::readChoice(std::string_view name, const JsonElement &value) {
  array list;
  Source source = {Source::Kind::Choice, "", {}};
  if (value.get(list) || list.size() == 0)
    return expected(name, "a list of strings", value);
  for (JsonElement choice : list) {
    std::string_view text;
    if (choice.get(text))
      return expected(name, "a list of strings", choice);
    source.choices.emplace_back(text);
  }
  return set(name, std::move(source));
}

MaybeError Reader::readJsonObject(std::string_view name,
                                  const JsonElement &value) {
  bool isSet = false;
  if (value.get(isSet))
    return expected(name, "a Boolean", value);
  if (!isSet)
    return std::nullopt;
  return set(name, {Source::Kind::JsonObject, "", {}});
}

MaybeError Reader::readJsonSchemaFormat(std::string_view name,
                                        const object &format) {
  // llama-server also takes the schema without OpenAI's wrapper.
  JsonElement wrapper, schema;
  if (!format.at_key("json_schema").get(wrapper)) {
    object fields;
    if (wrapper.get(fields))
      return expected(strCat(name, ".json_schema"), "an object", wrapper);
    if (fields.at_key("schema").get(schema))
      return wrongField(strCat(name, ".json_schema.schema"),
                        "expected a JSON Schema, got none");
    return readSchema(strCat(name, ".json_schema.schema"), schema);
  }
  if (format.at_key("schema").get(schema))
    return wrongField(
        strCat(name, name == "response_format" ? ".json_schema" : ".schema"),
        "expected a JSON Schema, got none");
  return readSchema(strCat(name, ".schema"), schema);
}

MaybeError Reader::readResponseFormat(std::string_view name,
                                      const JsonElement &value) {
  object format;
  if (value.get(format))
    return expected(name, "an object", value);
  if (format.size() == 0)
    return std::nullopt;
  std::string field = strCat(name, ".type");
  JsonElement element;
  std::string_view type;
  if (format.at_key("type").get(element))
    return wrongField(field, "expected text, json_object or json_schema, got "
                             "none");
  if (element.get(type))
    return expected(field, "text, json_object or json_schema", element);
  JsonElement schema;
  if (type == "text")
    return std::nullopt;
  if (type == "json_object" && format.at_key("schema").get(schema))
    return set(name, {Source::Kind::JsonObject, "", {}});
  if (type == "json_object" || type == "json_schema")
    return readJsonSchemaFormat(name, format);
  return expected(field, "text, json_object or json_schema", element);
}

MaybeError Reader::readStructuredOutputs(std::string_view name,
                                         const JsonElement &value) {
  object options;
  if (value.get(options))
    return expected(name, "an object", value);
  bool isCompact = false;
  for (auto [key, option] : options) {
    std::string field = strCat(name, ".", key);
    MaybeError error;
    if (option.is_null())
      continue;
    if (key == "json")
      error = readSchema(field, option);
    else if (key == "regex")
      error = readText(field, option, Source::Kind::Regex);
    else if (key == "choice")
      error = readChoice(field, option);
    else if (key == "grammar")
      error = readText(field, option, Source::Kind::Gbnf);
    else if (key == "json_object")
      error = readJsonObject(field, option);
    else if (key == "disable_any_whitespace")
      error = readFlag(field, option, isCompact);
    else if (key == "disable_fallback" || key.starts_with("_"))
      continue; // Hints for backends that vLLM chooses from.
    else
      error = wrongField(field, "expected json, regex, choice, grammar or "
                                "json_object");
    if (error)
      return error;
  }
  if (request)
    request->isCompact = isCompact;
  return std::nullopt;
}

MaybeError Reader::read(std::string_view name, const JsonElement &value) {
  bool isUnset = value.is_null();
  std::string_view text;
  if (!value.get(text))
    isUnset = text.empty();
  if (isUnset)
    return std::nullopt;
  if (name == "response_format") {
    bool hadNone = !request;
    MaybeError error = readResponseFormat(name, value);
    if (request && hadNone)
      request->isAnswerFormat = true;
    return error;
  }
  if (name == "structured_outputs")
    return readStructuredOutputs(name, value);
  if (name == "guided_json" || name == "json_schema")
    return readSchema(name, value);
  if (name == "guided_regex" || name == "regex")
    return readText(name, value, Source::Kind::Regex);
  if (name == "guided_choice")
    return readChoice(name, value);
  if (name == "guided_json_object")
    return readJsonObject(name, value);
  return readText(name, value, Source::Kind::Gbnf);
}

constexpr std::string_view kFields[] = {"ebnf",
                                        "grammar",
                                        "guided_choice",
                                        "guided_grammar",
                                        "guided_json",
                                        "guided_json_object",
                                        "guided_regex",
                                        "json_schema",
                                        "regex",
                                        "response_format",
                                        "structured_outputs"};

} // namespace

MaybeError mtp::serve::readAnswerFormat(std::string_view field,
                                        const JsonElement &element,
                                        Reading &to) {
  Reader reader;
  reader.request = std::move(to.request.grammar);
  MaybeError error = reader.readResponseFormat(field, element);
  to.request.grammar = std::move(reader.request);
  if (to.request.grammar)
    to.request.grammar->isAnswerFormat = true;
  return error;
}

bool mtp::serve::isGrammarField(std::string_view name) {
  return std::find(std::begin(kFields), std::end(kFields), name) !=
         std::end(kFields);
}

MaybeError
mtp::serve::readGrammarFields(const object &body,
                              std::optional<GrammarRequest> &request) {
  Reader reader;
  reader.request = std::move(request);
  for (auto [name, value] : body)
    if (isGrammarField(name))
      if (MaybeError error = reader.read(name, value))
        return error;
  request = std::move(reader.request);
  return std::nullopt;
}
