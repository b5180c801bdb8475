//===- CallSchema.cpp - A JSON schema of calls ----------------------------===//

#include "runtime/chat/tools/CallSchema.h"

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"
#include "runtime/json/JsonWriter.h"

using namespace mtp;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

/// Writes a schema whose references begin at `place` instead of the root. The
/// parser has limited the depth.
static void writeSchema(const element &schema, const std::string &place,
                        JsonWriter &json) {
  object members;
  array items;
  if (!schema.get(members)) {
    json.beginObject();
    for (auto [key, value] : members) {
      std::string_view target;
      json.key(key);
      if (key == "$ref" && !value.get(target) && target.starts_with('#'))
        json.value(strCat("#", place, target.substr(1)));
      else
        writeSchema(value, place, json);
    }
    json.endObject();
  } else if (!schema.get(items)) {
    json.beginArray();
    for (element item : items)
      writeSchema(item, place, json);
    json.endArray();
  } else {
    json.raw(std::string(simdjson::minify(schema)));
  }
}

/// Writes the schema of a tool's call, the alternative `index`.
static Status writeCall(const Tool &tool, size_t index, JsonWriter &json) {
  MTP_ASSIGN_OR_RETURN(JsonTree tree, JsonTree::of(tool.schema));
  json.beginObject();
  json.field("type", "object");
  json.key("properties");
  json.beginObject();
  json.key("name");
  json.beginObject();
  json.field("const", tool.name);
  json.endObject();
  json.key("parameters");
  writeSchema(tree.root(),
              strCat("/items/anyOf/", index, "/properties/parameters"), json);
  json.endObject();
  json.key("required");
  json.raw(R"(["name", "parameters"])");
  json.field("additionalProperties", false);
  json.endObject();
  return okStatus();
}

Result<std::string> mtp::callSchema(const ToolSet &tools,
                                    const CallDemand &demand) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("type", "array");
  json.field("minItems", 1);
  if (!demand.isParallel)
    json.field("maxItems", 1);
  json.key("items");
  json.beginObject();
  json.key("anyOf");
  json.beginArray();
  size_t index = 0;
  for (const Tool &tool : tools.tools())
    if (!demand.only || demand.only == &tool)
      MTP_RETURN_IF_ERROR(writeCall(tool, index++, json));
  json.endArray();
  json.endObject();
  json.endObject();
  return json.text();
}
