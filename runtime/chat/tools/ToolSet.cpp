//===- ToolSet.cpp - The tools of a request -------------------------------===//

#include "runtime/chat/tools/ToolSet.h"

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"

#include <algorithm>

using namespace mtp;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

/// Limits on schemas that are read for one parameter, and on references to
/// other schemas that are read for all parameters of a request.
static constexpr size_t kMostSchemas = 64, kMostReferences = 512;

namespace {
/// Collects the types that a schema allows.
struct TypeReader {
  const element &root;
  size_t &references;
  ValueTypes types;
  size_t left = kMostSchemas;

  void read(const element &schema);
  void addType(std::string_view name);
  void addValue(const element &value);
};
} // namespace

/// Adds a type of JSON schema, or one of Python's and SQL's names that vLLM
/// takes for it.
void TypeReader::addType(std::string_view name) {
  auto isOf = [name](std::initializer_list<std::string_view> names) {
    return std::ranges::count(names, name) > 0;
  };
  types.string |= isOf({"string", "str", "text", "char", "varchar", "enum"});
  types.integer |= isOf({"integer", "int", "long", "short"});
  types.number |= isOf({"number", "float", "double", "num"});
  types.boolean |= isOf({"boolean", "bool"});
  types.null |= isOf({"null", "none"});
  types.object |= isOf({"object", "dict"});
  types.array |= isOf({"array", "list"});
}

/// Adds the type of a value that an `enum` or `const` allows.
void TypeReader::addValue(const element &value) {
  types.string |= value.is_string();
  types.integer |= value.is_int64() || value.is_uint64();
  types.number |= value.is_double();
  types.boolean |= value.is_bool();
  types.null |= value.is_null();
  types.object |= value.is_object();
  types.array |= value.is_array();
}

void TypeReader::read(const element &schema) {
  object members;
  if (left == 0 || schema.get(members))
    return;
  --left;
  for (auto [key, value] : members) {
    std::string_view text;
    array list;
    bool isText = !value.get(text), isList = !value.get(list);
    element target;
    if (key == "type" && isText)
      addType(text);
    else if (key == "type" && isList) {
      for (element one : list)
        if (!one.get(text))
          addType(text);
    } else if ((key == "anyOf" || key == "oneOf" || key == "allOf") && isList) {
      for (element one : list)
        read(one);
    } else if (key == "enum" && isList) {
      for (element one : list)
        addValue(one);
    } else if (key == "const") {
      addValue(value);
    } else if (key == "nullable") {
      bool isNullable = false;
      types.null |= !value.get(isNullable) && isNullable;
    } else if (key == "$ref" && isText && text.starts_with("#/") &&
               references > 0) {
      --references;
      if (!root.at_pointer(text.substr(1)).get(target))
        read(target);
    }
  }
}

ValueTypes Tool::typesOf(std::string_view parameter) const {
  auto found = parameters.find(parameter);
  return found == parameters.end() ? ValueTypes() : found->second;
}

bool ToolSet::isName(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
         });
}

const Tool *ToolSet::find(std::string_view name) const {
  auto found = indices.find(name);
  if (found == indices.end() || !all[found->second].isCallable)
    return nullptr;
  return &all[found->second];
}

void ToolSet::restrictTo(std::span<const std::string> names) {
  for (Tool &tool : all)
    tool.isCallable = std::ranges::find(names, tool.name) != names.end();
}

bool ToolSet::hasStrict() const {
  return std::ranges::any_of(
      all, [](const Tool &tool) { return tool.isCallable && tool.isStrict; });
}

namespace {
/// Reads the tools of a request. Errors begin with the path of the wrong
/// member.
struct ToolReader {
  std::string path;
  size_t references = kMostReferences;

  Status expected(std::string_view member, std::string_view what) const {
    return invalidArgument(strCat(path, member, ": expected ", what));
  }
  Status readSchema(const element &schema, Tool &tool);
  /// Adds the types of the properties that a schema, its branches and its
  /// references declare. Reads at most `left` schemas.
  void readProperties(const element &root, const element &schema, Tool &tool,
                      size_t &left);
  Result<Tool> readTool(const element &json);
};
} // namespace

Status ToolReader::readSchema(const element &schema, Tool &tool) {
  object members, properties;
  if (schema.is_null())
    return okStatus();
  if (schema.get(members))
    return expected(".function.parameters", "an object");
  tool.schema = simdjson::minify(schema);
  size_t left = kMostSchemas;
  readProperties(schema, schema, tool, left);
  element given;
  if (members.at_key("properties").get(given))
    return okStatus();
  if (given.get(properties))
    return expected(".function.parameters.properties", "an object");
  return okStatus();
}

void ToolReader::readProperties(const element &root, const element &schema,
                                Tool &tool, size_t &left) {
  object members;
  if (left == 0 || schema.get(members))
    return;
  --left;
  for (auto [key, value] : members) {
    object properties;
    array branches;
    std::string_view text;
    element target;
    if (key == "properties" && !value.get(properties)) {
      for (auto [name, property] : properties) {
        ValueTypes &types = tool.parameters[std::string(name)];
        TypeReader reader{root, references, types};
        reader.read(property);
        types = reader.types;
      }
    } else if ((key == "anyOf" || key == "oneOf" || key == "allOf") &&
               !value.get(branches)) {
      for (element branch : branches)
        readProperties(root, branch, tool, left);
    } else if (key == "$ref" && !value.get(text) && text.starts_with("#/") &&
               references > 0) {
      --references;
      if (!root.at_pointer(text.substr(1)).get(target))
        readProperties(root, target, tool, left);
    }
  }
}

Result<Tool> ToolReader::readTool(const element &json) {
  object members, function;
  std::string_view type, name;
  if (json.get(members))
    return expected("", "an object");
  if (members.at_key("type").get(type) || type != "function")
    return expected(".type", "'function'");
  if (members.at_key("function").get(function))
    return expected(".function", "an object");
  if (function.at_key("name").get(name) || !ToolSet::isName(name))
    return expected(".function.name",
                    strCat("1 to ", ToolSet::kMostNameBytes,
                           " letters, digits, '_', '-' or '.'"));
  Tool tool;
  tool.name = name;
  element schema;
  if (!function.at_key("parameters").get(schema))
    MTP_RETURN_IF_ERROR(readSchema(schema, tool));
  element strict;
  if (!function.at_key("strict").get(strict) && !strict.is_null() &&
      strict.get(tool.isStrict))
    return expected(".function.strict", "a flag");
  return tool;
}

Result<ToolSet> ToolSet::read(std::string_view json) {
  JsonTree tree;
  if (Status status = tree.parse(json); !status.isOk())
    return status.withContext("");
  array list;
  ToolReader reader;
  if (tree.root().get(list))
    return reader.expected("", "an array of tools");
  if (list.size() > kMostTools)
    return reader.expected(
        "", strCat("at most ", kMostTools, " tools, got ", list.size()));
  ToolSet set;
  size_t index = 0;
  for (element one : list) {
    reader.path = strCat("[", index++, "]");
    MTP_ASSIGN_OR_RETURN(Tool tool, reader.readTool(one));
    if (!set.indices.emplace(tool.name, set.all.size()).second)
      return reader.expected(
          ".function.name",
          strCat("another name than '", tool.name, "', which is given twice"));
    set.all.push_back(std::move(tool));
  }
  return set;
}
