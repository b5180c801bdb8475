//===- TextMethods.cpp - Methods of strings -------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Methods.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Format.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr size_t npos = std::string::npos;

/// Returns a list of strings. They are safe if `isSafe`.
Result<Value> makeParts(const std::vector<std::string> &parts, bool isSafe) {
  Items items;
  for (const std::string &part : parts)
    items.push_back(Value(part, isSafe));
  return makeList(std::move(items));
}

int64_t indexOf(std::string_view text, size_t offset) {
  return static_cast<int64_t>(
      std::count_if(text.begin(), text.begin() + static_cast<int64_t>(offset),
                    [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> splitSpace(std::string_view text, int64_t limit) {
  std::vector<std::string> parts;
  text = stripLeft(text);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.emplace_back(stripRight(text));
      break;
    }
    size_t end = 0;
    while (end < text.size() && !isSpace(decodeUtf8(text, end)))
      end += utf8Length(text, end);
    parts.emplace_back(text.substr(0, end));
    text = stripLeft(text.substr(end));
  }
  return parts;
}

std::vector<std::string> splitBy(std::string_view text,
                                 std::string_view separator, int64_t limit) {
  std::vector<std::string> parts;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    size_t at = text.find(separator);
    if (at == npos)
      break;
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string>
splitByRight(std::string_view text, std::string_view separator, int64_t limit) {
  std::vector<std::string> parts;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    size_t at = text.rfind(separator);
    if (at == npos)
      break;
    parts.emplace_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.emplace_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool fromRight>
Result<Value> split(const Value &self, const Bound &bound) {
  const Text &text = self.text();
  MTP_ASSIGN_OR_RETURN(int64_t limit, bound.integer(1, -1));
  if (!bound.isGiven(0) && fromRight && limit >= 0)
    return unimplemented("expected a separator for 'rsplit' with a limit, got "
                         "none");
  if (!bound.isGiven(0))
    return makeParts(splitSpace(text.bytes, limit), text.isSafe);
  MTP_ASSIGN_OR_RETURN(std::string separator, bound.string(0, ""));
  if (separator.empty())
    return invalidArgument("expected a separator that is not empty, got ''");
  return makeParts(fromRight ? splitByRight(text.bytes, separator, limit)
                             : splitBy(text.bytes, separator, limit),
                   text.isSafe);
}

template <bool fromRight>
Result<Value> find(const Value &self, const Bound &bound) {
  const std::string &text = self.bytes();
  MTP_ASSIGN_OR_RETURN(std::string sought, bound.string(0, ""));
  size_t at = fromRight ? text.rfind(sought) : text.find(sought);
  return Value(at == npos ? int64_t(-1) : indexOf(text, at));
}

Result<Value> count(const Value &self, const Bound &bound) {
  const std::string &text = self.bytes();
  MTP_ASSIGN_OR_RETURN(std::string sought, bound.string(0, ""));
  if (sought.empty())
    return Value(int64_t(self.text().length) + 1);
  int64_t found = 0;
  for (size_t at = text.find(sought); at != npos;
       at = text.find(sought, at + sought.size()))
    ++found;
  return Value(found);
}

template <bool atStart>
Result<Value> startsOrEnds(const Value &self, const Bound &bound) {
  Items candidates = {bound[0]};
  if (bound[0].is(Kind::Tuple))
    candidates = bound[0].items();
  for (const Value &candidate : candidates) {
    if (!candidate.isString())
      return expected("a string or a tuple of strings", candidate);
    if (atStart ? self.bytes().starts_with(candidate.bytes())
                : self.bytes().ends_with(candidate.bytes()))
      return Value(true);
  }
  return Value(false);
}

template <bool atStart>
Result<Value> removeAffix(const Value &self, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(std::string affix, bound.string(0, ""));
  std::string_view text = self.bytes();
  if (atStart && text.starts_with(affix))
    text.remove_prefix(affix.size());
  else if (!atStart && text.ends_with(affix))
    text.remove_suffix(affix.size());
  return Value(std::string(text), self.text().isSafe);
}

Result<Value> join(const Value &self, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(bound[0]));
  std::string out;
  for (size_t i = 0; i < items.size() && out.size() <= kMaxTextBytes; ++i) {
    if (!items[i].isString())
      return expected("strings to join", items[i]);
    out.append(i > 0 ? self.bytes() : "").append(items[i].bytes());
  }
  return makeText(std::move(out));
}

Result<Value> replace(const Value &self, const Bound &bound) {
  if (!bound[0].isString() || !bound[1].isString())
    return expected("strings to replace",
                    bound[0].isString() ? bound[1] : bound[0]);
  MTP_ASSIGN_OR_RETURN(int64_t count, bound.integer(2, -1));
  return replaceText(self.text(), bound[0].bytes(), bound[1].bytes(), count);
}

template <std::string (*recase)(std::string_view)>
Result<Value> changeCase(const Value &self, const Bound &) {
  return makeText(recase(self.bytes()), self.text().isSafe);
}

template <char where>
Result<Value> strip(const Value &self, const Bound &bound) {
  return stripText(self, bound.valueOr(0, Value()), where);
}

Result<Value> lines(const Value &self, const Bound &bound) {
  MTP_ASSIGN_OR_RETURN(bool keepEnds, bound.flag(0, false));
  return makeParts(splitLines(self.bytes(), keepEnds), self.text().isSafe);
}

struct TextMethod {
  std::string_view name, parameters;
  size_t required;
  Result<Value> (*call)(const Value &self, const Bound &bound);
  /// Whether the method of a safe string escapes for HTML, which is refused.
  bool escapes = false;
};

/// All methods except format().
constexpr TextMethod kMethods[] = {
    {"capitalize", "", 0, changeCase<capitalize>},
    {"count", "sub", 1, count},
    {"endswith", "prefix", 1, startsOrEnds<false>},
    {"find", "sub", 1, find<false>},
    {"join", "iterable", 1, join, /*escapes=*/true},
    {"lower", "", 0, changeCase<toLower>},
    {"lstrip", "chars", 0, strip<'l'>},
    {"removeprefix", "affix", 1, removeAffix<true>},
    {"removesuffix", "affix", 1, removeAffix<false>},
    {"replace", "old new count", 2, replace, /*escapes=*/true},
    {"rfind", "sub", 1, find<true>},
    {"rsplit", "sep maxsplit", 0, split<true>},
    {"rstrip", "chars", 0, strip<'r'>},
    {"split", "sep maxsplit", 0, split<false>},
    {"splitlines", "keepends", 0, lines},
    {"startswith", "prefix", 1, startsOrEnds<true>},
    {"strip", "chars", 0, strip<'b'>},
    {"title", "", 0, changeCase<toTitle>},
    {"upper", "", 0, changeCase<toUpper>},
};

} // namespace

Result<Value> jinja::callTextMethod(const Value &self, const std::string &name,
                                    const Arguments &arguments) {
  auto method = std::ranges::find(kMethods, name, &TextMethod::name);
  bool isFormat = method == std::end(kMethods);
  if (self.text().isSafe && (isFormat || method->escapes))
    return unimplemented(strCat("expected a string that is not marked safe "
                                "for the method '",
                                name, "', got one"));
  if (isFormat)
    return formatBraces(self.bytes(), arguments);
  MTP_ASSIGN_OR_RETURN(Bound bound,
                       arguments.bind(method->parameters, method->required));
  return method->call(self, bound);
}

Result<Value> jinja::stripText(const Value &self, const Value &characters,
                               char where) {
  std::string_view text = self.bytes();
  if (!characters.isNone() && !characters.isString())
    return expected("a string of characters to strip", characters);
  if (characters.isNone()) {
    if (where != 'r')
      text = stripLeft(text);
    if (where != 'l')
      text = stripRight(text);
    return Value(std::string(text), self.text().isSafe);
  }
  const std::string &set = characters.bytes();
  auto isIn = [&](std::string_view character) {
    return set.find(character) != npos;
  };
  while (where != 'r' && !text.empty() &&
         isIn(text.substr(0, utf8Length(text, 0))))
    text.remove_prefix(utf8Length(text, 0));
  while (where != 'l' && !text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (text[last] & 0xC0) == 0x80)
      --last;
    if (!isIn(text.substr(last)))
      break;
    text = text.substr(0, last);
  }
  return Value(std::string(text), self.text().isSafe);
}

std::vector<std::string> jinja::splitLines(std::string_view text,
                                           bool keepEnds) {
  std::vector<std::string> lines;
  size_t start = 0;
  for (size_t pos = 0; pos < text.size();) {
    uint32_t c = decodeUtf8(text, pos);
    size_t end = pos + utf8Length(text, pos);
    bool isEnd = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) ||
                 c == 0x85 || c == 0x2028 || c == 0x2029;
    if (c == '\r' && end < text.size() && text[end] == '\n')
      ++end;
    if (isEnd) {
      lines.emplace_back(text.substr(start, (keepEnds ? end : pos) - start));
      start = end;
    }
    pos = end;
  }
  if (start < text.size())
    lines.emplace_back(text.substr(start));
  return lines;
}

Result<Value> jinja::replaceText(const Text &self, std::string_view from,
                                 std::string_view to, int64_t count) {
  std::string out;
  std::string_view text = self.bytes;
  size_t pos = 0;
  for (; count != 0 && out.size() <= kMaxTextBytes; --count) {
    size_t at = from.empty() ? pos : text.find(from, pos);
    if (at == npos)
      break;
    out.append(text.substr(pos, at - pos)).append(to);
    pos = at + from.size();
    if (!from.empty())
      continue;
    // An empty string is found before each character and at the end.
    if (pos == text.size())
      return makeText(std::move(out), self.isSafe);
    size_t size = utf8Length(text, pos);
    out.append(text.substr(pos, size));
    pos += size;
  }
  return makeText(out.append(text.substr(pos)), self.isSafe);
}

Result<Value> jinja::centerText(const Text &self, int64_t width) {
  auto length = static_cast<int64_t>(self.length);
  if (width <= length)
    return Value(self.bytes, self.isSafe);
  if (static_cast<uint64_t>(width) > kMaxTextBytes / 4)
    return resourceExhausted(strCat("expected a width of at most ",
                                    kMaxTextBytes / 4, ", got ", width));
  int64_t missing = width - length;
  // CPython puts an odd space to the left if the width is odd.
  int64_t left = missing / 2 + (missing & width & 1);
  std::string out(static_cast<size_t>(left), ' ');
  out.append(self.bytes).append(static_cast<size_t>(missing - left), ' ');
  return makeText(std::move(out), self.isSafe);
}
