//===- Keywords.cpp - The supported keywords of JSON Schema ---------------===//

#include "runtime/grammar/schema/Keywords.h"

#include <algorithm>

using namespace mtp::grammar;

namespace {

/// The one table of keywords; the README has the limits of each.
constexpr KeywordRow kTable[] = {
    {"$comment", Keyword::Annotation},
    {"$defs", Keyword::Annotation},
    {"$id", Keyword::Annotation},
    {"$ref", Keyword::Ref},
    {"$schema", Keyword::Annotation},
    {"additionalItems", Keyword::AdditionalItems},
    {"additionalProperties", Keyword::AdditionalProperties},
    {"allOf", Keyword::AllOf},
    {"anyOf", Keyword::AnyOf},
    {"const", Keyword::Const},
    {"contentEncoding", Keyword::Annotation},
    {"contentMediaType", Keyword::Annotation},
    {"default", Keyword::Annotation},
    {"definitions", Keyword::Annotation},
    {"deprecated", Keyword::Annotation},
    {"description", Keyword::Annotation},
    {"discriminator", Keyword::Annotation},
    {"enum", Keyword::Enum},
    {"example", Keyword::Annotation},
    {"examples", Keyword::Annotation},
    {"exclusiveMaximum", Keyword::ExclusiveMaximum},
    {"exclusiveMinimum", Keyword::ExclusiveMinimum},
    {"format", Keyword::Format},
    {"items", Keyword::Items},
    {"maxItems", Keyword::MaxItems},
    {"maxLength", Keyword::MaxLength},
    {"maximum", Keyword::Maximum},
    {"minItems", Keyword::MinItems},
    {"minLength", Keyword::MinLength},
    {"minimum", Keyword::Minimum},
    {"oneOf", Keyword::OneOf},
    {"pattern", Keyword::Pattern},
    {"prefixItems", Keyword::PrefixItems},
    {"properties", Keyword::Properties},
    {"readOnly", Keyword::Annotation},
    {"required", Keyword::Required},
    {"title", Keyword::Annotation},
    {"type", Keyword::Type},
    {"writeOnly", Keyword::Annotation},
};

constexpr KeywordRow kExtension = {"x-", Keyword::Annotation};

} // namespace

std::span<const KeywordRow> mtp::grammar::keywordTable() { return kTable; }

const KeywordRow *mtp::grammar::findKeyword(std::string_view name) {
  if (name.starts_with(kExtension.name))
    return &kExtension;
  const auto *row = std::lower_bound(
      std::begin(kTable), std::end(kTable), name,
      [](const KeywordRow &r, std::string_view n) { return r.name < n; });
  return row != std::end(kTable) && row->name == name ? row : nullptr;
}
