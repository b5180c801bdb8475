//===- Messages.cpp - Messages of a conversation --------------------------===//

#include "tools/mtp-serve/api/Messages.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

static bool isText(const JsonElement &element, std::string_view expected) {
  std::string_view text;
  return !element.get(text) && text == expected;
}

/// Joins the parts of a content into one text, since templates expect text.
static MaybeError joinParts(std::string_view field, const array &parts,
                            std::string &text) {
  for (JsonElement part : parts) {
    JsonElement type;
    std::string_view one;
    if (part.at_key("type").get(type) || !isText(type, "text") ||
        part.at_key("text").get(one))
      return wrongField(std::string(field),
                        strCat("expected parts of '", field,
                               "' to be {\"type\": \"text\", \"text\": a "
                               "string}"));
    text += text.empty() ? "" : "\n";
    text += one;
  }
  return std::nullopt;
}

/// Adds `content` as a text. Clients send null or nothing if a message has tool
/// calls only, and templates concatenate the content. `mayBeNull`: an empty
/// content is null.
static MaybeError addContent(const std::string &name,
                             const JsonElement &element, bool mayBeNull,
                             JsonWriter &json, std::string &text) {
  array parts;
  std::string_view given;
  if (!element.get(parts)) {
    if (MaybeError error = joinParts(name, parts, text))
      return error;
  } else if (!element.get(given)) {
    text = given;
  } else if (!element.is_null()) {
    return expected(name, "a string or an array of parts", element);
  }
  if (mayBeNull && text.empty())
    json.null();
  else
    json.value(text);
  return std::nullopt;
}

/// Adds the arguments of a tool call. OpenAI sends JSON in a string.
/// transformers passes a dict, over which templates iterate. Some templates
/// want the text.
static void addArguments(const JsonElement &element, const CallForm &form,
                         JsonWriter &json) {
  std::string_view text;
  JsonTree parsed;
  if (form.hasTextArguments)
    return json.value(element.get(text) ? simdjson::minify(element)
                                        : std::string(text));
  if (element.get(text) || !parsed.parse(text, {.takesQuoted = false}).isOk() ||
      !parsed.doubles().empty() ||
      !(parsed.root().is_object() || parsed.root().is_array())) {
    bool isNone = element.is_null() || (element.is_string() && text.empty());
    return json.raw(isNone ? "{}" : std::string(simdjson::minify(element)));
  }
  json.raw(std::string(simdjson::minify(parsed.root())));
}

/// Adds the tool calls of a message; a value that is no list of calls is passed
/// on.
static void addCalls(const JsonElement &element, const CallForm &form,
                     JsonWriter &json) {
  array calls;
  if (element.get(calls))
    return json.raw(std::string(simdjson::minify(element)));
  json.beginArray();
  for (JsonElement call : calls) {
    object members, function;
    if (call.get(members) || members.at_key("function").get(function)) {
      json.raw(std::string(simdjson::minify(call)));
      continue;
    }
    json.beginObject();
    for (auto [key, value] : members) {
      json.key(key);
      if (key != "function") {
        json.raw(std::string(simdjson::minify(value)));
        continue;
      }
      json.beginObject();
      for (auto [name, part] : function) {
        json.key(name);
        if (name == "arguments")
          addArguments(part, form, json);
        else
          json.raw(std::string(simdjson::minify(part)));
      }
      json.endObject();
    }
    json.endObject();
  }
  json.endArray();
}

static bool hasCalls(const object &message) {
  array calls;
  return !message.at_key("tool_calls").get(calls) && calls.size() > 0;
}

/// Adds a message in transformers' form, without null members.
static MaybeError addMessage(size_t index, const JsonElement &element,
                             const CallForm &form, JsonWriter &json,
                             LastMessage &last) {
  std::string name = strCat("messages[", index, "]");
  object message;
  std::string_view role;
  if (element.get(message))
    return expected(name, "an object", element);
  if (message.at_key("role").get(role))
    return wrongField(name + ".role",
                      strCat("expected '", name, ".role' to be a string"));
  bool hasContent = false;
  bool mayBeNull = form.hasNullContent && hasCalls(message);
  last = {"", role == "assistant"};
  json.beginObject();
  for (auto [key, value] : message) {
    bool isContent = key == "content";
    hasContent |= isContent;
    if (value.is_null() && !isContent)
      continue;
    json.key(key);
    if (isContent) {
      if (MaybeError error =
              addContent(name + ".content", value, mayBeNull, json, last.text))
        return error;
    } else if (key == "tool_calls") {
      last.isAnswer = false;
      addCalls(value, form, json);
    } else {
      json.raw(std::string(simdjson::minify(value)));
    }
  }
  if (!hasContent && mayBeNull) {
    json.key("content");
    json.null();
  } else if (!hasContent && role == "assistant") {
    json.field("content", "");
  }
  json.endObject();
  return std::nullopt;
}

MaybeError serve::writeMessages(const array &messages, const CallForm &form,
                                JsonWriter &json, LastMessage &last) {
  json.beginArray();
  size_t index = 0;
  for (JsonElement item : messages)
    if (MaybeError error = addMessage(index++, item, form, json, last))
      return error;
  json.endArray();
  return std::nullopt;
}
