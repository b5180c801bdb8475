//===- Value.cpp - Values of templates ------------------------------------===//

#include "runtime/jinja/value/Value.h"

#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mtp;
using namespace mtp::jinja;

namespace {

size_t countCodePoints(std::string_view bytes) {
  return static_cast<size_t>(std::count_if(
      bytes.begin(), bytes.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Orders the kinds of keys: numbers, None, strings, tuples.
int rankOf(const Value &value) {
  return value.isNumber()        ? 0
         : value.isNone()        ? 1
         : value.isString()      ? 2
         : value.is(Kind::Tuple) ? 3
                                 : 4;
}

template <typename T>
int order(const T &left, const T &right) {
  return left < right ? -1 : right < left ? 1 : 0;
}

int orderNumbers(const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger())
    return order(left.integer(), right.integer());
  double a = left.real(), b = right.real();
  if (std::isnan(a) || std::isnan(b))
    return order(std::isnan(a), std::isnan(b));
  return order(a, b);
}

Status checkShape(uint32_t depth, uint64_t weight) {
  if (depth > kMaxValueDepth)
    return resourceExhausted(strCat("expected values nested at most ",
                                    kMaxValueDepth, " deep, got more"));
  if (weight > kMaxWeight)
    return resourceExhausted(strCat("expected a value of at most ", kMaxWeight,
                                    " elements, got more"));
  return okStatus();
}

/// The depth and weight of a container.
struct Shape {
  uint32_t depth = 1;
  uint64_t weight = 1;
};

Result<Shape> shapeOf(const Items &items) {
  Shape shape;
  for (const Value &item : items) {
    shape.depth = std::max(shape.depth, item.depth() + 1);
    shape.weight += item.weight();
  }
  MTP_RETURN_IF_ERROR(checkShape(shape.depth, shape.weight));
  return shape;
}

Result<Value> makeSequence(Kind kind, Items items) {
  MTP_ASSIGN_OR_RETURN(Shape shape, shapeOf(items));
  auto sequence = std::make_shared<Sequence>();
  *sequence = {std::move(items), shape.depth, shape.weight};
  return Value::of(kind, std::move(sequence));
}

} // namespace

Value::Value(std::string bytes, bool isSafe) : tag(Kind::String), number{} {
  size_t length = countCodePoints(bytes);
  auto text = std::make_shared<Text>();
  *text = {std::move(bytes), length, isSafe};
  object = std::move(text);
}

Value Value::wideInteger(std::string digits, double nearest) {
  Value value(nearest);
  value.object = std::make_shared<std::string>(std::move(digits));
  return value;
}

Value Value::undefined(std::string why) {
  return of(Kind::Undefined, std::make_shared<std::string>(std::move(why)));
}

const Items &Value::items() const { return as<const Sequence>().items; }

const Dict &Value::dict() const { return as<const Dict>(); }

bool Value::isSame(const Value &other) const {
  if (tag != other.tag)
    return false;
  switch (tag) {
  case Kind::None:
    return true;
  case Kind::Bool:
    return number.flag == other.number.flag;
  case Kind::Int:
    return number.integer == other.number.integer;
  case Kind::Function:
    return number.function == other.number.function;
  case Kind::String:
    return object == other.object || bytes() == other.bytes();
  default:
    return object && object == other.object;
  }
}

uint64_t Value::weight() const {
  switch (tag) {
  case Kind::String:
    return 1 + bytes().size() / 16;
  case Kind::List:
  case Kind::Tuple:
    return as<const Sequence>().weight;
  case Kind::Dict:
    return dict().weight;
  case Kind::Range:
    return 1 + static_cast<uint64_t>(as<const jinja::Range>().length);
  case Kind::View:
    return as<const View>().dict.weight();
  case Kind::Iterator:
    return as<const Iterator>().weight;
  case Kind::Method:
    return as<const Method>().self.weight();
  case Kind::Object:
    return asObject().weight();
  default:
    return 1;
  }
}

uint32_t Value::depth() const {
  switch (tag) {
  case Kind::List:
  case Kind::Tuple:
    return as<const Sequence>().depth;
  case Kind::Dict:
    return dict().depth;
  case Kind::View:
    return as<const View>().dict.depth() + 1;
  case Kind::Iterator: {
    uint32_t depth = 0;
    for (const Value &item : as<const Iterator>().items)
      depth = std::max(depth, item.depth());
    return depth + 1;
  }
  case Kind::Method:
    return as<const Method>().self.depth() + 1;
  case Kind::Object:
    return asObject().depth();
  default:
    return 0;
  }
}

Result<Value> jinja::makeList(Items items) {
  return makeSequence(Kind::List, std::move(items));
}

Result<Value> jinja::makeTuple(Items items) {
  return makeSequence(Kind::Tuple, std::move(items));
}

Result<Value> jinja::makeIterator(Items items, const char *name) {
  MTP_ASSIGN_OR_RETURN(Shape shape, shapeOf(items));
  auto iterator = std::make_shared<Iterator>();
  *iterator = {std::move(items), 0, shape.weight, name};
  return Value::of(Kind::Iterator, std::move(iterator));
}

Result<Value> jinja::makeText(std::string bytes, bool isSafe) {
  if (bytes.size() > kMaxTextBytes)
    return resourceExhausted(strCat("expected a string of at most ",
                                    kMaxTextBytes, " bytes, got ",
                                    bytes.size()));
  return Value(std::move(bytes), isSafe);
}

const Value *Dict::find(const Value &key) const {
  auto it =
      std::lower_bound(order.begin(), order.end(), key,
                       [&](uint32_t index, const Value &sought) {
                         return orderKeys(entries[index].first, sought) < 0;
                       });
  if (it == order.end() || orderKeys(entries[*it].first, key) != 0)
    return nullptr;
  return &entries[*it].second;
}

const Value *Dict::find(std::string_view key) const {
  return find(Value(std::string(key)));
}

Status DictBuilder::add(Value key, Value value) {
  if (!isHashable(key))
    return expected("a key that is a string, number, None or tuple", key);
  entries.emplace_back(std::move(key), std::move(value));
  return okStatus();
}

Result<Value> DictBuilder::build() && {
  auto dict = std::make_shared<Dict>();
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return orderKeys(entries[a].first, entries[b].first) < 0;
  });
  // The first one of equal keys stays and gets the last one's value.
  std::vector<bool> dropped(entries.size());
  for (size_t i = 1, first = 0; i < order.size(); ++i) {
    if (orderKeys(entries[order[first]].first, entries[order[i]].first) != 0) {
      first = i;
      continue;
    }
    entries[order[first]].second = std::move(entries[order[i]].second);
    dropped[order[i]] = true;
  }
  std::vector<uint32_t> place(entries.size());
  uint32_t depth = 0;
  uint64_t weight = 1;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (dropped[i])
      continue;
    place[i] = static_cast<uint32_t>(dict->entries.size());
    for (const Value *part : {&entries[i].first, &entries[i].second}) {
      depth = std::max(depth, part->depth());
      weight += part->weight();
    }
    dict->entries.push_back(std::move(entries[i]));
  }
  for (uint32_t index : order)
    if (!dropped[index])
      dict->order.push_back(place[index]);
  MTP_RETURN_IF_ERROR(checkShape(depth + 1, weight));
  dict->depth = depth + 1;
  dict->weight = weight;
  return Value::of(Kind::Dict, std::move(dict));
}

bool jinja::isHashable(const Value &value) {
  if (value.is(Kind::Tuple))
    return std::all_of(value.items().begin(), value.items().end(), isHashable);
  return value.isNumber() || value.isNone() || value.isString();
}

int jinja::orderKeys(const Value &left, const Value &right) {
  int rank = rankOf(left);
  if (rank != rankOf(right))
    return order(rank, rankOf(right));
  if (rank == 0)
    return orderNumbers(left, right);
  if (rank == 2)
    return left.bytes().compare(right.bytes());
  if (rank == 3) {
    const Items &a = left.items(), &b = right.items();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (int result = orderKeys(a[i], b[i]))
        return result;
    return order(a.size(), b.size());
  }
  return 0;
}

Result<Value> Object::call(Arguments &) {
  return invalidArgument(
      strCat("expected a function to call, got ", describe()));
}

Result<std::optional<Value>> Object::attribute(const std::string &) {
  return std::optional<Value>();
}

Result<std::optional<Value>> Object::item(const std::string &) {
  return std::optional<Value>();
}

Result<Value> Object::callMethod(const std::string &name, const Arguments &) {
  return invalidArgument(
      strCat("expected a method of ", describe(), ", got '", name, "'"));
}

Result<std::string> Object::toText() {
  // Python writes an address here.
  return invalidArgument(
      strCat("expected a value that has a text, got ", describe()));
}

Result<int64_t> Object::length() {
  return invalidArgument(
      strCat("expected a value that has a length, got ", describe()));
}

std::string jinja::describe(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return value.as<const std::string>();
  case Kind::Bool:
    return value.flag() ? "True" : "False";
  case Kind::Int:
    return std::to_string(value.integer());
  case Kind::Float:
    return value.wideDigits() ? *value.wideDigits() : "a float";
  case Kind::Method:
    return strCat("the method '", value.as<const Method>().name, "'");
  case Kind::Object:
    return value.asObject().describe();
  default:
    break;
  }
  static constexpr std::pair<Kind, const char *> kNames[] = {
      {Kind::None, "None"},
      {Kind::String, "a string"},
      {Kind::List, "a list"},
      {Kind::Tuple, "a tuple"},
      {Kind::Dict, "a dict"},
      {Kind::Range, "a range"},
      {Kind::View, "a view of a dict"},
      {Kind::Iterator, "an iterator"},
      {Kind::Namespace, "a namespace"},
      {Kind::Function, "a function"}};
  return std::ranges::find(kNames, value.kind(),
                           &std::pair<Kind, const char *>::first)
      ->second;
}

Status jinja::expected(std::string_view what, const Value &value) {
  return invalidArgument(strCat("expected ", what, ", got ", describe(value)));
}
