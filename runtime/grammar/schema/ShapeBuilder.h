//===- ShapeBuilder.h - Merges the keywords of subschemas -------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPEBUILDER_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPEBUILDER_H

#include "runtime/grammar/schema/Shape.h"

namespace mtp::grammar {

/// Returns the shape of values that match all `leaves`, without their `$ref`,
/// `allOf`, `anyOf` and `oneOf`. All keywords must be in the table. Fails with
/// the path of a keyword if its value is malformed or not supported.
Result<Shape> buildShape(SchemaDocument &document, const NodeSet &leaves);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_SHAPEBUILDER_H
