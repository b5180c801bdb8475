//===- ObjectCall.cpp - Calls that are one JSON object --------------------===//

#include "runtime/chat/tools/ObjectCall.h"

#include "runtime/json/JsonTree.h"

using namespace mtp;

/// Limit on the JSON of a key or a name.
static constexpr size_t kMostTokenBytes = 1024;

static Match matchOf(JsonScanner::Result result) {
  switch (result) {
  case JsonScanner::Result::More:
    return Match::More;
  case JsonScanner::Result::Done:
    return Match::Yes;
  case JsonScanner::Result::Failed:
    break;
  }
  return Match::No;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void ArgumentsObject::reset() {
  scanner.reset();
  isInside = false;
}

Match ArgumentsObject::read(CallText &text) {
  if (!isInside)
    text.skipSpace();
  if (text.rest().empty())
    return Match::More;
  if (!isInside && text.rest().front() != '{')
    return Match::No;
  isInside = true;
  size_t used = 0;
  JsonScanner::Result result = scanner.scan(text.rest(), used);
  text.addArguments(text.rest().substr(0, used));
  text.take(used);
  return matchOf(result);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void ObjectCall::reset() { *this = ObjectCall(isBare); }

/// Returns the text of a JSON string.
static bool readString(std::string_view json, std::string &text) {
  JsonTree tree;
  std::string_view read;
  if (!tree.parse(json).isOk() || tree.root().get(read))
    return false;
  text = read;
  return true;
}

Match ObjectCall::read(CallText &text) {
  for (;;) {
    Match match = Match::Yes;
    if (!isInValue && state != State::KeyText) {
      text.skipSpace();
      if (text.rest().empty())
        return Match::More;
    }
    switch (state) {
    case State::Open:
      match = text.match("{");
      state = State::FirstKey;
      break;
    case State::FirstKey:
      if (text.match("}") == Match::Yes)
        return Match::No;
      [[fallthrough]];
    case State::Key:
      scanner.reset();
      token.clear();
      match = text.rest().front() == '"' ? Match::Yes : Match::No;
      state = State::KeyText;
      break;
    case State::KeyText:
      match = readKey(text);
      break;
    case State::Colon:
      match = text.match(":");
      state = State::Value;
      break;
    case State::Value:
      match = readValue(text);
      break;
    case State::Next:
      if (text.match("}") == Match::Yes)
        return end(text) ? Match::Yes : Match::No;
      match = text.match(",");
      state = State::Key;
      break;
    }
    if (match != Match::Yes)
      return match;
  }
}

/// Reads a string into `token`. Returns No beyond the limit of its size.
Match ObjectCall::readToken(CallText &text) {
  size_t used = 0, most = kMostTokenBytes - token.size();
  JsonScanner::Result result = scanner.scan(text.rest().substr(0, most), used);
  token += text.rest().substr(0, used);
  text.take(used);
  return used == most && result == JsonScanner::Result::More ? Match::No
                                                             : matchOf(result);
}

Match ObjectCall::readKey(CallText &text) {
  if (Match match = readToken(text); match != Match::Yes)
    return match;
  std::string key;
  if (!readString(token, key))
    return Match::No;
  member = key == "name"                               ? Member::Name
           : key == "arguments" || key == "parameters" ? Member::Arguments
                                                       : Member::Other;
  bool isTwice = (member == Member::Name && hasName) ||
                 (member == Member::Arguments && hasArguments);
  bool isData = isBare && member == Member::Other && key != "type" &&
                key != "id" && key != "function";
  if (isTwice || isData)
    return Match::No;
  state = State::Colon;
  return Match::Yes;
}

/// Begins a value. Returns false if a member may not have it.
bool ObjectCall::beginValue(char first) {
  scanner.reset();
  token.clear();
  isInValue = true;
  if (member == Member::Name)
    return first == '"';
  if (member == Member::Other)
    return true;
  isNull = first == 'n';
  return first == '{' || isNull;
}

Match ObjectCall::scanValue(CallText &text) {
  size_t used = 0;
  JsonScanner::Result result = scanner.scan(text.rest(), used);
  std::string_view piece = text.rest().substr(0, used);
  if (member == Member::Arguments && !isNull && text.hasBegun())
    text.addArguments(piece);
  else if (member == Member::Arguments && !isNull)
    waiting += piece;
  text.take(used);
  return matchOf(result);
}

Match ObjectCall::readValue(CallText &text) {
  if (!isInValue && !beginValue(text.rest().front()))
    return Match::No;
  Match match = member == Member::Name ? readToken(text) : scanValue(text);
  if (match != Match::Yes)
    return match;
  isInValue = false;
  state = State::Next;
  return endValue(text) ? Match::Yes : Match::No;
}

bool ObjectCall::endValue(CallText &text) {
  hasArguments |= member == Member::Arguments;
  if (member != Member::Name)
    return true;
  hasName = true;
  std::string name;
  if (!readString(token, name) || !text.begin(name))
    return false;
  text.addArguments(waiting);
  waiting.clear();
  return true;
}

bool ObjectCall::end(CallText &text) {
  if (hasName && (!hasArguments || isNull))
    text.addArguments("{}");
  return hasName;
}
