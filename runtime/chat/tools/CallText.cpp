//===- CallText.cpp - The text of an answer as it arrives -----------------===//

#include "runtime/chat/tools/CallText.h"

#include "runtime/json/JsonWriter.h"

#include <algorithm>

using namespace mtp;

size_t mtp::findBeginning(std::string_view text, std::string_view mark) {
  size_t longest = std::min(text.size(), mark.size() - 1);
  for (size_t length = longest; length > 0; --length)
    if (text.ends_with(mark.substr(0, length)))
      return text.size() - length;
  return text.size();
}

std::string_view mtp::trimmed(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(kCallSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kCallSpace) + 1);
}

std::string mtp::jsonQuoted(std::string_view text) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.value(text);
  return json.text();
}

std::string mtp::jsonEscaped(std::string_view text) {
  std::string quoted = jsonQuoted(text);
  return quoted.substr(1, quoted.size() - 2);
}

void CallText::take(size_t bytes) {
  source += rest().substr(0, bytes);
  position += bytes;
}

void CallText::skipSpace() {
  take(std::min(rest().find_first_not_of(kCallSpace), rest().size()));
}

Match CallText::match(std::string_view mark) {
  std::string_view text = rest();
  if (text.starts_with(mark)) {
    take(mark.size());
    return Match::Yes;
  }
  return mark.starts_with(text) ? Match::More : Match::No;
}

Match CallText::takeUntil(std::string_view mark, size_t most, std::string &to,
                          bool keepsMark) {
  std::string_view text = rest();
  // No more is searched than may be taken.
  if (most < text.size())
    text = text.substr(0, std::min(text.size() - most, mark.size()) + most);
  size_t end = text.find(mark);
  bool isFound = end != text.npos;
  if (!isFound)
    end = findBeginning(text, mark);
  if (size_t left = most - to.size(); end > left) {
    take(left);
    return Match::No;
  }
  to += text.substr(0, end);
  take(isFound && !keepsMark ? end + mark.size() : end);
  return isFound ? Match::Yes : Match::More;
}

const Tool *CallText::begin(std::string_view name) {
  const Tool *tool = tools.find(name);
  if (!tool)
    return nullptr;
  isBegun = true;
  add(ToolEvent::Kind::Begin, name);
  return tool;
}

void CallText::addArguments(std::string_view json) {
  add(ToolEvent::Kind::Arguments, json);
}

void CallText::add(ToolEvent::Kind kind, std::string_view text) {
  bool joins =
      kind == ToolEvent::Kind::Content || kind == ToolEvent::Kind::Arguments;
  if (joins && text.empty())
    return;
  if (joins && !events->empty() && events->back().kind == kind)
    events->back().text += text;
  else
    events->push_back({kind, std::string(text)});
}

void CallText::compact() {
  held.erase(0, position);
  position = 0;
}
