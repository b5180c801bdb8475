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

Result<Value> split(const Text &self, const Arguments &arguments,
                    bool fromRight) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sep maxsplit"));
  MTP_ASSIGN_OR_RETURN(int64_t limit, bound.integer(1, -1));
  if (!bound.isGiven(0) && fromRight && limit >= 0)
    return unimplemented("expected a separator for 'rsplit' with a limit, got "
                         "none");
  if (!bound.isGiven(0))
    return makeParts(splitSpace(self.bytes, limit), self.isSafe);
  MTP_ASSIGN_OR_RETURN(std::string separator, bound.string(0, ""));
  if (separator.empty())
    return invalidArgument("expected a separator that is not empty, got ''");
  return makeParts(fromRight ? splitByRight(self.bytes, separator, limit)
                             : splitBy(self.bytes, separator, limit),
                   self.isSafe);
}

Result<Value> find(const Text &self, const Arguments &arguments,
                   bool fromRight) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sub", 1));
  MTP_ASSIGN_OR_RETURN(std::string sought, bound.string(0, ""));
  size_t at = fromRight ? self.bytes.rfind(sought) : self.bytes.find(sought);
  return Value(at == npos ? int64_t(-1) : indexOf(self.bytes, at));
}

Result<Value> count(const Text &self, const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sub", 1));
  MTP_ASSIGN_OR_RETURN(std::string sought, bound.string(0, ""));
  if (sought.empty())
    return Value(int64_t(self.length) + 1);
  int64_t found = 0;
  for (size_t at = self.bytes.find(sought); at != npos;
       at = self.bytes.find(sought, at + sought.size()))
    ++found;
  return Value(found);
}

Result<Value> startsOrEnds(const Text &self, bool atStart,
                           const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("prefix", 1));
  Items candidates = {bound[0]};
  if (bound[0].is(Kind::Tuple))
    candidates = bound[0].items();
  for (const Value &candidate : candidates) {
    if (!candidate.isString())
      return expected("a string or a tuple of strings", candidate);
    if (atStart ? self.bytes.starts_with(candidate.bytes())
                : self.bytes.ends_with(candidate.bytes()))
      return Value(true);
  }
  return Value(false);
}

Result<Value> removeAffix(const Text &self, bool atStart,
                          const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("affix", 1));
  MTP_ASSIGN_OR_RETURN(std::string affix, bound.string(0, ""));
  std::string_view text = self.bytes;
  if (atStart && text.starts_with(affix))
    text.remove_prefix(affix.size());
  else if (!atStart && text.ends_with(affix))
    text.remove_suffix(affix.size());
  return Value(std::string(text), self.isSafe);
}

Result<Value> join(const Text &self, const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("iterable", 1));
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(bound[0]));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].isString())
      return expected("strings to join", items[i]);
    out.append(i > 0 ? self.bytes : "").append(items[i].bytes());
    if (out.size() > kMaxTextBytes)
      break;
  }
  return makeText(std::move(out));
}

/// Calls a method that changes the case. Returns nothing for another name.
std::optional<std::string> recase(const std::string &name,
                                  std::string_view text) {
  if (name == "upper")
    return toUpper(text);
  if (name == "lower")
    return toLower(text);
  if (name == "title")
    return toTitle(text);
  if (name == "capitalize")
    return capitalize(text);
  return std::nullopt;
}

Result<Value> replace(const Text &self, const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("old new count", 2));
  if (!bound[0].isString() || !bound[1].isString())
    return expected("strings to replace",
                    bound[0].isString() ? bound[1] : bound[0]);
  MTP_ASSIGN_OR_RETURN(int64_t count, bound.integer(2, -1));
  return replaceText(self, bound[0].bytes(), bound[1].bytes(), count);
}

Result<Value> callOther(const Value &self, const std::string &name,
                        const Arguments &arguments) {
  const Text &text = self.text();
  if (name == "startswith" || name == "endswith")
    return startsOrEnds(text, name == "startswith", arguments);
  if (name == "find" || name == "rfind")
    return find(text, arguments, name == "rfind");
  if (name == "count")
    return count(text, arguments);
  if (name == "split" || name == "rsplit")
    return split(text, arguments, name == "rsplit");
  if (name == "removeprefix" || name == "removesuffix")
    return removeAffix(text, name == "removeprefix", arguments);
  // On safe strings the remaining methods escape for HTML.
  if (text.isSafe)
    return unimplemented(strCat("expected a string that is not marked safe "
                                "for the method '",
                                name, "', got one"));
  if (name == "replace")
    return replace(text, arguments);
  if (name == "join")
    return join(text, arguments);
  return formatBraces(text.bytes, arguments);
}

} // namespace

Result<Value> jinja::callTextMethod(const Value &self, const std::string &name,
                                    const Arguments &arguments) {
  const Text &text = self.text();
  if (std::optional<std::string> cased = recase(name, text.bytes)) {
    MTP_RETURN_IF_ERROR(arguments.bind("").status());
    return makeText(*std::move(cased), text.isSafe);
  }
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("chars"));
    return stripText(self, bound.valueOr(0, Value()),
                     name == "strip" ? 'b' : name[0]);
  }
  if (name == "splitlines") {
    MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("keepends"));
    MTP_ASSIGN_OR_RETURN(bool keepEnds, bound.flag(0, false));
    return makeParts(splitLines(text.bytes, keepEnds), text.isSafe);
  }
  return callOther(self, name, arguments);
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
