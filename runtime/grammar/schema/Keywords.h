//===- Keywords.h - The supported keywords of JSON Schema -------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_KEYWORDS_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_KEYWORDS_H

#include <cstdint>
#include <span>
#include <string_view>

namespace mtp::grammar {

/// Supported keywords. `Annotation` is any keyword that restricts nothing.
enum class Keyword : uint8_t {
  AdditionalItems,
  AdditionalProperties,
  AllOf,
  Annotation,
  AnyOf,
  Const,
  Enum,
  ExclusiveMaximum,
  ExclusiveMinimum,
  Format,
  Items,
  MaxItems,
  MaxLength,
  Maximum,
  MinItems,
  MinLength,
  Minimum,
  OneOf,
  Pattern,
  PrefixItems,
  Properties,
  Ref,
  Required,
  Type,
};

/// A row of the table of keywords.
struct KeywordRow {
  std::string_view name;
  Keyword keyword;
};

/// Returns the table, in alphabetical order.
std::span<const KeywordRow> keywordTable();

/// Returns the row of a keyword, or null if it is not supported. Names that
/// begin with `x-` are annotations.
const KeywordRow *findKeyword(std::string_view name);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_KEYWORDS_H
