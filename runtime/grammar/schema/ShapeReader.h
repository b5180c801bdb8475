//===- ShapeReader.h - From subschemas to shapes ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPEREADER_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPEREADER_H

#include "runtime/grammar/core/Limits.h"
#include "runtime/grammar/schema/Keywords.h"
#include "runtime/grammar/schema/Shape.h"

namespace mtp::grammar {

/// Rewrites a conjunction of subschemas as a disjunction of shapes. `$ref` and
/// `allOf` add subschemas to the conjunction. `anyOf` and `oneOf` make a case
/// of each branch.
class ShapeReader {
public:
  /// Both arguments must outlive the reader.
  ShapeReader(SchemaDocument &document, const Limits &limits)
      : document(document), limits(limits) {}

  /// Returns the shapes of a conjunction, none if it allows nothing. Fails with
  /// Unimplemented and the path of a keyword if it is not supported, with
  /// InvalidArgument if its value is malformed, and with ResourceExhausted if
  /// there are too many cases.
  Result<std::vector<Shape>> read(const NodeSet &schemas);

private:
  /// A conjunction on the way. `pending` is not looked at yet; `leaves` have
  /// keywords for the shape.
  struct Case {
    std::vector<NodeId> pending;
    NodeSet seen, leaves;
  };
  /// Expands cases until none has a pending subschema.
  Result<std::vector<Case>> expand(Case first);
  /// Expands one subschema, which can fork the case.
  Status expandNode(NodeId node, Case at, std::vector<Case> &open);
  /// Returns the subschemas that `$ref` or `allOf` adds.
  Result<std::vector<NodeId>> conjunctsOf(NodeId node, const KeywordRow &row,
                                          JsonElement value);
  /// Makes a case of each branch of each case.
  Status fork(NodeId node, std::string_view keyword, JsonElement branches,
              std::vector<Case> &cases);
  /// Fails if a value can match two branches of `oneOf`.
  Status checkDisjoint(NodeId node, const std::vector<NodeId> &branches);

  /// Whether no value has both shapes, as far as types, values and required
  /// properties tell.
  Result<bool> areDisjoint(const Shape &a, const Shape &b, uint32_t level);

  /// Counts steps. Fails if there are too many.
  Status charge(uint64_t steps);

  SchemaDocument &document;
  const Limits &limits;
  uint64_t work = 0;
  /// Levels of oneOf that are being compared.
  uint32_t oneOfLevel = 0;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPEREADER_H
