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

/// The value as a string: itself if it is one, marked or not.
Result<Value> softText(const Value &value) {
  if (value.isString())
    return value;
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(std::move(text));
}

Result<Value> recased(const Value &value, const Arguments &arguments,
                      const char *method) {
  MTP_RETURN_IF_ERROR(arguments.bind({}).status());
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  return callTextMethod(text, method, {});
}

Result<Value> filterUpper(Evaluator &, const Value &value, Arguments &args) {
  return recased(value, args, "upper");
}

Result<Value> filterLower(Evaluator &, const Value &value, Arguments &args) {
  return recased(value, args, "lower");
}

Result<Value> filterCapitalize(Evaluator &, const Value &value,
                               Arguments &args) {
  return recased(value, args, "capitalize");
}

/// Words start after white space, hyphens and opening brackets.
Result<Value> filterTitle(Evaluator &, const Value &value, Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
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

Result<Value> filterTrim(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"chars"}));
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  return stripText(text, bound.valueOr(0, Value()), 'b');
}

Result<Value> filterString(Evaluator &, const Value &value, Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  return softText(value);
}

Result<Value> filterSafe(Evaluator &, const Value &value, Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(std::move(text), /*isSafe=*/true);
}

Result<Value> filterEscape(Evaluator &, const Value &value, Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  if (value.isString() && value.text().isSafe)
    return value;
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(escapeHtml(text), /*isSafe=*/true);
}

Result<Value> filterForceEscape(Evaluator &, const Value &value,
                                Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(escapeHtml(text), /*isSafe=*/true);
}

Result<Value> filterReplace(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"old", "new", "count"}, 2));
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  MTP_ASSIGN_OR_RETURN(std::string from, toText(bound[0]));
  MTP_ASSIGN_OR_RETURN(std::string to, toText(bound[1]));
  MTP_ASSIGN_OR_RETURN(int64_t count, bound.integer(2, -1));
  return replaceText(Value(std::move(text)).text(), from, to, count);
}

Result<Value> filterIndent(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"width", "first", "blank"}));
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

Result<Value> filterTruncate(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound,
                       args.bind({"length", "killwords", "end", "leeway"}));
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

Result<Value> filterCenter(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"width"}));
  MTP_ASSIGN_OR_RETURN(int64_t width, bound.integer(0, 80));
  MTP_ASSIGN_OR_RETURN(Value text, softText(value));
  return padText(text.text(), width, " ", 'c');
}

Result<Value> filterWordCount(Evaluator &, const Value &value,
                              Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
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

Result<Value> filterFormat(Evaluator &, const Value &value, Arguments &args) {
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

Result<Value> filterToJson(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"ensure_ascii", "indent",
                                               "separators", "sort_keys"}));
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

Result<Value> filterUrlEncode(Evaluator &, const Value &value,
                              Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
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

Result<Value> filterFileSize(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"binary"}));
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

Result<Value> filterXmlAttr(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"autospace"}));
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

Result<Value> filterStripTags(Evaluator &, const Value &value,
                              Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return makeText(stripTags(text));
}

Result<Value> filterPrettyPrint(Evaluator &evaluator, const Value &value,
                                Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  MTP_ASSIGN_OR_RETURN(std::string text, prettyPrint(value, [&](uint64_t work) {
                         return evaluator.charge(work);
                       }));
  return makeText(std::move(text));
}

Result<Value> filterInt(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"default", "base"}));
  MTP_ASSIGN_OR_RETURN(int64_t base, bound.integer(1, 10));
  return toInteger(value, bound.valueOr(0, Value(int64_t(0))), base);
}

Result<Value> filterFloat(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"default"}));
  return toFloat(value, bound.valueOr(0, Value(0.0)));
}

Result<Value> filterAbs(Evaluator &, const Value &value, Arguments &args) {
  MTP_RETURN_IF_ERROR(args.bind({}).status());
  if (!value.isNumber())
    return expected("a number for 'abs'", value);
  if (value.is(Kind::Float))
    return Value(std::fabs(value.real()));
  return value.integer() < 0 ? negate(value) : Value(value.integer());
}

Result<Value> filterRound(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"precision", "method"}));
  MTP_ASSIGN_OR_RETURN(int64_t precision, bound.integer(0, 0));
  MTP_ASSIGN_OR_RETURN(std::string method, bound.string(1, "common"));
  return roundNumber(value, precision, method);
}

Result<Value> filterDefault(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"default_value", "boolean"}));
  MTP_ASSIGN_OR_RETURN(bool alsoFalse, bound.flag(1, false));
  bool isReplaced = value.isUndefined();
  if (alsoFalse) {
    MTP_ASSIGN_OR_RETURN(bool isIt, isTrue(value));
    isReplaced |= !isIt;
  }
  return isReplaced ? bound.valueOr(0, Value(std::string())) : value;
}

Result<Value> filterAttr(Evaluator &, const Value &value, Arguments &args) {
  MTP_ASSIGN_OR_RETURN(Bound bound, args.bind({"name"}, 1));
  MTP_ASSIGN_OR_RETURN(std::string name, bound.string(0, ""));
  if (value.isUndefined())
    return expected("a value with attributes", value);
  return getOnlyAttribute(value, name);
}

} // namespace

const std::vector<FilterEntry> &jinja::textFilters() {
  static const std::vector<FilterEntry> filters = {
      {"abs", filterAbs},
      {"attr", filterAttr},
      {"capitalize", filterCapitalize},
      {"center", filterCenter},
      {"d", filterDefault},
      {"default", filterDefault},
      {"e", filterEscape},
      {"escape", filterEscape},
      {"filesizeformat", filterFileSize},
      {"float", filterFloat},
      {"forceescape", filterForceEscape},
      {"format", filterFormat},
      {"indent", filterIndent},
      {"int", filterInt},
      {"lower", filterLower},
      {"pprint", filterPrettyPrint},
      {"replace", filterReplace},
      {"round", filterRound},
      {"safe", filterSafe},
      {"string", filterString},
      {"striptags", filterStripTags},
      {"title", filterTitle},
      {"tojson", filterToJson},
      {"trim", filterTrim},
      {"truncate", filterTruncate},
      {"upper", filterUpper},
      {"urlencode", filterUrlEncode},
      {"wordcount", filterWordCount},
      {"xmlattr", filterXmlAttr},
  };
  return filters;
}
