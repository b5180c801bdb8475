//===- Shape.h - What one case of a schema allows ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPE_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPE_H

#include "runtime/grammar/schema/SchemaDocument.h"

#include <limits>
#include <optional>
#include <set>

namespace mtp::grammar {

/// A set of JSON types. Numbers are integers and others.
enum JsonTypes : uint8_t {
  kNull = 1,
  kBoolean = 2,
  kString = 4,
  kInteger = 8,
  kFraction = 16,
  kObject = 32,
  kArray = 64,
  kNumber = kInteger | kFraction,
  kAnyType = 127,
};

/// Subschemas that apply to one value, in ascending order. Their conjunction
/// is one schema. An empty set allows all values.
using NodeSet = std::set<NodeId>;

/// A declared property.
struct Property {
  std::string name;
  NodeSet schemas;
  bool isRequired = false;
};

/// The conjunction of subschemas without `$ref`, `allOf`, `anyOf` and `oneOf`.
struct Shape {
  static constexpr uint64_t kUnbounded = ~uint64_t(0);

  uint8_t types = kAnyType;
  /// The only values, if `enum` or `const` is present.
  std::optional<std::vector<JsonElement>> values;

  /// Declared properties in the order of the schema, and the schemas of other
  /// properties.
  std::vector<Property> properties;
  NodeSet additional;
  /// False: all properties are declared, whatever `additional` allows.
  bool hasOthers = true;

  /// Schemas of the first items, and of all others.
  std::vector<NodeSet> prefix;
  NodeSet items;
  uint64_t minItems = 0, maxItems = kUnbounded;

  uint64_t minLength = 0, maxLength = kUnbounded;
  /// A regular expression that matches somewhere, or a format's, which matches
  /// the whole string.
  std::optional<std::string> pattern;
  bool isPatternWhole = false;
  /// A format that is not supported, or empty. Strings need a supported one.
  std::string_view unknownFormat;
  /// The keyword of `pattern`, and the subschemas of the pattern or format and
  /// of the last length. Errors name them.
  std::string_view patternKeyword;
  NodeId patternNode = 0, lengthNode = 0;

  /// Bounds of integers, both included.
  int64_t minimum = std::numeric_limits<int64_t>::min();
  int64_t maximum = std::numeric_limits<int64_t>::max();
  /// Bounds of all numbers. An exclusive bound is not in the range.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool isLeastExclusive = false, isMostExclusive = false;
};

/// Returns the type of a value. A number without fraction is an integer.
uint8_t typeOf(JsonElement value);

/// Whether two values are equal as JSON Schema defines it: 1 and 1.0 are equal,
/// and the order of members does not matter.
bool areEqual(JsonElement a, JsonElement b);

/// Returns whether a value has the types, lengths and bounds of a shape. Its
/// pattern, properties and items are not compared.
bool hasShape(const Shape &shape, JsonElement value);

/// Returns the number of characters of well-formed UTF-8.
uint64_t characterCount(std::string_view text);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPE_H
