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

/// Strings as a list, safe like the one that they come from.
Result<Value> makeParts(const std::vector<std::string> &parts, bool isSafe) {
  Items items;
  for (const std::string &part : parts)
    items.push_back(Value(part, isSafe));
  return makeList(std::move(items));
}

/// Where the n-th code point starts.
size_t offsetOf(std::string_view text, int64_t index) {
  size_t pos = 0;
  for (; index > 0 && pos < text.size(); --index)
    pos += utf8Length(text, pos);
  return pos;
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

size_t lastWord(std::string_view text) {
  size_t start = text.size();
  while (start > 0) {
    size_t before = start - 1;
    while (before > 0 && (text[before] & 0xC0) == 0x80)
      --before;
    if (isSpace(decodeUtf8(text, before)))
      break;
    start = before;
  }
  return start;
}

std::vector<std::string> splitSpaceRight(std::string_view text, int64_t limit) {
  std::vector<std::string> parts;
  text = stripRight(text);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.emplace_back(text);
      break;
    }
    size_t start = lastWord(text);
    parts.emplace_back(text.substr(start));
    text = stripRight(text.substr(0, start));
  }
  std::reverse(parts.begin(), parts.end());
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
  if (!bound.isGiven(0))
    return makeParts(fromRight ? splitSpaceRight(self.bytes, limit)
                               : splitSpace(self.bytes, limit),
                     self.isSafe);
  MTP_ASSIGN_OR_RETURN(std::string separator, bound.string(0, ""));
  if (separator.empty())
    return invalidArgument("expected a separator that is not empty, got ''");
  return makeParts(fromRight ? splitByRight(self.bytes, separator, limit)
                             : splitBy(self.bytes, separator, limit),
                   self.isSafe);
}

Result<Value> partition(const Text &self, const Arguments &arguments,
                        bool fromRight) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sep", 1));
  MTP_ASSIGN_OR_RETURN(std::string separator, bound.string(0, ""));
  if (separator.empty())
    return invalidArgument("expected a separator that is not empty, got ''");
  size_t at =
      fromRight ? self.bytes.rfind(separator) : self.bytes.find(separator);
  std::string parts[3];
  if (at == npos) {
    parts[fromRight ? 2 : 0] = self.bytes;
  } else {
    parts[0] = self.bytes.substr(0, at);
    parts[1] = separator;
    parts[2] = self.bytes.substr(at + separator.size());
  }
  Items items;
  for (const std::string &part : parts)
    items.push_back(Value(part, self.isSafe));
  return makeTuple(std::move(items));
}

/// The part of the text that optional start and stop leave, by code points.
struct Part {
  std::string_view text;
  int64_t start = 0;
  bool isAny = true; ///< Whether the start is not past the end.
};

Result<Part> partOf(const Text &self, const Bound &bound) {
  auto length = static_cast<int64_t>(self.length);
  MTP_ASSIGN_OR_RETURN(int64_t start, bound.integer(1, 0));
  MTP_ASSIGN_OR_RETURN(int64_t stop, bound.integer(2, length));
  if (start < 0)
    start = std::max<int64_t>(start + length, 0);
  if (stop < 0)
    stop = std::max<int64_t>(stop + length, 0);
  stop = std::min(stop, length);
  if (start > stop)
    return Part{{}, start, false};
  size_t from = offsetOf(self.bytes, start);
  size_t to = offsetOf(self.bytes, stop);
  return Part{std::string_view(self.bytes).substr(from, to - from), start};
}

Result<Value> find(const Text &self, const std::string &name,
                   const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sub start end", 1));
  MTP_ASSIGN_OR_RETURN(std::string sought, bound.string(0, ""));
  MTP_ASSIGN_OR_RETURN(Part part, partOf(self, bound));
  bool fromRight = name[0] == 'r';
  size_t at = !part.isAny ? npos
              : fromRight ? part.text.rfind(sought)
                          : part.text.find(sought);
  if (at != npos)
    return Value(part.start + indexOf(part.text, at));
  if (name == "index" || name == "rindex")
    return invalidArgument("expected a string that the other holds, got one "
                           "that it does not");
  return Value(int64_t(-1));
}

Result<Value> count(const Text &self, const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sub start end", 1));
  MTP_ASSIGN_OR_RETURN(std::string sought, bound.string(0, ""));
  MTP_ASSIGN_OR_RETURN(Part part, partOf(self, bound));
  if (!part.isAny)
    return Value(int64_t(0));
  if (sought.empty())
    return Value(indexOf(part.text, part.text.size()) + 1);
  int64_t found = 0;
  for (size_t at = part.text.find(sought); at != npos;
       at = part.text.find(sought, at + sought.size()))
    ++found;
  return Value(found);
}

Result<Value> startsOrEnds(const Text &self, bool atStart,
                           const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("prefix start end", 1));
  MTP_ASSIGN_OR_RETURN(Part part, partOf(self, bound));
  Items candidates = {bound[0]};
  if (bound[0].is(Kind::Tuple))
    candidates = bound[0].items();
  for (const Value &candidate : candidates) {
    if (!candidate.isString())
      return expected("a string or a tuple of strings", candidate);
    const std::string &other = candidate.bytes();
    if (!part.isAny || other.size() > part.text.size())
      continue;
    size_t at = atStart ? 0 : part.text.size() - other.size();
    if (part.text.substr(at, other.size()) == other)
      return Value(true);
  }
  return Value(false);
}

Result<Value> removeAffix(const Text &self, bool atStart,
                          const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("affix", 1));
  MTP_ASSIGN_OR_RETURN(std::string affix, bound.string(0, ""));
  std::string_view text = self.bytes;
  if (affix.size() <= text.size()) {
    size_t at = atStart ? 0 : text.size() - affix.size();
    if (text.substr(at, affix.size()) == affix)
      text = atStart ? text.substr(affix.size()) : text.substr(0, at);
  }
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

/// Methods without arguments that yield a string.
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
  if (name == "find" || name == "rfind" || name == "index" || name == "rindex")
    return find(text, name, arguments);
  if (name == "count")
    return count(text, arguments);
  if (name == "split" || name == "rsplit")
    return split(text, arguments, name == "rsplit");
  if (name == "partition" || name == "rpartition")
    return partition(text, arguments, name == "rpartition");
  if (name == "removeprefix" || name == "removesuffix")
    return removeAffix(text, name == "removeprefix", arguments);
  // What these make of marked strings is for HTML alone.
  if (text.isSafe)
    return unimplemented(strCat("expected a string that is not marked safe "
                                "for the method '",
                                name, "', got one"));
  if (name == "replace")
    return replace(text, arguments);
  if (name == "join")
    return join(text, arguments);
  if (name == "format")
    return formatBraces(text.bytes, arguments);
  return unimplemented(
      strCat("expected a supported method of a string, got '", name, "'"));
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
    // Between all characters, before the first and after the last.
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
