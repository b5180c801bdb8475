//===- GemmaReader.cpp - Calls of Gemma 4 ---------------------------------===//

#include "runtime/chat/tools/CallReaders.h"
#include "runtime/chat/tools/JsonScanner.h"

#include <algorithm>
#include <set>

using namespace mtp;

static constexpr std::string_view kQuote = "<|\"|>";
static constexpr std::string_view kCallEnd = "<tool_call|>";

namespace {

/// Turns Gemma's values into JSON: strings between two <|"|>, {key:value},
/// [value,value], numbers, true, false and null.
class GemmaValues {
public:
  explicit GemmaValues(std::string_view text) : rest(text) {}

  bool readMembers(char end);
  bool isAtEnd() const { return rest.empty(); }
  std::string take() { return std::move(json); }

private:
  static constexpr size_t kMostDepth = 64;

  bool has(std::string_view mark);
  bool readValue();
  bool readItems();
  bool readString();
  bool readKey();
  bool readWord();

  std::string_view rest;
  std::string json;
  size_t depth = 0;
};

/// <|tool_call>call:f{key:<|"|>value<|"|>,other:1}<tool_call|>
class GemmaReader : public CallReader {
public:
  std::span<const CallOpening> openings() const override { return kOpenings; }
  std::span<const std::string_view> marks() const override { return kMarks; }
  void reset() override {
    name.clear();
    arguments.clear();
    hasName = false;
  }
  Match read(CallText &text, const CallSection *&section) override;

private:
  static constexpr CallOpening kOpenings[] = {{"<|tool_call>call:"}};
  static constexpr std::string_view kMarks[] = {kQuote, kCallEnd};

  std::string name, arguments;
  bool hasName = false;
};

} // namespace

bool GemmaValues::has(std::string_view mark) {
  if (!rest.starts_with(mark))
    return false;
  rest.remove_prefix(mark.size());
  return true;
}

bool GemmaValues::readString() {
  size_t end = rest.find(kQuote);
  if (end == rest.npos)
    return false;
  json += jsonQuoted(rest.substr(0, end));
  rest.remove_prefix(end + kQuote.size());
  return true;
}

bool GemmaValues::readKey() {
  if (has(kQuote))
    return readString();
  size_t end = rest.find_first_of(":,{}[]");
  if (end == 0 || end == rest.npos)
    return false;
  json += jsonQuoted(rest.substr(0, end));
  rest.remove_prefix(end);
  return true;
}

bool GemmaValues::readWord() {
  std::string_view word = rest.substr(0, rest.find_first_of(",]}"));
  rest.remove_prefix(word.size());
  word = trimmed(word);
  bool isNone = word == "None";
  if (!isNone && !JsonScanner::isValue(word))
    return false;
  json += isNone ? "null" : word;
  return true;
}

bool GemmaValues::readItems() {
  json += '[';
  for (bool isFirst = true; !has("]"); isFirst = false) {
    if (!isFirst && !has(","))
      return false;
    json += isFirst ? "" : ", ";
    if (!readValue())
      return false;
  }
  json += ']';
  return true;
}

/// Reads the members of an object up to `end`.
bool GemmaValues::readMembers(char end) {
  json += '{';
  for (bool isFirst = true; !has({&end, 1}); isFirst = false) {
    if (!isFirst && !has(","))
      return false;
    json += isFirst ? "" : ", ";
    if (!readKey() || !has(":"))
      return false;
    json += ": ";
    if (!readValue())
      return false;
  }
  json += '}';
  return true;
}

bool GemmaValues::readValue() {
  if (depth == kMostDepth)
    return false;
  ++depth;
  bool isRead = has(kQuote) ? readString()
                : has("{")  ? readMembers('}')
                : has("[")  ? readItems()
                            : readWord();
  --depth;
  return isRead;
}

/// The call's events come at its end.
Match GemmaReader::read(CallText &text, const CallSection *&) {
  constexpr size_t kMost = ToolSet::kMostNameBytes;
  if (!hasName)
    if (Match match = text.takeUntil("{", kMost, name); match != Match::Yes)
      return match;
  hasName = true;
  Match match = text.takeUntil(kCallEnd, SIZE_MAX, arguments);
  if (match != Match::Yes)
    return match;
  GemmaValues values(arguments);
  if (!values.readMembers('}') || !values.isAtEnd() || !text.begin(name))
    return Match::No;
  text.addArguments(values.take());
  return Match::Yes;
}

std::unique_ptr<CallReader> mtp::makeGemmaReader() {
  return std::make_unique<GemmaReader>();
}
