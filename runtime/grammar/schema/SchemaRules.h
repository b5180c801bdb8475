//===- SchemaRules.h - Subschemas as rules of an automaton ------*- C++ -*-===//
//
// A rule of the automaton belongs to a set of subschemas that apply to one
// value. The rule of a set is made once, so recursive schemas end. Rules wait
// in a list until they are filled: no stack grows with the schema.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMARULES_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMARULES_H

#include "runtime/grammar/schema/JsonText.h"
#include "runtime/grammar/schema/RawText.h"
#include "runtime/grammar/schema/ShapeReader.h"

namespace mtp::grammar {

/// Adds the values of a schema to a builder that may have other rules, too.
class SchemaRules {
public:
  /// All arguments except `style` must outlive the object.
  SchemaRules(SchemaDocument &document, AutomatonBuilder &builder,
              const Limits &limits, JsonStyle style = {})
      : document(document), limits(limits), builder(builder),
        text(builder, limits, std::move(style)), shapes(document, limits) {}

  /// Returns the rule of values that match all schemas. fill() adds its edges.
  RuleId ruleOf(const NodeSet &schemas);
  /// Returns the shapes of values that match all schemas.
  Result<std::vector<Shape>> shapesOf(const NodeSet &schemas) {
    return shapes.read(schemas);
  }
  /// Adds edges to all rules that ruleOf() has returned.
  ///
  /// The texts are JSON values that match their schemas, in the form that the
  /// README describes. Keywords.h has the supported keywords. Fails with
  /// Unimplemented and the path of a keyword if it is not supported, with
  /// InvalidArgument if a schema is malformed, and with ResourceExhausted at a
  /// limit.
  Status fill();

  /// Adds the values of a shape.
  Status addShape(const Shape &shape, StateId from, StateId to);
  /// Adds the strings of a shape without `values` as raw text.
  Status addRawStrings(const Shape &shape, const RawText &raw, StateId from,
                       StateId to);
  JsonText &json() { return text; }

private:
  /// Bounds of a string's length in characters.
  struct Lengths {
    uint32_t min = 0, max = Expression::kUnbounded;

    bool isFree() const { return min == 0 && max == Expression::kUnbounded; }
  };
  /// Returns the bounds of a shape's strings; nothing if it has no strings.
  Result<std::optional<Lengths>> lengthsOf(const Shape &shape);
  Status addStringShape(const Shape &shape, StateId from, StateId to);
  /// Adds strings of a pattern or format, without quotes.
  Status addPattern(const Shape &shape, Lengths lengths, StateId from,
                    StateId to, const CharacterWriter &write);
  void addNumberShape(const Shape &shape, StateId from, StateId to);
  void addObject(const Shape &shape, StateId from, StateId to);
  void addProperties(const Shape &shape, StateId from, StateId to);
  /// Adds `: value` after a name.
  void addMemberValue(const NodeSet &schemas, StateId from, StateId to);
  void addArray(const Shape &shape, StateId from, StateId to);

  SchemaDocument &document;
  const Limits &limits;
  AutomatonBuilder &builder;
  JsonText text;
  ShapeReader shapes;
  std::map<NodeSet, RuleId> rules;
  /// Sets whose rule has no edges yet.
  std::vector<std::pair<NodeSet, RuleId>> waiting;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMARULES_H
