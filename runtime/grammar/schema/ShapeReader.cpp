//===- ShapeReader.cpp - From subschemas to shapes ------------------------===//

#include "runtime/grammar/schema/ShapeReader.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/schema/ShapeBuilder.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Subschemas, properties and pairs of values that one compilation looks at.
constexpr uint64_t kMaxWork = uint64_t(1) << 22;
/// Levels of properties that tell branches of `oneOf` apart.
constexpr uint32_t kMaxLevels = 2;

bool haveCommonValue(const Shape &a, const Shape &b) {
  return std::any_of(a.values->begin(), a.values->end(), [&](JsonElement x) {
    return std::any_of(b.values->begin(), b.values->end(),
                       [&](JsonElement y) { return areEqual(x, y); });
  });
}

const Property *findRequired(const Shape &shape, std::string_view name) {
  for (const Property &property : shape.properties)
    if (property.name == name && property.isRequired)
      return &property;
  return nullptr;
}

} // namespace

Status ShapeReader::charge(uint64_t steps) {
  work += steps;
  if (work > kMaxWork)
    return resourceExhausted("expected a smaller schema, got one whose "
                             "subschemas combine too often");
  return okStatus();
}

Result<std::vector<Shape>> ShapeReader::read(const NodeSet &schemas) {
  Case first;
  first.pending.assign(schemas.begin(), schemas.end());
  MTP_ASSIGN_OR_RETURN(auto cases, expand(std::move(first)));
  std::vector<Shape> shapes;
  for (const Case &one : cases) {
    MTP_ASSIGN_OR_RETURN(Shape shape, buildShape(document, one.leaves));
    MTP_RETURN_IF_ERROR(charge(shape.properties.size()));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Result<std::vector<ShapeReader::Case>> ShapeReader::expand(Case first) {
  std::vector<Case> open, closed;
  open.push_back(std::move(first));
  while (!open.empty()) {
    Case at = std::move(open.back());
    open.pop_back();
    if (open.size() + closed.size() >= limits.cases)
      return resourceExhausted(
          strCat("expected a schema of at most ", limits.cases,
                 " cases of anyOf and oneOf for one value, got more"));
    if (at.pending.empty()) {
      closed.push_back(std::move(at));
      continue;
    }
    NodeId node = at.pending.back();
    at.pending.pop_back();
    MTP_RETURN_IF_ERROR(charge(1));
    if (!at.seen.insert(node).second)
      open.push_back(std::move(at));
    else
      MTP_RETURN_IF_ERROR(expandNode(node, std::move(at), open));
  }
  return closed;
}

Status ShapeReader::expandNode(NodeId node, Case at, std::vector<Case> &open) {
  JsonElement element = document.element(node);
  bool allowsAll;
  if (!element.get(allowsAll)) {
    if (allowsAll)
      open.push_back(std::move(at));
    return okStatus();
  }
  JsonObject object;
  if (element.get(object))
    return document.invalid(node, "",
                            "expected an object or a Boolean as "
                            "schema, got another value");
  std::vector<Case> cases;
  at.leaves.insert(node);
  cases.push_back(std::move(at));
  for (auto [name, value] : object) {
    const KeywordRow *row = findKeyword(name);
    if (!row)
      return document.unsupported(
          node, name, strCat("the keyword '", name, "' is not supported"));
    if (name == "$id" && node != document.root())
      return document.unsupported(
          node, name, "it is supported at the root of a schema only");
    if (row->keyword == Keyword::Ref || row->keyword == Keyword::AllOf) {
      MTP_ASSIGN_OR_RETURN(auto more, conjunctsOf(node, *row, value));
      for (Case &one : cases)
        one.pending.insert(one.pending.end(), more.begin(), more.end());
    } else if (row->keyword == Keyword::AnyOf ||
               row->keyword == Keyword::OneOf) {
      MTP_RETURN_IF_ERROR(fork(node, name, value, cases));
    }
  }
  // The first case is expanded first.
  std::move(cases.rbegin(), cases.rend(), std::back_inserter(open));
  return okStatus();
}

Result<std::vector<NodeId>> ShapeReader::conjunctsOf(NodeId node,
                                                     const KeywordRow &row,
                                                     JsonElement value) {
  std::vector<NodeId> nodes;
  if (row.keyword == Keyword::Ref) {
    if (!value.is_string())
      return document.invalid(node, row.name, "expected a string");
    MTP_ASSIGN_OR_RETURN(NodeId target, document.resolve(node, textOf(value)));
    nodes.push_back(target);
    return nodes;
  }
  JsonArray parts;
  if (value.get(parts))
    return document.invalid(node, row.name, "expected an array of schemas");
  for (JsonElement part : parts)
    nodes.push_back(
        document.child(node, row.name, std::to_string(nodes.size()), part));
  return nodes;
}

Status ShapeReader::fork(NodeId node, std::string_view keyword,
                         JsonElement branches, std::vector<Case> &cases) {
  JsonArray list;
  if (branches.get(list) || list.size() == 0)
    return document.invalid(node, keyword, "expected an array of schemas");
  if (list.size() * cases.size() > limits.cases)
    return document.failure(StatusCode::ResourceExhausted, node, keyword,
                            strCat("expected at most ", limits.cases,
                                   " cases for one value, got ",
                                   list.size() * cases.size()));
  std::vector<NodeId> children;
  for (JsonElement branch : list)
    children.push_back(
        document.child(node, keyword, std::to_string(children.size()), branch));
  if (keyword == "oneOf")
    MTP_RETURN_IF_ERROR(checkDisjoint(node, children));
  std::vector<Case> forked;
  for (const Case &one : cases)
    for (NodeId child : children) {
      forked.push_back(one);
      forked.back().pending.push_back(child);
    }
  cases = std::move(forked);
  return okStatus();
}

Status ShapeReader::checkDisjoint(NodeId node,
                                  const std::vector<NodeId> &branches) {
  // A branch can contain the oneOf itself.
  if (oneOfLevel >= limits.nesting)
    return document.failure(StatusCode::ResourceExhausted, node, "oneOf",
                            strCat("expected at most ", limits.nesting,
                                   " levels of oneOf, got more"));
  ++oneOfLevel;
  std::vector<std::vector<Shape>> shapes;
  for (NodeId branch : branches) {
    MTP_ASSIGN_OR_RETURN(auto some, read({branch}));
    shapes.push_back(std::move(some));
  }
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t j = i + 1; j < shapes.size(); ++j)
      for (const Shape &a : shapes[i])
        for (const Shape &b : shapes[j]) {
          MTP_ASSIGN_OR_RETURN(bool disjoint, areDisjoint(a, b, 0));
          if (!disjoint)
            return document.unsupported(
                node, "oneOf",
                strCat("expected branches that no value can both match, got "
                       "branches ",
                       i, " and ", j,
                       ", which differ neither in type, nor in a required "
                       "property with const or enum: use anyOf"));
        }
  --oneOfLevel;
  return okStatus();
}

Result<bool> ShapeReader::areDisjoint(const Shape &a, const Shape &b,
                                      uint32_t level) {
  uint64_t pairs = 1;
  if (a.values && b.values)
    pairs += uint64_t(a.values->size()) * b.values->size();
  MTP_RETURN_IF_ERROR(charge(pairs));
  uint8_t common = a.types & b.types;
  if (common == 0 || (a.values && b.values && !haveCommonValue(a, b)))
    return true;
  if (a.values || b.values) {
    const Shape &values = a.values ? a : b, &other = a.values ? b : a;
    return std::none_of(values.values->begin(), values.values->end(),
                        [&](JsonElement v) { return hasShape(other, v); });
  }
  if (common == kInteger && (a.maximum < b.minimum || b.maximum < a.minimum))
    return true;
  if (common != kObject || level == kMaxLevels)
    return false;
  for (const Property &property : a.properties) {
    if (!property.isRequired)
      continue;
    MTP_RETURN_IF_ERROR(charge(b.properties.size()));
    const Property *other = findRequired(b, property.name);
    if (!other)
      continue;
    MTP_ASSIGN_OR_RETURN(auto mine, read(property.schemas));
    MTP_ASSIGN_OR_RETURN(auto others, read(other->schemas));
    bool disjoint = true;
    for (const Shape &x : mine)
      for (const Shape &y : others) {
        MTP_ASSIGN_OR_RETURN(bool both, areDisjoint(x, y, level + 1));
        disjoint &= both;
      }
    if (disjoint)
      return true;
  }
  return false;
}
