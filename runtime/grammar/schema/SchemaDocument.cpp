//===- SchemaDocument.cpp - The subschemas of a schema --------------------===//

#include "runtime/grammar/schema/SchemaDocument.h"

#include "runtime/core/StrCat.h"

#include <charconv>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Writes a key as part of a JSON pointer (RFC 6901).
std::string escapeKey(std::string_view key) {
  std::string out;
  for (char c : key)
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  return out;
}

std::string unescapeKey(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i)
    if (part.substr(i).starts_with("~0") || part.substr(i).starts_with("~1"))
      out += part[++i] == '0' ? '~' : '/';
    else
      out += part[i];
  return out;
}

int hexDigit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return static_cast<int>(
      kDigits.find(c >= 'A' && c <= 'F' ? char(c - 'A' + 'a') : c));
}

/// Replaces the percent escapes of a URI.
std::string unescapeUri(std::string_view uri) {
  std::string out;
  for (size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] == '%' && i + 2 < uri.size() && hexDigit(uri[i + 1]) >= 0 &&
        hexDigit(uri[i + 2]) >= 0) {
      out += char(hexDigit(uri[i + 1]) * 16 + hexDigit(uri[i + 2]));
      i += 2;
    } else {
      out += uri[i];
    }
  }
  return out;
}

/// Sets `element` to its child of a key or index. Returns whether there is one.
bool step(JsonElement &element, std::string_view key) {
  JsonObject object;
  if (!element.get(object))
    return !object.at_key(key).get(element);
  JsonArray array;
  size_t index = 0;
  auto read = std::from_chars(key.data(), key.data() + key.size(), index);
  return !element.get(array) && read.ec == std::errc() &&
         read.ptr == key.data() + key.size() && !array.at(index).get(element);
}

/// Whether a subschema begins a document of its own.
bool hasId(JsonElement element) {
  JsonObject object;
  return !element.get(object) && !object.at_key("$id").error();
}

} // namespace

Result<SchemaDocument> SchemaDocument::parse(std::string_view json,
                                             uint32_t nesting) {
  JsonLimits limits;
  limits.depth = nesting;
  MTP_ASSIGN_OR_RETURN(JsonTree tree, JsonTree::of(json, limits));
  SchemaDocument document;
  document.tree = std::move(tree);
  document.intern("", document.tree.root());
  return document;
}

NodeId SchemaDocument::intern(std::string path, JsonElement element) {
  auto [entry, isNew] = byPath.try_emplace(path, NodeId(nodes.size()));
  if (isNew)
    nodes.push_back({element, std::move(path)});
  return entry->second;
}

NodeId SchemaDocument::child(NodeId parent, std::string_view keyword,
                             JsonElement value) {
  return intern(strCat(path(parent), "/", keyword), value);
}

NodeId SchemaDocument::child(NodeId parent, std::string_view keyword,
                             std::string_view key, JsonElement value) {
  return intern(strCat(path(parent), "/", keyword, "/", escapeKey(key)), value);
}

Result<NodeId> SchemaDocument::resolve(NodeId from,
                                       std::string_view reference) {
  std::string pointer = unescapeUri(reference);
  std::string_view rest = pointer;
  if (rest != "#" && !rest.starts_with("#/"))
    return unsupported(from, "$ref",
                       strCat("expected '#' and a JSON pointer into the "
                              "schema, got '",
                              reference, "'"));
  rest.remove_prefix(1);
  JsonElement element = nodes[0].element;
  std::string path;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('/', 1), rest.size());
    std::string key = unescapeKey(rest.substr(1, end - 1));
    rest.remove_prefix(end);
    if (!step(element, key))
      return invalid(from, "$ref",
                     strCat("expected the place of a subschema, got '",
                            reference, "', which is not in the schema"));
    path += "/" + escapeKey(key);
    if (!rest.empty() && hasId(element))
      return unsupported(from, "$ref",
                         strCat("expected a place in this schema, got '",
                                reference, "', which is below another '$id'"));
  }
  return intern(std::move(path), element);
}

Status SchemaDocument::failure(StatusCode code, NodeId node,
                               std::string_view keyword,
                               std::string_view message) const {
  std::string place = path(node);
  if (!keyword.empty())
    place += "/" + escapeKey(keyword);
  return Status(code, strCat(place.empty() ? "/" : place, ": ", message));
}
