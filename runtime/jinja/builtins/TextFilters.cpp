//===- TextFilters.cpp - Filters of strings and numbers -------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Filters.h"
#include "runtime/jinja/builtins/HtmlText.h"
#include "runtime/jinja/builtins/Methods.h"
#include "runtime/jinja/builtins/PrettyPrint.h"
#include "runtime/jinja/value/Access.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Format.h"
#include "runtime/jinja/value/Json.h"
#include "runtime/jinja/value/Numbers.h"
#include "runtime/jinja/value/Operators.h"
#include "runtime/jinja/value/Repr.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// Returns a string as it is, safe or not, and the text of other values.
Result<Value> softText(const Value &value) {
  if (value.isString())
    return value;
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(std::move(text));
}

template <std::string (*recase)(std::string_view)>
Result<Value> filterCase(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  return makeText(recase(text.bytes()), text.text().isSafe);
}

/// Evaluates the filter `title`. Jinja's words start after white space, hyphens
/// and opening brackets.
Result<Value> filterTitle(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  std::string_view rest = text.bytes();
  std::string out;
  while (!rest.empty()) {
    size_t end = 0;
    bool isGap = false;
    for (size_t size; end < rest.size(); end += size) {
      size = utf8Length(rest, end);
      uint32_t c = decodeUtf8(rest, end);
      bool isBetween = isSpace(c) || c == '-' || c == '(' || c == '{' ||
                       c == '[' || c == '<';
      if (end > 0 && isBetween != isGap)
        break;
      isGap = isBetween;
    }
    size_t first = utf8Length(rest, 0);
    out += toUpper(rest.substr(0, first));
    out += toLower(rest.substr(first, end - first));
    rest.remove_prefix(end);
  }
  return makeText(std::move(out));
}

Result<Value> filterTrim(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  return stripText(text, bound.valueOr(0, Value()), 'b');
}

Result<Value> filterString(const Value &value, const Bound &) {
  return softText(value);
}

Result<Value> filterSafe(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(std::move(text), /*isSafe=*/true);
}

Result<Value> filterEscape(const Value &value, const Bound &) {
  if (value.isString() && value.text().isSafe)
    return value;
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(escapeHtml(text), /*isSafe=*/true);
}

Result<Value> filterForceEscape(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(escapeHtml(text), /*isSafe=*/true);
}

Result<Value> filterReplace(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  MTP_ASSIGN_OR_RETURN(std::string from, toText(bound[0]));
  MTP_ASSIGN_OR_RETURN(std::string to, toText(bound[1]));
  MTP_ASSIGN_OR_RETURN(int64_t count, bound.integer(2, -1));
  return replaceText(Value(std::move(text)).text(), from, to, count);
}

Result<Value> filterIndent(const Value &value, const Bound &bound) {
  if (!value.isString())
    return expected("a string to indent", value);
  std::string indent(4, ' ');
  if (bound.has(0) && bound[0].isString()) {
    indent = bound[0].bytes();
  } else if (bound.has(0)) {
    MTP_ASSIGN_OR_RETURN(int64_t width, bound.integer(0, 4));
    if (width > 4096)
      return resourceExhausted(
          strCat("expected an indent of at most 4096, got ", width));
    indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  MTP_ASSIGN_OR_RETURN(bool first, bound.flag(1, false));
  MTP_ASSIGN_OR_RETURN(bool blank, bound.flag(2, false));
  std::string out = first ? indent : "";
  std::vector<std::string> lines = splitLines(value.bytes() + "\n", false);
  for (size_t i = 0; i < lines.size() && out.size() <= kMaxTextBytes; ++i) {
    if (i > 0)
      out.append("\n");
    if (i > 0 && (blank || !lines[i].empty()))
      out.append(indent);
    out.append(lines[i]);
  }
  return makeText(std::move(out), value.text().isSafe);
}

Result<Value> filterTruncate(const Value &value, const Bound &bound) {
  if (!value.isString())
    return expected("a string to truncate", value);
  MTP_ASSIGN_OR_RETURN(int64_t length, bound.integer(0, 255));
  MTP_ASSIGN_OR_RETURN(bool killWords, bound.flag(1, false));
  MTP_ASSIGN_OR_RETURN(std::string end, bound.string(2, "..."));
  MTP_ASSIGN_OR_RETURN(int64_t leeway, bound.integer(3, 5));
  auto endLength = static_cast<int64_t>(Value(std::string(end)).text().length);
  if (length < endLength || leeway < 0)
    return invalidArgument(
        strCat("expected a length of at least ", endLength, ", got ", length));
  auto size = static_cast<int64_t>(value.text().length);
  if (leeway >= size || length >= size - leeway)
    return value;
  MTP_ASSIGN_OR_RETURN(
      Value part, getSlice(value, Value(), Value(length - endLength), Value()));
  std::string text = part.bytes();
  if (!killWords)
    text = text.substr(0, text.rfind(' '));
  return makeText(text + end);
}

Result<Value> filterCenter(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(int64_t width, bound.integer(0, 80));
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  return centerText(text.text(), width);
}

Result<Value> filterWordCount(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  int64_t count = 0;
  bool wasWord = false;
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos)) {
    bool isWord = isWordCharacter(decodeUtf8(text, pos));
    count += isWord && !wasWord;
    wasWord = isWord;
  }
  return Value(count);
}

Result<Value> filterFormat(Rendering &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Value format, softText(value));
  if (args.named.empty()) {
    MTP_ASSIGN_OR_RETURN(Value tuple, makeTuple(args.positional));
    return formatPercent(format, tuple);
  }
  if (!args.positional.empty())
    return invalidArgument("expected values for the format either with names "
                           "or without, got both");
  DictBuilder builder;
  for (auto &[name, named] : args.named)
    MTP_RETURN_IF_ERROR(builder.add(Value(std::string(name)), named));
  MTP_ASSIGN_OR_RETURN(Value dict, std::move(builder).build());
  return formatPercent(format, dict);
}

Result<std::string> separatorOf(const Value &value) {
  if (!value.isString())
    return expected("a string as a separator", value);
  if (value.bytes().size() > 1024)
    return resourceExhausted("expected a separator of at most 1024 bytes, got "
                             "a longer one");
  return value.bytes();
}

Result<Value> filterToJson(const Value &value, const Bound &bound) {
  JsonStyle style;
  MTP_ASSIGN_OR_RETURN(style.ensureAscii, bound.flag(0, false));
  MTP_ASSIGN_OR_RETURN(style.sortKeys, bound.flag(3, false));
  if (bound.isGiven(1)) {
    style.itemSeparator = ",";
    if (bound[1].isString()) {
      MTP_ASSIGN_OR_RETURN(style.indent, separatorOf(bound[1]));
    } else {
      MTP_ASSIGN_OR_RETURN(int64_t width, bound.integer(1, 0));
      style.indent = std::string(
          static_cast<size_t>(std::clamp<int64_t>(width, 0, 1024)), ' ');
      if (width > 1024)
        return resourceExhausted(
            strCat("expected an indent of at most 1024, got ", width));
    }
  }
  if (bound.isGiven(2)) {
    MTP_ASSIGN_OR_RETURN(Items separators, itemsOf(bound[2]));
    if (separators.size() != 2)
      return invalidArgument(
          strCat("expected two separators, got ", separators.size()));
    MTP_ASSIGN_OR_RETURN(style.itemSeparator, separatorOf(separators[0]));
    MTP_ASSIGN_OR_RETURN(style.keySeparator, separatorOf(separators[1]));
  }
  MTP_ASSIGN_OR_RETURN(std::string json, toJson(value, style));
  return makeText(std::move(json));
}

Result<Value> filterUrlEncode(const Value &value, const Bound &) {
  if (!value.isString() && isIterable(value))
    return unimplemented("expected a string for 'urlencode', got a container");
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  std::string out;
  for (char c : text) {
    bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   (c >= '0' && c <= '9') ||
                   std::string_view("_.-~/").find(c) != std::string_view::npos;
    if (isPlain) {
      out.push_back(c);
      continue;
    }
    out.push_back('%');
    out.push_back("0123456789ABCDEF"[static_cast<uint8_t>(c) >> 4]);
    out.push_back("0123456789ABCDEF"[static_cast<uint8_t>(c) & 15]);
  }
  return makeText(std::move(out));
}

Result<Value> filterFileSize(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool isBinary, bound.flag(0, false));
  MTP_ASSIGN_OR_RETURN(Value number, toFloat(value, Value()));
  if (!number.is(Kind::Float))
    return expected("a number of bytes for 'filesizeformat'", value);
  double bytes = number.real(), base = isBinary ? 1024 : 1000, unit = base;
  if (bytes == 1)
    return Value(std::string("1 Byte"));
  if (bytes < base)
    return Value(strCat(int64_t(std::max(bytes, -0x1p62)), " Bytes"));
  std::string_view prefixes = isBinary ? "KMGTPEZY" : "kMGTPEZY";
  size_t last = 0;
  while (unit *= base, bytes >= unit && last + 1 < prefixes.size())
    ++last;
  char text[400];
  std::snprintf(text, sizeof(text), "%.1f", base * bytes / unit);
  return Value(
      strCat(text, " ", prefixes.substr(last, 1), isBinary ? "iB" : "B"));
}

Result<Value> filterXmlAttr(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool hasSpace, bound.flag(0, true));
  if (!value.is(Kind::Dict))
    return expected("a dict for 'xmlattr'", value);
  std::string out;
  for (const auto &[key, attribute] : value.dict().entries) {
    if (attribute.isNone() || attribute.isUndefined())
      continue;
    if (!key.isString())
      return expected("names of attributes that are strings", key);
    const std::string &name = key.bytes();
    for (size_t at = 0; at < name.size(); at += utf8Length(name, at))
      if (isSpace(decodeUtf8(name, at)) ||
          std::string_view("/>=").find(name[at]) != std::string_view::npos)
        return invalidArgument(strCat("expected a name of an attribute without "
                                      "white space, '/', '>' and '=', got '",
                                      name, "'"));
    MTP_ASSIGN_OR_RETURN(std::string text, toText(attribute));
    auto escaped = [](const Value &of, const std::string &given) {
      return of.isString() && of.text().isSafe ? given : escapeHtml(given);
    };
    out += strCat(out.empty() && !hasSpace ? "" : " ", escaped(key, name),
                  "=\"", escaped(attribute, text), "\"");
  }
  return makeText(std::move(out));
}

Result<Value> filterStripTags(const Value &value, const Bound &) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  MTP_ASSIGN_OR_RETURN(text, stripTags(text));
  return makeText(std::move(text));
}

Result<Value> filterPrettyPrint(Rendering &rendering, const Value &value,
                                Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind("").status());
  MTP_ASSIGN_OR_RETURN(std::string text, prettyPrint(value, [&](uint64_t work) {
                         return rendering.charge(work);
                       }));
  return makeText(std::move(text));
}

Result<Value> filterInt(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(int64_t base, bound.integer(1, 10));
  return toInteger(value, bound.valueOr(0, Value(int64_t(0))), base);
}

Result<Value> filterFloat(const Value &value, const Bound &bound) {
  return toFloat(value, bound.valueOr(0, Value(0.0)));
}

Result<Value> filterAbs(const Value &value, const Bound &) {
  if (!value.isNumber())
    return expected("a number for 'abs'", value);
  if (value.is(Kind::Float))
    return Value(std::fabs(value.real()));
  return value.integer() < 0 ? negate(value) : Value(value.integer());
}

Result<Value> filterRound(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(int64_t precision, bound.integer(0, 0));
  MTP_ASSIGN_OR_RETURN(std::string method, bound.string(1, "common"));
  return roundNumber(value, precision, method);
}

Result<Value> filterDefault(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool alsoFalse, bound.flag(1, false));
  bool isReplaced = value.isUndefined();
  if (alsoFalse) {
    MTP_ASSIGN_OR_RETURN(bool isIt, isTrue(value));
    isReplaced |= !isIt;
  }
  return isReplaced ? bound.valueOr(0, Value(std::string())) : value;
}

Result<Value> filterAttr(const Value &value, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(std::string name, bound.string(0, ""));
  if (value.isUndefined())
    return expected("a value with attributes", value);
  return getOnlyAttribute(value, name);
}

} // namespace

const std::vector<Filter> &jinja::textFilters() {
  static const std::vector<Filter> filters = {
      {"abs", "", 0, filterAbs},
      {"attr", "name", 1, filterAttr},
      {"capitalize", "", 0, filterCase<capitalize>},
      {"center", "width", 0, filterCenter},
      {"d", "default_value boolean", 0, filterDefault},
      {"default", "default_value boolean", 0, filterDefault},
      {"e", "", 0, filterEscape},
      {"escape", "", 0, filterEscape},
      {"filesizeformat", "binary", 0, filterFileSize},
      {"float", "default", 0, filterFloat},
      {"forceescape", "", 0, filterForceEscape},
      {"format", "", 0, nullptr, filterFormat},
      {"indent", "width first blank", 0, filterIndent},
      {"int", "default base", 0, filterInt},
      {"lower", "", 0, filterCase<toLower>},
      {"pprint", "", 0, nullptr, filterPrettyPrint},
      {"replace", "old new count", 2, filterReplace},
      {"round", "precision method", 0, filterRound},
      {"safe", "", 0, filterSafe},
      {"string", "", 0, filterString},
      {"striptags", "", 0, filterStripTags},
      {"title", "", 0, filterTitle},
      {"tojson", "ensure_ascii indent separators sort_keys", 0, filterToJson},
      {"trim", "chars", 0, filterTrim},
      {"truncate", "length killwords end leeway", 0, filterTruncate},
      {"upper", "", 0, filterCase<toUpper>},
      {"urlencode", "", 0, filterUrlEncode},
      {"wordcount", "", 0, filterWordCount},
      {"xmlattr", "autospace", 0, filterXmlAttr},
  };
  return filters;
}
