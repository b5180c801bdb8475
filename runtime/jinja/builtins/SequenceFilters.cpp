//===- SequenceFilters.cpp - Filters of lists and dicts -------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Filters.h"
#include "runtime/jinja/value/Access.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Operators.h"
#include "runtime/jinja/value/Repr.h"

#include <algorithm>
#include <numeric>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// A path "a.b.0" of the parameter `attribute`.
class AttributePath {
public:
  static Result<AttributePath> parse(const Value &attribute) {
    AttributePath path;
    if (attribute.isNone())
      return path;
    if (!attribute.isString()) {
      path.parts.push_back(attribute);
      return path;
    }
    std::string_view rest = attribute.bytes();
    while (true) {
      size_t dot = std::min(rest.find('.'), rest.size());
      std::string part(rest.substr(0, dot));
      bool isIndex = !part.empty() && part.size() < 18 &&
                     part.find_first_not_of("0123456789") == std::string::npos;
      path.parts.push_back(isIndex ? Value(int64_t(std::stoll(part)))
                                   : Value(std::move(part)));
      if (dot == rest.size())
        return path;
      rest.remove_prefix(dot + 1);
    }
  }

  Result<Value> get(Value item, const Value *otherwise = nullptr) const {
    for (const Value &part : parts) {
      MTP_ASSIGN_OR_RETURN(item, getItem(item, part));
      if (otherwise && item.isUndefined())
        item = *otherwise;
    }
    return item;
  }

private:
  std::vector<Value> parts;
};

Value ignoreCase(const Value &value) {
  return value.isString() ? Value(toLower(value.bytes())) : value;
}

/// Sorts like Python's sorted(): stable, and the keys must have an order.
Result<Items> sortBy(Items items, std::vector<Value> keys, bool isReverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  Status failure;
  auto isBefore = [&](size_t a, size_t b) {
    auto less = isReverse ? isLess(keys[b], keys[a]) : isLess(keys[a], keys[b]);
    if (!less.isOk() && failure.isOk())
      failure = less.status();
    return less.isOk() && *less;
  };
  sortStably(order, isBefore);
  MTP_RETURN_IF_ERROR(failure);
  Items sorted;
  for (size_t index : order)
    sorted.push_back(items[index]);
  return sorted;
}

Result<Value> filterLength(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(int64_t length, lengthOf(value));
  return Value(length);
}

Result<Value> filterFirst(const Value &value, const Bound &) {
  if (value.is(Kind::Iterator)) {
    auto &iterator = value.as<Iterator>();
    if (iterator.next < iterator.items.size())
      return iterator.items[iterator.next++];
  }
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  return items.empty() ? Value::undefined("the first item of an empty sequence")
                       : items.front();
}

Result<Value> filterLast(const Value &value, const Bound &) {
  if (value.is(Kind::Iterator) || value.isUndefined())
    return expected("a sequence that can be walked from its end", value);
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  return items.empty() ? Value::undefined("the last item of an empty sequence")
                       : items.back();
}

Result<Value> filterList(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  return makeList(std::move(items));
}

Result<Value> filterReverse(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  std::reverse(items.begin(), items.end());
  if (value.isString()) {
    std::string text;
    for (const Value &item : items)
      text += item.bytes();
    return Value(std::move(text), value.text().isSafe);
  }
  if (value.is(Kind::Iterator))
    return makeList(std::move(items));
  return makeIterator(std::move(items), "reversed");
}

Result<Value> filterItems(const Value &value, const Bound &) {
  if (value.isUndefined())
    return makeIterator({}, "generator");
  if (!value.is(Kind::Dict))
    return expected("a dict for 'items'", value);
  auto view = std::make_shared<View>();
  *view = {View::Items, value};
  MTP_ASSIGN_OR_RETURN(Items items,
                       itemsOf(Value::of(Kind::View, std::move(view))));
  return makeIterator(std::move(items), "generator");
}

Result<Value> filterJoin(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(std::string separator,
                       bound.has(0) ? toText(bound[0])
                                    : Result<std::string>(std::string()));
  MTP_ASSIGN_OR_RETURN(AttributePath path,
                       AttributePath::parse(bound.valueOr(1, Value())));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  std::string out;
  for (size_t i = 0; i < items.size() && out.size() <= kMaxTextBytes; ++i) {
    MTP_ASSIGN_OR_RETURN(Value item, path.get(items[i]));
    MTP_ASSIGN_OR_RETURN(std::string text, toText(item));
    out.append(i > 0 ? separator : "").append(text);
  }
  return makeText(std::move(out));
}

Result<Value> filterDictSort(const Value &value, const Bound &bound) {
  if (!value.is(Kind::Dict))
    return expected("a dict for 'dictsort'", value);
  MTP_ASSIGN_OR_RETURN(bool isSensitive, bound.flag(0, false));
  MTP_ASSIGN_OR_RETURN(std::string by, bound.string(1, "key"));
  MTP_ASSIGN_OR_RETURN(bool isReverse, bound.flag(2, false));
  if (by != "key" && by != "value")
    return invalidArgument(
        strCat("expected to sort by 'key' or 'value', got '", by, "'"));
  Items pairs;
  std::vector<Value> keys;
  for (const auto &[key, item] : value.dict().entries) {
    const Value &sorted = by == "key" ? key : item;
    keys.push_back(isSensitive ? sorted : ignoreCase(sorted));
    MTP_ASSIGN_OR_RETURN(Value pair, makeTuple({key, item}));
    pairs.push_back(std::move(pair));
  }
  MTP_ASSIGN_OR_RETURN(pairs,
                       sortBy(std::move(pairs), std::move(keys), isReverse));
  return makeList(std::move(pairs));
}

Result<Value> filterSort(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool isReverse, bound.flag(0, false));
  MTP_ASSIGN_OR_RETURN(bool isSensitive, bound.flag(1, false));
  std::vector<AttributePath> paths;
  Value names = bound.valueOr(2, Value());
  std::string_view rest =
      names.isString() ? std::string_view(names.bytes()) : "";
  for (bool isLast = false; !isLast;) {
    size_t comma = rest.find(',');
    isLast = comma == rest.npos;
    Value name =
        names.isString() ? Value(std::string(rest.substr(0, comma))) : names;
    MTP_ASSIGN_OR_RETURN(AttributePath path, AttributePath::parse(name));
    paths.push_back(std::move(path));
    rest.remove_prefix(isLast ? rest.size() : comma + 1);
  }
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  std::vector<Value> keys;
  for (const Value &item : items) {
    Items parts;
    for (const AttributePath &path : paths) {
      MTP_ASSIGN_OR_RETURN(Value part, path.get(item));
      parts.push_back(isSensitive ? part : ignoreCase(part));
    }
    MTP_ASSIGN_OR_RETURN(Value key, makeList(std::move(parts)));
    keys.push_back(std::move(key));
  }
  MTP_ASSIGN_OR_RETURN(items,
                       sortBy(std::move(items), std::move(keys), isReverse));
  return makeList(std::move(items));
}

/// Returns the keys of items for `unique`, `min`, `max` and `groupby`.
Result<std::vector<Value>> keysOf(const Items &items, const Value &attribute,
                                  bool isSensitive,
                                  const Value *otherwise = nullptr) {
  MTP_ASSIGN_OR_RETURN(AttributePath path, AttributePath::parse(attribute));
  std::vector<Value> keys;
  for (const Value &item : items) {
    MTP_ASSIGN_OR_RETURN(Value key, path.get(item, otherwise));
    keys.push_back(isSensitive ? key : ignoreCase(key));
  }
  return keys;
}

Result<Value> filterUnique(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool isSensitive, bound.flag(0, false));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  MTP_ASSIGN_OR_RETURN(std::vector<Value> keys,
                       keysOf(items, bound.valueOr(1, Value()), isSensitive));
  for (const Value &key : keys)
    if (!isHashable(key))
      return expected("items that have a hash", key);
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return orderKeys(keys[a], keys[b]) < 0;
  });
  std::vector<bool> isFirst(items.size());
  for (size_t i = 0; i < order.size(); ++i)
    isFirst[order[i]] =
        i == 0 || orderKeys(keys[order[i - 1]], keys[order[i]]) != 0;
  Items unique;
  for (size_t i = 0; i < items.size(); ++i)
    if (isFirst[i])
      unique.push_back(items[i]);
  return makeIterator(std::move(unique), "generator");
}

template <bool isMax>
Result<Value> filterExtreme(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool isSensitive, bound.flag(0, false));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  MTP_ASSIGN_OR_RETURN(std::vector<Value> keys,
                       keysOf(items, bound.valueOr(1, Value()), isSensitive));
  if (items.empty())
    return Value::undefined("the least or greatest item of an empty sequence");
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    MTP_ASSIGN_OR_RETURN(bool isBetter, isMax ? isLess(keys[best], keys[i])
                                              : isLess(keys[i], keys[best]));
    if (isBetter)
      best = i;
  }
  return items[best];
}

Result<Value> filterSum(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(AttributePath path,
                       AttributePath::parse(bound.valueOr(0, Value())));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  Value sum = bound.valueOr(1, Value(int64_t(0)));
  if (!sum.isNumber())
    return unimplemented("expected a number as the start of a sum, got another "
                         "value");
  for (const Value &item : items) {
    MTP_ASSIGN_OR_RETURN(Value part, path.get(item));
    MTP_ASSIGN_OR_RETURN(sum, applyBinary("+", sum, part));
  }
  return sum;
}

Result<Value> filterGroupBy(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool isSensitive, bound.flag(2, false));
  const Value *otherwise = bound.isGiven(1) ? &bound[1] : nullptr;
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  MTP_ASSIGN_OR_RETURN(std::vector<Value> keys,
                       keysOf(items, bound[0], isSensitive, otherwise));
  MTP_ASSIGN_OR_RETURN(items, sortBy(items, keys, false));
  MTP_ASSIGN_OR_RETURN(keys, keysOf(items, bound[0], isSensitive, otherwise));
  MTP_ASSIGN_OR_RETURN(std::vector<Value> names,
                       keysOf(items, bound[0], true, otherwise));
  Items groups;
  for (size_t start = 0; start < items.size();) {
    size_t end = start + 1;
    while (end < items.size() && equals(keys[start], keys[end]))
      ++end;
    MTP_ASSIGN_OR_RETURN(
        Value members,
        makeList(Items(items.begin() + static_cast<std::ptrdiff_t>(start),
                       items.begin() + static_cast<std::ptrdiff_t>(end))));
    MTP_ASSIGN_OR_RETURN(Value group,
                         makeTuple({names[start], std::move(members)}));
    groups.push_back(std::move(group));
    start = end;
  }
  return makeList(std::move(groups));
}

Result<Value> filterBatch(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(int64_t size, bound.integer(0, 1));
  if (size < 1 || size > 100'000)
    return invalidArgument(
        strCat("expected batches of 1 to 100000 items, got ", size));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  Items batches;
  auto step = static_cast<size_t>(size);
  for (size_t at = 0; at < items.size(); at += step) {
    size_t end = std::min(at + step, items.size());
    Items batch(items.begin() + static_cast<std::ptrdiff_t>(at),
                items.begin() + static_cast<std::ptrdiff_t>(end));
    if (bound.isGiven(1))
      batch.resize(step, bound[1]);
    MTP_ASSIGN_OR_RETURN(Value list, makeList(std::move(batch)));
    batches.push_back(std::move(list));
  }
  return makeIterator(std::move(batches), "generator");
}

Result<Value> filterSlice(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(int64_t count, bound.integer(0, 1));
  if (count < 1 || count > 100'000)
    return invalidArgument(strCat("expected 1 to 100000 slices, got ", count));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  auto slices = static_cast<size_t>(count);
  size_t size = items.size() / slices, longer = items.size() % slices;
  Items lists;
  auto at = items.begin();
  for (size_t i = 0; i < slices; ++i) {
    auto end = at + static_cast<std::ptrdiff_t>(size + (i < longer));
    Items slice(at, end);
    at = end;
    if (bound.isGiven(1) && i >= longer)
      slice.push_back(bound[1]);
    MTP_ASSIGN_OR_RETURN(Value list, makeList(std::move(slice)));
    lists.push_back(std::move(list));
  }
  return makeIterator(std::move(lists), "generator");
}

Result<Value> filterMap(Rendering &rendering, const Value &value,
                        Arguments &args) {
  MTP_ASSIGN_OR_RETURN(bool isAny, isTrue(value));
  if (!isAny)
    return makeIterator({}, "generator");
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  Items mapped;
  if (args.positional.empty()) {
    MTP_ASSIGN_OR_RETURN(Bound bound, args.bind("attribute default", 1));
    MTP_ASSIGN_OR_RETURN(AttributePath path, AttributePath::parse(bound[0]));
    for (const Value &item : items) {
      MTP_ASSIGN_OR_RETURN(
          Value part, path.get(item, bound.isGiven(1) ? &bound[1] : nullptr));
      mapped.push_back(std::move(part));
    }
    return makeIterator(std::move(mapped), "generator");
  }
  Value name = args.takeFirst();
  if (!name.isString())
    return expected("the name of a filter", name);
  for (const Value &item : items) {
    MTP_ASSIGN_OR_RETURN(Value part,
                         rendering.applyFilter(name.bytes(), item, args));
    mapped.push_back(std::move(part));
  }
  return makeIterator(std::move(mapped), "generator");
}

/// Implements `select` and its variants: returns the items whose test yields
/// `wanted`.
template <bool wanted, bool byAttribute>
Result<Value> filterByTest(Rendering &rendering, const Value &value,
                           Arguments &args) {
  MTP_ASSIGN_OR_RETURN(bool isAny, isTrue(value));
  if (!isAny)
    return makeIterator({}, "generator");
  AttributePath path;
  if (byAttribute) {
    if (args.positional.empty())
      return invalidArgument("expected the name of an attribute, got none");
    MTP_ASSIGN_OR_RETURN(path, AttributePath::parse(args.takeFirst()));
  }
  std::optional<Value> test;
  if (!args.positional.empty())
    test = args.takeFirst();
  if (test && !test->isString())
    return expected("the name of a test", *test);
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  Items chosen;
  for (const Value &item : items) {
    MTP_ASSIGN_OR_RETURN(Value part, path.get(item));
    MTP_ASSIGN_OR_RETURN(bool holds,
                         test ? rendering.applyTest(test->bytes(), part, args)
                              : isTrue(part));
    if (holds == wanted)
      chosen.push_back(item);
  }
  return makeIterator(std::move(chosen), "generator");
}

} // namespace

const std::vector<Filter> &jinja::sequenceFilters() {
  static const std::vector<Filter> filters = {
      {"batch", "linecount fill_with", 1, filterBatch},
      {"count", "", 0, filterLength},
      {"dictsort", "case_sensitive by reverse", 0, filterDictSort},
      {"first", "", 0, filterFirst},
      {"groupby", "attribute default case_sensitive", 1, filterGroupBy},
      {"items", "", 0, filterItems},
      {"join", "d attribute", 0, filterJoin},
      {"last", "", 0, filterLast},
      {"length", "", 0, filterLength},
      {"list", "", 0, filterList},
      {"map", "", 0, nullptr, filterMap},
      {"max", "case_sensitive attribute", 0, filterExtreme<true>},
      {"min", "case_sensitive attribute", 0, filterExtreme<false>},
      {"reject", "", 0, nullptr, filterByTest<false, false>},
      {"rejectattr", "", 0, nullptr, filterByTest<false, true>},
      {"reverse", "", 0, filterReverse},
      {"select", "", 0, nullptr, filterByTest<true, false>},
      {"selectattr", "", 0, nullptr, filterByTest<true, true>},
      {"slice", "slices fill_with", 1, filterSlice},
      {"sort", "reverse case_sensitive attribute", 0, filterSort},
      {"sum", "attribute start", 0, filterSum},
      {"unique", "case_sensitive attribute", 0, filterUnique},
  };
  return filters;
}
