//===- Compare.cpp - Truth, equality and order ----------------------------===//

#include "runtime/jinja/value/Compare.h"

#include "runtime/core/StrCat.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::jinja;

namespace {

bool equalsItems(const Items &left, const Items &right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    equals);
}

bool equalsDicts(const Dict &left, const Dict &right) {
  if (left.entries.size() != right.entries.size())
    return false;
  return std::all_of(left.entries.begin(), left.entries.end(),
                     [&](const auto &entry) {
                       const Value *other = right.find(entry.first);
                       return other && equals(entry.second, *other);
                     });
}

bool equalsNumbers(const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger())
    return left.integer() == right.integer();
  return left.real() == right.real();
}

Status unordered(const Value &left, const Value &right) {
  if (left.isUndefined())
    return expected("two values that have an order", left);
  if (right.isUndefined())
    return expected("two values that have an order", right);
  return invalidArgument(strCat("expected two values that have an order, got ",
                                describe(left), " and ", describe(right)));
}

/// Returns left < right, or left <= right if `orEqual`.
Result<bool> compare(const Value &left, const Value &right, bool orEqual) {
  if (left.isNumber() && right.isNumber()) {
    if (left.isInteger() && right.isInteger())
      return orEqual ? left.integer() <= right.integer()
                     : left.integer() < right.integer();
    return orEqual ? left.real() <= right.real() : left.real() < right.real();
  }
  // UTF-8 has the order of its code points.
  if (left.isString() && right.isString())
    return orEqual ? left.bytes() <= right.bytes()
                   : left.bytes() < right.bytes();
  if (left.isListOrTuple() && right.is(left.kind())) {
    const Items &a = left.items(), &b = right.items();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!equals(a[i], b[i]))
        return compare(a[i], b[i], orEqual);
    return orEqual ? a.size() <= b.size() : a.size() < b.size();
  }
  return unordered(left, right);
}

Result<Items> entriesOf(const View &view) {
  Items items;
  for (const auto &[key, value] : view.dict.dict().entries) {
    if (view.part == View::Keys) {
      items.push_back(key);
    } else if (view.part == View::Values) {
      items.push_back(value);
    } else {
      MTP_ASSIGN_OR_RETURN(Value pair, makeTuple({key, value}));
      items.push_back(std::move(pair));
    }
  }
  return items;
}

Items numbersOf(const jinja::Range &range) {
  Items items;
  for (int64_t i = 0; i < range.length; ++i)
    items.push_back(Value(numberAt(range, i)));
  return items;
}

Items takeRest(Iterator &iterator) {
  Items rest(iterator.items.begin() +
                 static_cast<std::ptrdiff_t>(iterator.next),
             iterator.items.end());
  iterator.next = iterator.items.size();
  return rest;
}

} // namespace

int64_t jinja::numberAt(const jinja::Range &range, int64_t index) {
  return static_cast<int64_t>(static_cast<uint64_t>(range.start) +
                              static_cast<uint64_t>(index) *
                                  static_cast<uint64_t>(range.step));
}

Result<bool> jinja::isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
    return value.flag();
  case Kind::Int:
    return value.integer() != 0;
  case Kind::Float:
    return value.real() != 0;
  case Kind::String:
  case Kind::List:
  case Kind::Tuple:
  case Kind::Dict:
  case Kind::Range:
  case Kind::View: {
    MTP_ASSIGN_OR_RETURN(int64_t length, lengthOf(value));
    return length != 0;
  }
  case Kind::Object: {
    if (!value.asObject().hasLength())
      return true;
    MTP_ASSIGN_OR_RETURN(int64_t length, value.asObject().length());
    return length != 0;
  }
  default:
    return true;
  }
}

bool jinja::equals(const Value &left, const Value &right) {
  if (left.isNumber() && right.isNumber())
    return equalsNumbers(left, right);
  if (left.kind() != right.kind())
    return false;
  switch (left.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    return left.bytes() == right.bytes();
  case Kind::List:
  case Kind::Tuple:
    return left.isSame(right) || equalsItems(left.items(), right.items());
  case Kind::Dict:
    return left.isSame(right) || equalsDicts(left.dict(), right.dict());
  case Kind::Range:
    return equalsItems(numbersOf(left.as<const jinja::Range>()),
                       numbersOf(right.as<const jinja::Range>()));
  case Kind::Method:
    return left.as<const Method>().name == right.as<const Method>().name &&
           left.as<const Method>().self.isSame(right.as<const Method>().self);
  default:
    return left.isSame(right);
  }
}

Result<bool> jinja::isLess(const Value &left, const Value &right) {
  return compare(left, right, /*orEqual=*/false);
}

Result<bool> jinja::isLessOrEqual(const Value &left, const Value &right) {
  return compare(left, right, /*orEqual=*/true);
}

Result<bool> jinja::contains(const Value &container, const Value &item) {
  if (container.isString()) {
    if (!item.isString())
      return expected("a string to look for in a string", item);
    return container.bytes().find(item.bytes()) != std::string::npos;
  }
  bool isKeys =
      container.is(Kind::View) && container.as<const View>().part == View::Keys;
  if (container.is(Kind::Dict) || isKeys) {
    if (!isHashable(item) && !item.isUndefined())
      return expected("a key that is a string, number, None or tuple", item);
    const Value &dict = isKeys ? container.as<const View>().dict : container;
    return isHashable(item) && dict.dict().find(item) != nullptr;
  }
  if (!isIterable(container))
    return expected("a container for 'in'", container);
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(container));
  return std::any_of(items.begin(), items.end(),
                     [&](const Value &other) { return equals(item, other); });
}

Result<int64_t> jinja::lengthOf(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return int64_t(0);
  case Kind::String:
    return static_cast<int64_t>(value.text().length);
  case Kind::List:
  case Kind::Tuple:
    return static_cast<int64_t>(value.items().size());
  case Kind::Dict:
    return static_cast<int64_t>(value.dict().entries.size());
  case Kind::Range:
    return value.as<const jinja::Range>().length;
  case Kind::View:
    return lengthOf(value.as<const View>().dict);
  case Kind::Object:
    return value.asObject().length();
  default:
    return expected("a value that has a length", value);
  }
}

Result<Items> jinja::itemsOf(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return Items();
  case Kind::String:
    return charactersOf(value.text());
  case Kind::List:
  case Kind::Tuple:
    return value.items();
  case Kind::Dict:
    return entriesOf({View::Keys, value});
  case Kind::View:
    return entriesOf(value.as<const View>());
  case Kind::Range:
    return numbersOf(value.as<const jinja::Range>());
  case Kind::Iterator:
    return takeRest(value.as<Iterator>());
  default:
    return expected("a value to walk over", value);
  }
}

bool jinja::isIterable(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::String:
  case Kind::List:
  case Kind::Tuple:
  case Kind::Dict:
  case Kind::View:
  case Kind::Range:
  case Kind::Iterator:
    return true;
  default:
    return false;
  }
}

Items jinja::charactersOf(const Text &text) {
  Items items;
  items.reserve(text.length);
  for (size_t pos = 0; pos < text.bytes.size();) {
    size_t size = utf8Length(text.bytes, pos);
    items.push_back(Value(text.bytes.substr(pos, size)));
    pos += size;
  }
  return items;
}
