//===- SchemaDocument.h - The subschemas of a schema ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMADOCUMENT_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMADOCUMENT_H

#include "runtime/grammar/schema/JsonAccess.h"
#include "runtime/json/JsonTree.h"

#include <map>

namespace mtp::grammar {

/// A subschema of a document. Equal places have equal ids.
using NodeId = uint32_t;

/// A schema and the subschemas that were asked for.
class SchemaDocument {
public:
  /// Parses a schema in JSON. Fails if it is not JSON or nested deeper than
  /// `nesting`.
  static Result<SchemaDocument> parse(std::string_view json, uint32_t nesting);

  NodeId root() const { return 0; }
  JsonElement element(NodeId node) const { return nodes[node].element; }
  /// Returns the JSON pointer of a node, "" for the root.
  const std::string &path(NodeId node) const { return nodes[node].path; }

  /// Returns the subschema at a value of a keyword, e.g. `items`.
  NodeId child(NodeId parent, std::string_view keyword, JsonElement value);
  /// Returns the subschema at a value under a keyword, e.g. a property.
  NodeId child(NodeId parent, std::string_view keyword, std::string_view key,
               JsonElement value);
  /// Returns the subschema that `$ref` of a node names. It must be in this
  /// document: "#", or "#/" and a JSON pointer.
  Result<NodeId> resolve(NodeId from, std::string_view reference);

  /// Returns a failure about a keyword of a node: "PATH/KEYWORD: MESSAGE".
  Status failure(StatusCode code, NodeId node, std::string_view keyword,
                 std::string_view message) const;
  Status invalid(NodeId node, std::string_view keyword,
                 std::string_view message) const {
    return failure(StatusCode::InvalidArgument, node, keyword, message);
  }
  Status unsupported(NodeId node, std::string_view keyword,
                     std::string_view message) const {
    return failure(StatusCode::Unimplemented, node, keyword, message);
  }

private:
  struct Node {
    JsonElement element;
    std::string path;
  };
  NodeId intern(std::string path, JsonElement element);

  JsonTree tree;
  std::vector<Node> nodes;
  std::map<std::string, NodeId, std::less<>> byPath;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMADOCUMENT_H
