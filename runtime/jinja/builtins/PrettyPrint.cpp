//===- PrettyPrint.cpp - Prints values over several lines -----------------===//
//
// Follows CPython's pprint. A value that fits into its line is written like
// repr(), with sorted dicts. Other values are divided.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/builtins/PrettyPrint.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Methods.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Repr.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr int64_t kWidth = 80;

int64_t lengthOfText(std::string_view text) {
  // Bytes 10xxxxxx continue a character.
  return std::ranges::count_if(
      text, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; });
}

/// The place of an item: its first column, the number of columns that its last
/// line must leave free, and the number of containers around it.
struct Place {
  int64_t indent = 0, allowance = 0;
  int level = 0;

  Place within(int64_t more, int64_t behind) const {
    return {indent + more, behind, level};
  }
};

class Printer {
public:
  explicit Printer(const std::function<Status(uint64_t)> &charge)
      : charge(charge) {}

  Status print(const Value &value, Place place);
  std::string take() { return std::move(out); }

private:
  using Entry = std::pair<Value, Value>;

  Result<std::string> repr(const Value &value);
  Result<std::string> reprItems(const Items &items);
  Result<std::string> reprDict(const Dict &dict);
  std::vector<const Entry *> sorted(const Dict &dict);
  Status printItems(const Items &items, const char *end, Place place);
  Status printDict(const Dict &dict, Place place);
  Status printText(std::string_view text, Place place);
  Status addLine(std::string_view line, int64_t width, int64_t lastWidth,
                 std::vector<std::string> &chunks);

  const std::function<Status(uint64_t)> &charge;
  std::string out;
};

} // namespace

/// Returns Python's name of a type. Keys without another order have the order
/// of these names.
static const char *typeOf(const Value &value) {
  switch (value.kind()) {
  case Kind::None:
    return "NoneType";
  case Kind::Bool:
    return "bool";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::String:
    return value.text().isSafe ? "markupsafe.Markup" : "str";
  default:
    return "tuple";
  }
}

static bool isKeyBefore(const Value &left, const Value &right) {
  Result<bool> less = isLess(left, right);
  return less
             ? *less
             : std::string_view(typeOf(left)) < std::string_view(typeOf(right));
}

std::vector<const Printer::Entry *> Printer::sorted(const Dict &dict) {
  std::vector<const Entry *> order;
  for (const Entry &entry : dict.entries)
    order.push_back(&entry);
  sortStably(order, [](const Entry *a, const Entry *b) {
    return isKeyBefore(a->first, b->first);
  });
  return order;
}

Result<std::string> Printer::reprItems(const Items &items) {
  std::string text;
  for (const Value &item : items) {
    MTP_ASSIGN_OR_RETURN(std::string part, repr(item));
    text += text.empty() ? "" : ", ";
    text += part;
  }
  return text;
}

Result<std::string> Printer::reprDict(const Dict &dict) {
  std::string text = "{";
  for (const Entry *entry : sorted(dict)) {
    MTP_ASSIGN_OR_RETURN(std::string key, repr(entry->first));
    MTP_ASSIGN_OR_RETURN(std::string value, repr(entry->second));
    text += strCat(text.size() > 1 ? ", " : "", key, ": ", value);
  }
  return text + "}";
}

Result<std::string> Printer::repr(const Value &value) {
  std::string text;
  if (value.is(Kind::Dict)) {
    MTP_ASSIGN_OR_RETURN(text, reprDict(value.dict()));
  } else if (value.isListOrTuple()) {
    MTP_ASSIGN_OR_RETURN(text, reprItems(value.items()));
    bool isOne = value.items().size() == 1;
    text = value.is(Kind::List) ? strCat("[", text, "]")
                                : strCat("(", text, isOne ? ",)" : ")");
  } else {
    MTP_ASSIGN_OR_RETURN(text, toRepr(value));
  }
  if (text.size() > kMaxTextBytes)
    return resourceExhausted(
        strCat("expected at most ", kMaxTextBytes, " bytes of text, got more"));
  MTP_RETURN_IF_ERROR(charge(1 + text.size() / 64));
  return text;
}

Status Printer::print(const Value &value, Place place) {
  MTP_ASSIGN_OR_RETURN(std::string text, repr(value));
  if (lengthOfText(text) > kWidth - place.indent - place.allowance) {
    ++place.level;
    if (value.is(Kind::Dict))
      return printDict(value.dict(), place);
    if (value.is(Kind::List)) {
      out += '[';
      return printItems(value.items(), "]", place);
    }
    if (value.is(Kind::Tuple)) {
      out += '(';
      return printItems(value.items(), value.items().size() == 1 ? ",)" : ")",
                        place);
    }
    if (value.isString() && !value.text().isSafe && !value.bytes().empty())
      return printText(value.bytes(), place);
  }
  out += text;
  return okStatus();
}

Status Printer::printItems(const Items &items, const char *end, Place place) {
  place.allowance += int64_t(std::string_view(end).size());
  std::string next = ",\n" + std::string(size_t(place.indent + 1), ' ');
  for (size_t i = 0; i < items.size(); ++i) {
    bool isLast = i + 1 == items.size();
    out += i > 0 ? next : "";
    MTP_RETURN_IF_ERROR(
        print(items[i], place.within(1, isLast ? place.allowance : 1)));
  }
  out += end;
  return okStatus();
}

Status Printer::printDict(const Dict &dict, Place place) {
  ++place.allowance;
  out += '{';
  std::string next = ",\n" + std::string(size_t(place.indent + 1), ' ');
  std::vector<const Entry *> order = sorted(dict);
  for (size_t i = 0; i < order.size(); ++i) {
    bool isLast = i + 1 == order.size();
    MTP_ASSIGN_OR_RETURN(std::string key, repr(order[i]->first));
    out += strCat(i > 0 ? next : "", key, ": ");
    MTP_RETURN_IF_ERROR(
        print(order[i]->second, place.within(1 + lengthOfText(key) + 2,
                                             isLast ? place.allowance : 1)));
  }
  out += '}';
  return okStatus();
}

/// Returns the words of a line, each with the white space after it, as `\S*\s*`
/// finds them.
static std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  bool isBehindSpace = false;
  for (size_t at = 0, size; at < line.size(); at += size) {
    size = utf8Length(line, at);
    bool isGap = isSpace(decodeUtf8(line, at));
    if (isBehindSpace && !isGap) {
      words.push_back(line.substr(begin, at - begin));
      begin = at;
    }
    isBehindSpace = isGap;
  }
  words.push_back(line.substr(begin));
  return words;
}

/// Divides a long line of a string into chunks of words.
Status Printer::addLine(std::string_view line, int64_t width, int64_t lastWidth,
                        std::vector<std::string> &chunks) {
  std::vector<std::string_view> words = wordsOf(line);
  std::string current;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string candidate = strCat(current, words[i]);
    MTP_ASSIGN_OR_RETURN(std::string text, repr(Value(std::string(candidate))));
    if (lengthOfText(text) <= (i + 1 == words.size() ? lastWidth : width)) {
      current = std::move(candidate);
      continue;
    }
    if (!current.empty()) {
      MTP_ASSIGN_OR_RETURN(text, repr(Value(std::move(current))));
      chunks.push_back(std::move(text));
    }
    current = words[i];
  }
  if (current.empty())
    return okStatus();
  MTP_ASSIGN_OR_RETURN(std::string text, repr(Value(std::move(current))));
  chunks.push_back(std::move(text));
  return okStatus();
}

Status Printer::printText(std::string_view text, Place place) {
  bool isAlone = place.level == 1;
  int64_t indent = place.indent + isAlone,
          allowance = place.allowance + isAlone;
  int64_t width = kWidth - indent;
  std::vector<std::string> lines = splitLines(text, /*keepEnds=*/true);
  std::vector<std::string> chunks;
  for (size_t i = 0; i < lines.size(); ++i) {
    int64_t last = i + 1 == lines.size() ? width - allowance : width;
    MTP_ASSIGN_OR_RETURN(std::string whole, repr(Value(std::string(lines[i]))));
    if (lengthOfText(whole) <= last)
      chunks.push_back(std::move(whole));
    else
      MTP_RETURN_IF_ERROR(addLine(lines[i], width, last, chunks));
  }
  if (chunks.size() == 1) {
    out += chunks[0];
    return okStatus();
  }
  out += isAlone ? "(" : "";
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (i > 0)
      out += "\n" + std::string(size_t(indent), ' ');
    out += chunks[i];
  }
  out += isAlone ? ")" : "";
  return okStatus();
}

Result<std::string>
jinja::prettyPrint(const Value &value,
                   const std::function<Status(uint64_t work)> &charge) {
  Printer printer(charge);
  MTP_RETURN_IF_ERROR(printer.print(value, Place()));
  return printer.take();
}
