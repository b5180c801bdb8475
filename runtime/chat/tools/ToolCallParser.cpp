//===- ToolCallParser.cpp - Tool calls in answers -------------------------===//

#include "runtime/chat/tools/ToolCallParser.h"

#include "runtime/chat/tools/CallReaders.h"

#include <algorithm>
#include <utility>

using namespace mtp;
using Kind = ToolEvent::Kind;

ToolCallParser::ToolCallParser(ToolFormat format, const ToolSet &tools)
    : reader(makeCallReader(format)), text(tools) {}

bool ToolCallParser::isMark(std::string_view token) const {
  if (!reader || token.empty())
    return false;
  auto isIn = [token](std::string_view mark) {
    return mark.find(token) != mark.npos;
  };
  for (const CallOpening &one : reader->openings())
    if (isIn(one.mark) ||
        (one.section && (isIn(one.section->call) || isIn(one.section->end))))
      return true;
  return std::ranges::any_of(reader->marks(), isIn);
}

void ToolCallParser::append(std::string_view more, ToolEvents &events) {
  text.events = &events;
  text.held += more;
  run(/*isLast=*/false);
  text.compact();
}

void ToolCallParser::finish(ToolEvents &events) {
  text.events = &events;
  run(/*isLast=*/true);
  // A broken call may contain the beginning of another one.
  while (state == State::Call) {
    breakCall();
    run(/*isLast=*/true);
  }
  if (state == State::Section)
    finishSection();
  addContent(text.rest());
  text.compact();
  text.held.clear();
  text.add(isAfterEnd && !space.empty() ? Kind::Markup : Kind::Content, space);
  space.clear();
}

void ToolCallParser::run(bool isLast) {
  bool continues = true;
  while (continues)
    switch (state) {
    case State::Content:
      continues = readContent(isLast);
      break;
    case State::Section:
      continues = readSection();
      break;
    case State::Call:
      continues = readCall();
      break;
    }
}

//===----------------------------------------------------------------------===//
// Content
//===----------------------------------------------------------------------===//

void ToolCallParser::addContent(std::string_view more) {
  size_t end = more.find_last_not_of(kCallSpace) + 1;
  if (end > 0) {
    text.add(Kind::Content, space);
    text.add(Kind::Content, more.substr(0, end));
    space.clear();
    hasContent = true;
    isAfterEnd = false;
  }
  space += more.substr(end);
}

/// Returns the opening at the begin of a text: the longest one. `mayGrow`: a
/// longer opening may be there, of which not all has arrived.
const CallOpening *ToolCallParser::openingOf(std::string_view rest,
                                             bool &mayGrow) const {
  const CallOpening *found = nullptr;
  for (const CallOpening &one : reader->openings()) {
    if (one.isStart)
      continue;
    if (!rest.starts_with(one.mark))
      mayGrow |= one.mark.starts_with(rest);
    else if (!found || one.mark.size() > found->mark.size())
      found = &one;
  }
  return found;
}

/// Returns the first opening in the text, and its offset. Without one, `at` is
/// the offset at which one may begin. The time is linear in `at`.
const CallOpening *ToolCallParser::findOpening(size_t &at, bool isLast) const {
  std::string_view rest = text.rest();
  std::string firsts;
  for (const CallOpening &one : reader->openings())
    if (!one.isStart)
      firsts += one.mark.front();
  for (at = 0;; ++at) {
    at = std::min(rest.find_first_of(firsts, at), rest.size());
    if (at == rest.size())
      return nullptr;
    bool mayGrow = false;
    const CallOpening *found = openingOf(rest.substr(at), mayGrow);
    if (mayGrow && !isLast)
      return nullptr;
    if (found)
      return found;
  }
}

/// Opens a call at the first byte of the answer.
bool ToolCallParser::openStart() {
  std::string_view rest = text.rest();
  size_t begin = rest.find_first_not_of(kCallSpace);
  if (begin == rest.npos)
    return false;
  rest.remove_prefix(begin);
  for (const CallOpening &one : reader->openings())
    if (one.isStart && rest.starts_with(one.mark)) {
      space += text.rest().substr(0, begin);
      text.position += begin;
      open(one);
      return true;
    }
  return false;
}

void ToolCallParser::open(const CallOpening &opening) {
  text.source = std::exchange(space, {});
  section = opening.section;
  isAfterCall = needsSeparator = false;
  if (!opening.isStart)
    text.take(opening.mark.size());
  if (opening.isSectionOnly)
    state = State::Section;
  else
    beginCall();
}

/// Passes content on. Returns whether a call or a section begins.
bool ToolCallParser::readContent(bool isLast) {
  if (reader && !hasContent && openStart())
    return true;
  size_t at = text.rest().size();
  const CallOpening *opening = reader ? findOpening(at, isLast) : nullptr;
  addContent(text.rest().substr(0, at));
  text.position += at;
  if (opening)
    open(*opening);
  return opening != nullptr;
}

//===----------------------------------------------------------------------===//
// Sections and calls
//===----------------------------------------------------------------------===//

void ToolCallParser::beginCall() {
  reader->reset();
  text.isBegun = false;
  state = State::Call;
}

/// Ends a section in front of text that does not belong to it.
void ToolCallParser::leaveSection() {
  state = State::Content;
  addContent(std::exchange(text.source, {}));
}

/// Reads the separator in front of a call. Returns No if another text is there.
Match ToolCallParser::readSeparator() {
  text.skipSpace();
  if (text.rest().empty())
    return Match::More;
  if (!needsSeparator)
    return Match::Yes;
  if (text.rest().front() != section->separator)
    return Match::No;
  needsSeparator = false;
  text.take(1);
  text.skipSpace();
  return text.rest().empty() ? Match::More : Match::Yes;
}

/// Reads the text in front of a call of a section.
bool ToolCallParser::readSection() {
  Match separator = readSeparator();
  if (separator == Match::More)
    return false;
  Match end = section->end.empty() ? Match::No : text.match(section->end);
  if (end == Match::Yes && isAfterCall) {
    text.add(Kind::Markup, std::exchange(text.source, {}));
    isAfterEnd = true;
    state = State::Content;
    return true;
  }
  Match call = separator == Match::Yes && end != Match::Yes
                   ? text.match(section->call)
                   : Match::No;
  if (call == Match::Yes)
    beginCall();
  else if (call == Match::More || end == Match::More)
    return false;
  else
    leaveSection();
  return true;
}

/// Ends a section at the end of the answer. What may be the section's own end
/// mark is no content.
void ToolCallParser::finishSection() {
  bool isCut = text.rest().empty() ||
               (!section->end.empty() && section->end.starts_with(text.rest()));
  std::string source = std::exchange(text.source, {});
  if (isAfterCall && isCut && trimmed(source).empty()) {
    source += text.rest();
    text.position = text.held.size();
    if (!source.empty())
      text.add(Kind::Markup, source);
  } else {
    addContent(source);
  }
  state = State::Content;
}

bool ToolCallParser::readCall() {
  Match match = reader->read(text, section);
  if (match == Match::More)
    return false;
  if (match == Match::No) {
    breakCall();
    return true;
  }
  text.add(Kind::End, std::exchange(text.source, {}));
  isAfterEnd = true;
  isAfterCall = true;
  needsSeparator = section && section->separator != 0;
  state = section ? State::Section : State::Content;
  return true;
}

/// Makes the text of the running call content.
void ToolCallParser::breakCall() {
  state = State::Content;
  std::string source = std::exchange(text.source, {});
  if (!text.isBegun) {
    // No opening counts a second time.
    hasContent |= !trimmed(source).empty() || !text.rest().empty();
    addContent(source);
    return;
  }
  text.add(Kind::Broken, source);
  hasContent = true;
  isAfterEnd = false;
}
