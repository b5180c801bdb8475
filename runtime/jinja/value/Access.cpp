//===- Access.cpp - Attributes, items and slices --------------------------===//

#include "runtime/jinja/value/Access.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <optional>

using namespace mtp;
using namespace mtp::jinja;

namespace {

using Names = std::string_view;
constexpr Names kTextMethods =
    " capitalize count endswith find format join lower lstrip removeprefix"
    " removesuffix replace rfind rsplit rstrip split splitlines startswith"
    " strip title upper ";
constexpr Names kDictMethods = " get items keys values ";
/// Methods that the sandbox denies, since they change the value.
constexpr Names kDictChanges = " clear pop popitem setdefault update ";
constexpr Names kListChanges =
    " append clear extend insert pop remove reverse sort ";
/// Attributes that Python's values have and this library refuses (README.md).
constexpr Names kRefusedOfTexts =
    " casefold center encode expandtabs format_map index isalnum isalpha"
    " isascii isdecimal isdigit isidentifier islower isnumeric isprintable"
    " isspace istitle isupper ljust maketrans partition rindex rjust rpartition"
    " swapcase translate zfill ";
constexpr Names kRefusedOfNumbers =
    " as_integer_ratio bit_count bit_length conjugate denominator from_bytes"
    " fromhex hex imag is_integer numerator real to_bytes ";
constexpr Names kRefusedOfDicts = " copy fromkeys ";
constexpr Names kRefusedOfLists = " copy count index ";
constexpr Names kRefusedOfTuples = " count index ";
constexpr Names kRefusedOfRanges = " count index start step stop ";
constexpr Names kRefusedOfViews = " isdisjoint mapping ";

bool isOneOf(Names names, std::string_view name) {
  return name.find(' ') == std::string_view::npos && !name.empty() &&
         names.find(strCat(" ", name, " ")) != Names::npos;
}

Names methodsOf(const Value &value) {
  switch (value.kind()) {
  case Kind::String:
    return kTextMethods;
  case Kind::Dict:
    return kDictMethods;
  case Kind::Object:
    return value.asObject().methods();
  default:
    return "";
  }
}

Names refusedOf(const Value &value) {
  switch (value.kind()) {
  case Kind::String:
    return kRefusedOfTexts;
  case Kind::Dict:
    return kRefusedOfDicts;
  case Kind::List:
    return kRefusedOfLists;
  case Kind::Tuple:
    return kRefusedOfTuples;
  case Kind::Bool:
  case Kind::Int:
  case Kind::Float:
    return kRefusedOfNumbers;
  case Kind::Range:
    return kRefusedOfRanges;
  case Kind::View:
    return kRefusedOfViews;
  default:
    return "";
  }
}

bool isDenied(const Value &value, std::string_view name) {
  return (value.is(Kind::Dict) && isOneOf(kDictChanges, name)) ||
         (value.is(Kind::List) && isOneOf(kListChanges, name)) ||
         name.substr(0, 2) == "__";
}

Value missing(const Value &value, const std::string &name) {
  return Value::undefined(
      strCat("nothing, since ", describe(value), " has no '", name, "'"));
}

/// Returns the attribute, or nothing.
Result<std::optional<Value>> findAttribute(const Value &value,
                                           const std::string &name) {
  using Found = std::optional<Value>;
  if (value.is(Kind::Namespace)) {
    const auto &attributes = value.as<const Namespace>().attributes;
    auto it = attributes.find(name);
    if (it != attributes.end())
      return Found(it->second);
  }
  if (value.is(Kind::Object)) {
    MTP_ASSIGN_OR_RETURN(Found found, value.asObject().attribute(name));
    if (found)
      return found;
  }
  if (isDenied(value, name))
    return Found(Value::undefined(strCat("the attribute '", name, "' of ",
                                         describe(value),
                                         ", which templates may not use")));
  if (isOneOf(refusedOf(value), name))
    return unimplemented(strCat("expected a supported attribute of ",
                                describe(value), ", got '", name, "'"));
  if (!isOneOf(methodsOf(value), name))
    return Found();
  auto method = std::make_shared<Method>();
  *method = {value, name};
  return Found(Value::of(Kind::Method, std::move(method)));
}

Result<Value> characterAt(const Text &text, int64_t index) {
  auto wanted = static_cast<size_t>(index);
  if (text.length == text.bytes.size())
    return Value(text.bytes.substr(wanted, 1));
  size_t pos = 0;
  for (; wanted > 0; --wanted)
    pos += utf8Length(text.bytes, pos);
  return Value(text.bytes.substr(pos, utf8Length(text.bytes, pos)));
}

/// Returns the item, or nothing.
Result<std::optional<Value>> findItem(const Value &value, const Value &key) {
  using Found = std::optional<Value>;
  if (value.is(Kind::Dict)) {
    const Value *item = isHashable(key) ? value.dict().find(key) : nullptr;
    return item ? Found(*item) : Found();
  }
  if (value.is(Kind::Object) && key.isString())
    return value.asObject().item(key.bytes());
  bool isIndexed =
      value.isString() || value.isListOrTuple() || value.is(Kind::Range);
  if (!isIndexed || !key.isInteger())
    return Found();
  MTP_ASSIGN_OR_RETURN(int64_t length, lengthOf(value));
  int64_t index = key.integer();
  if (index < -length || index >= length)
    return Found();
  if (index < 0)
    index += length;
  if (value.isListOrTuple())
    return Found(value.items()[static_cast<size_t>(index)]);
  if (value.is(Kind::Range))
    return Found(Value(numberAt(value.as<const jinja::Range>(), index)));
  MTP_ASSIGN_OR_RETURN(Value character, characterAt(value.text(), index));
  return Found(std::move(character));
}

/// The result of Python's slice.indices().
struct Indices {
  int64_t start, stop, step;
};

Result<int64_t> boundOf(const Value &value, int64_t length, int64_t otherwise,
                        bool isBackward) {
  if (value.isNone())
    return otherwise;
  if (!value.isInteger())
    return expected("an integer in a slice", value);
  int64_t bound = value.integer();
  if (bound < 0)
    bound = bound < -length ? -1 : bound + length;
  if (bound < 0)
    return int64_t(isBackward ? -1 : 0);
  return std::min(bound, isBackward ? length - 1 : length);
}

Result<Indices> indicesOf(const Value &start, const Value &stop,
                          const Value &step, int64_t length) {
  Indices indices = {0, 0, 1};
  if (!step.isNone()) {
    if (!step.isInteger() || step.integer() == 0)
      return expected("an integer other than 0 as the step of a slice", step);
    indices.step = step.integer();
  }
  bool isBackward = indices.step < 0;
  MTP_ASSIGN_OR_RETURN(
      indices.start,
      boundOf(start, length, isBackward ? length - 1 : 0, isBackward));
  MTP_ASSIGN_OR_RETURN(
      indices.stop,
      boundOf(stop, length, isBackward ? -1 : length, isBackward));
  return indices;
}

/// Calls `function` with each index of a slice. All are below the length.
template <typename Function>
void forEachIndex(const Indices &indices, Function function) {
  // Adding a large step could overflow.
  int64_t i = indices.start;
  while (indices.step > 0 ? i < indices.stop : i > indices.stop) {
    function(static_cast<size_t>(i));
    int64_t left = indices.step > 0 ? indices.stop - i : i - indices.stop;
    uint64_t step = indices.step > 0 ? static_cast<uint64_t>(indices.step)
                                     : 0 - static_cast<uint64_t>(indices.step);
    if (step >= static_cast<uint64_t>(left))
      return;
    i += indices.step;
  }
}

Result<Value> sliceText(const Text &text, const Indices &indices) {
  std::vector<size_t> starts;
  for (size_t pos = 0; pos < text.bytes.size();
       pos += utf8Length(text.bytes, pos))
    starts.push_back(pos);
  std::string out;
  forEachIndex(indices, [&](size_t i) {
    out.append(text.bytes, starts[i], utf8Length(text.bytes, starts[i]));
  });
  return Value(std::move(out), text.isSafe);
}

} // namespace

Result<Value> jinja::getAttribute(const Value &value, const std::string &name) {
  if (value.isUndefined())
    return expected(strCat("a value with an attribute '", name, "'"), value);
  MTP_ASSIGN_OR_RETURN(std::optional<Value> found, findAttribute(value, name));
  if (found)
    return *std::move(found);
  MTP_ASSIGN_OR_RETURN(found, findItem(value, Value(std::string(name))));
  return found ? *std::move(found) : missing(value, name);
}

Result<Value> jinja::getOnlyAttribute(const Value &value,
                                      const std::string &name) {
  MTP_ASSIGN_OR_RETURN(std::optional<Value> found, findAttribute(value, name));
  return found ? *std::move(found) : missing(value, name);
}

Result<Value> jinja::getItem(const Value &value, const Value &key) {
  if (value.isUndefined())
    return expected("a value with items", value);
  MTP_ASSIGN_OR_RETURN(std::optional<Value> found, findItem(value, key));
  if (found)
    return *std::move(found);
  if (!key.isString())
    return missing(value, describe(key));
  return getOnlyAttribute(value, key.bytes());
}

Result<Value> jinja::getSlice(const Value &value, const Value &start,
                              const Value &stop, const Value &step) {
  if (!value.isString() && !value.isListOrTuple() && !value.is(Kind::Range))
    return expected("a string or a list to slice", value);
  MTP_ASSIGN_OR_RETURN(int64_t length, lengthOf(value));
  MTP_ASSIGN_OR_RETURN(Indices indices, indicesOf(start, stop, step, length));
  if (value.isString())
    return sliceText(value.text(), indices);
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  Items taken;
  forEachIndex(indices, [&](size_t i) { taken.push_back(items[i]); });
  if (value.is(Kind::Range))
    return unimplemented("expected a string or a list to slice, got a range");
  return value.is(Kind::List) ? makeList(std::move(taken))
                              : makeTuple(std::move(taken));
}
