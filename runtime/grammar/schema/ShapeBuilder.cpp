//===- ShapeBuilder.cpp - Merges the keywords of subschemas ---------------===//

#include "runtime/grammar/schema/ShapeBuilder.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/schema/Formats.h"
#include "runtime/grammar/schema/Keywords.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Doubles up to 2^53 are exact integers.
constexpr double kExact = 9007199254740992.0;

/// Comparisons of values of two enums.
constexpr size_t kMaxComparisons = size_t(1) << 22;

uint8_t typeNamed(std::string_view name) {
  constexpr std::pair<std::string_view, uint8_t> kNames[] = {
      {"null", kNull},       {"boolean", kBoolean}, {"string", kString},
      {"integer", kInteger}, {"number", kNumber},   {"object", kObject},
      {"array", kArray}};
  for (auto [known, types] : kNames)
    if (known == name)
      return types;
  return 0;
}

/// Returns the JSON of a value, at most the first 64 bytes of it.
std::string foundText(JsonElement value) {
  constexpr size_t kMostShown = 64;
  std::string text = simdjson::minify(value);
  if (text.size() <= kMostShown)
    return text;
  text.resize(kMostShown);
  text.resize(findInvalidUtf8(text));
  return text + "...";
}

/// Merges keywords one by one.
class Builder {
public:
  explicit Builder(SchemaDocument &document) : document(document) {}

  /// Adds `required`, or all other keywords. Required names come last, so that
  /// properties keep the order of their declarations.
  Status add(NodeId leaf, bool isRequiredPass) {
    node = leaf;
    JsonObject object;
    if (document.element(leaf).get(object))
      return okStatus();
    for (auto [name, value] : object) {
      keyword = name;
      const KeywordRow *row = findKeyword(name);
      if (row && (row->keyword == Keyword::Required) == isRequiredPass)
        MTP_RETURN_IF_ERROR(addKeyword(row->keyword, row->name, value));
    }
    return okStatus();
  }

  Result<Shape> finish(const NodeSet &leaves);

private:
  Status addKeyword(Keyword kind, std::string_view name, JsonElement value);
  Status addTypes(JsonElement value);
  Status addValues(JsonElement value, bool isConst);
  Status addProperties(JsonElement value);
  Status addRequired(JsonElement value);
  Status addPattern(JsonElement value, std::string_view name);
  Status addFormat(JsonElement value, std::string_view name);
  Status addBound(JsonElement value, bool isMaximum, bool isExclusive);
  Status addCount(JsonElement value, uint64_t &count, bool isMaximum);
  Status checkValues();

  Property &propertyNamed(std::string_view name);
  /// Adds the schema of properties that a leaf does not declare.
  void addAdditional(NodeId leaf);

  Status malformed(std::string_view expected, JsonElement value) const {
    return document.invalid(
        node, keyword,
        strCat("expected ", expected, ", got ", foundText(value)));
  }

  SchemaDocument &document;
  NodeId node = 0;
  std::string_view keyword;
  Shape shape;
  /// The properties of the shape. The document owns the names.
  std::map<std::string_view, size_t> byName;
};

Property &Builder::propertyNamed(std::string_view name) {
  auto [entry, isNew] = byName.try_emplace(name, shape.properties.size());
  if (isNew)
    shape.properties.push_back({std::string(name), {}, false});
  return shape.properties[entry->second];
}

Status Builder::addTypes(JsonElement value) {
  uint8_t types = 0;
  auto add = [&](JsonElement name) {
    uint8_t named = typeNamed(textOf(name));
    types |= named;
    return named != 0;
  };
  JsonArray list;
  bool isKnown =
      value.get(list) ? add(value) : std::all_of(list.begin(), list.end(), add);
  if (!isKnown)
    return malformed("the name of a type of JSON, or an array of names", value);
  shape.types &= types;
  return okStatus();
}

Status Builder::addValues(JsonElement value, bool isConst) {
  std::vector<JsonElement> values;
  JsonArray list;
  if (isConst)
    values.push_back(value);
  else if (!value.get(list))
    values.assign(list.begin(), list.end());
  else
    return malformed("an array of values", value);
  if (!shape.values) {
    shape.values = std::move(values);
    return okStatus();
  }
  if (shape.values->size() * values.size() > kMaxComparisons)
    return document.failure(StatusCode::ResourceExhausted, node, keyword,
                            "expected fewer values beside another enum");
  std::erase_if(*shape.values, [&](JsonElement known) {
    return std::none_of(values.begin(), values.end(), [&](JsonElement other) {
      return areEqual(known, other);
    });
  });
  return okStatus();
}

Status Builder::addProperties(JsonElement value) {
  JsonObject properties;
  if (value.get(properties))
    return malformed("an object of schemas", value);
  for (auto [name, schema] : properties)
    propertyNamed(name).schemas.insert(
        document.child(node, "properties", name, schema));
  return okStatus();
}

Status Builder::addRequired(JsonElement value) {
  JsonArray names;
  if (value.get(names))
    return malformed("an array of property names", value);
  for (JsonElement name : names) {
    if (!name.is_string())
      return malformed("an array of property names", value);
    propertyNamed(textOf(name)).isRequired = true;
  }
  return okStatus();
}

Status Builder::addPattern(JsonElement value, std::string_view name) {
  if (!value.is_string())
    return malformed("a string", value);
  if (shape.pattern &&
      (*shape.pattern != textOf(value) || shape.isPatternWhole))
    return document.unsupported(
        node, name,
        strCat("beside ", shape.patternKeyword, " it is not supported"));
  shape.pattern = std::string(textOf(value));
  shape.patternKeyword = name;
  shape.patternNode = node;
  return okStatus();
}

Status Builder::addFormat(JsonElement value, std::string_view name) {
  if (!value.is_string())
    return malformed("a string", value);
  if (isHintFormat(textOf(value)))
    return okStatus();
  std::string pattern = patternOfFormat(textOf(value));
  if (pattern.empty()) {
    // Formats such as int64 restrict numbers only, and change nothing here.
    shape.unknownFormat = textOf(value);
    shape.patternNode = node;
    return okStatus();
  }
  if (shape.pattern && (*shape.pattern != pattern || !shape.isPatternWhole))
    return document.unsupported(
        node, name,
        strCat("beside ", shape.patternKeyword, " it is not supported"));
  shape.pattern = std::move(pattern);
  shape.isPatternWhole = true;
  shape.patternKeyword = name;
  shape.patternNode = node;
  return okStatus();
}

Status Builder::addBound(JsonElement value, bool isMaximum, bool isExclusive) {
  int64_t bound = 0;
  double number = 0;
  if (value.get(number))
    return malformed("a number", value);
  if (isMaximum && number <= shape.most) {
    shape.isMostExclusive =
        isExclusive || (number == shape.most && shape.isMostExclusive);
    shape.most = number;
  } else if (!isMaximum && number >= shape.least) {
    shape.isLeastExclusive =
        isExclusive || (number == shape.least && shape.isLeastExclusive);
    shape.least = number;
  }
  if (value.get(bound)) {
    if (std::abs(number) > kExact)
      return malformed("a number of at most 2^53 in magnitude", value);
    double rounded = isMaximum ? std::floor(number) : std::ceil(number);
    bound = static_cast<int64_t>(rounded);
    isExclusive &= rounded == number;
  }
  // An exclusive bound at the end of the range leaves no integer.
  if (isExclusive && bound == (isMaximum ? INT64_MIN : INT64_MAX))
    shape.types &= ~kNumber;
  else if (isMaximum)
    shape.maximum = std::min(shape.maximum, bound - isExclusive);
  else
    shape.minimum = std::max(shape.minimum, bound + isExclusive);
  return okStatus();
}

Status Builder::addCount(JsonElement value, uint64_t &count, bool isMaximum) {
  uint64_t read = 0;
  double number = 0;
  if (value.get(read)) {
    if (value.get(number) || number < 0 || number > kExact ||
        number != std::trunc(number))
      return malformed("a whole number of at least 0", value);
    read = static_cast<uint64_t>(number);
  }
  count = isMaximum ? std::min(count, read) : std::max(count, read);
  return okStatus();
}

Status Builder::addKeyword(Keyword kind, std::string_view name,
                           JsonElement value) {
  switch (kind) {
  case Keyword::Type:
    return addTypes(value);
  case Keyword::Const:
    return addValues(value, /*isConst=*/true);
  case Keyword::Enum:
    return addValues(value, /*isConst=*/false);
  case Keyword::Properties:
    return addProperties(value);
  case Keyword::Required:
    return addRequired(value);
  case Keyword::Pattern:
    return addPattern(value, name);
  case Keyword::Format:
    return addFormat(value, name);
  case Keyword::Maximum:
    return addBound(value, true, false);
  case Keyword::ExclusiveMaximum:
    return addBound(value, true, true);
  case Keyword::Minimum:
    return addBound(value, false, false);
  case Keyword::ExclusiveMinimum:
    return addBound(value, false, true);
  case Keyword::MaxItems:
    return addCount(value, shape.maxItems, true);
  case Keyword::MinItems:
    return addCount(value, shape.minItems, false);
  case Keyword::MaxLength:
    shape.lengthNode = node;
    return addCount(value, shape.maxLength, true);
  case Keyword::MinLength:
    shape.lengthNode = node;
    return addCount(value, shape.minLength, false);
  default:
    // Items and other properties need all leaves; the rest is expanded or
    // restricts nothing.
    return okStatus();
  }
}

/// The keywords of a leaf that describe items.
struct ItemKeywords {
  std::vector<NodeId> prefix;
  NodeSet items;
};

Result<ItemKeywords> itemsOf(SchemaDocument &document, NodeId leaf) {
  ItemKeywords read;
  JsonObject object;
  JsonElement value;
  JsonArray list;
  if (document.element(leaf).get(object))
    return read;
  auto addList = [&](std::string_view name) {
    for (JsonElement schema : list)
      read.prefix.push_back(document.child(
          leaf, name, std::to_string(read.prefix.size()), schema));
  };
  bool hasOldItems = false;
  if (!object.at_key("prefixItems").get(value)) {
    if (value.get(list))
      return document.invalid(leaf, "prefixItems",
                              "expected an array of schemas");
    addList("prefixItems");
  }
  if (!object.at_key("items").get(value)) {
    // Until draft 2019-09, `items` could be the schemas of the first items.
    hasOldItems = read.prefix.empty() && !value.get(list);
    if (hasOldItems)
      addList("items");
    else
      read.items.insert(document.child(leaf, "items", value));
  }
  if (hasOldItems && !object.at_key("additionalItems").get(value))
    read.items.insert(document.child(leaf, "additionalItems", value));
  return read;
}

void Builder::addAdditional(NodeId leaf) {
  JsonObject object, properties;
  JsonElement value;
  if (document.element(leaf).get(object) ||
      object.at_key("additionalProperties").get(value))
    return;
  NodeId schema = document.child(leaf, "additionalProperties", value);
  shape.additional.insert(schema);
  std::set<std::string_view> declared;
  if (!object.at_key("properties").get(properties))
    for (auto [name, ignored] : properties)
      declared.insert(name);
  for (Property &property : shape.properties)
    if (!declared.contains(property.name))
      property.schemas.insert(schema);
}

Status Builder::checkValues() {
  if (!shape.values)
    return okStatus();
  std::erase_if(*shape.values,
                [&](JsonElement value) { return !hasShape(shape, value); });
  uint8_t types = 0;
  for (JsonElement value : *shape.values)
    types |= typeOf(value);
  std::string_view other;
  if ((types & kString) && (shape.pattern || !shape.unknownFormat.empty()))
    other = shape.pattern ? shape.patternKeyword : "format";
  else if ((types & kObject) &&
           (!shape.properties.empty() || !shape.additional.empty()))
    other = "properties";
  else if ((types & kArray) && (!shape.prefix.empty() || !shape.items.empty()))
    other = "items";
  if (other.empty())
    return okStatus();
  return document.unsupported(node, other,
                              "beside enum or const it is not supported");
}

Result<Shape> Builder::finish(const NodeSet &leaves) {
  std::vector<ItemKeywords> allItems;
  for (NodeId leaf : leaves) {
    addAdditional(leaf);
    MTP_ASSIGN_OR_RETURN(ItemKeywords items, itemsOf(document, leaf));
    if (items.prefix.size() > shape.prefix.size())
      shape.prefix.resize(items.prefix.size());
    shape.items.insert(items.items.begin(), items.items.end());
    allItems.push_back(std::move(items));
  }
  for (size_t i = 0; i < shape.prefix.size(); ++i)
    for (const ItemKeywords &items : allItems)
      if (i < items.prefix.size())
        shape.prefix[i].insert(items.prefix[i]);
      else
        shape.prefix[i].insert(items.items.begin(), items.items.end());
  MTP_RETURN_IF_ERROR(checkValues());
  return std::move(shape);
}

} // namespace

Result<Shape> mtp::grammar::buildShape(SchemaDocument &document,
                                       const NodeSet &leaves) {
  Builder builder(document);
  for (bool isRequiredPass : {false, true})
    for (NodeId leaf : leaves)
      MTP_RETURN_IF_ERROR(builder.add(leaf, isRequiredPass));
  return builder.finish(leaves);
}
