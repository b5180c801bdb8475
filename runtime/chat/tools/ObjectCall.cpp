//===- ObjectCall.cpp - Calls that are one JSON object --------------------===//

#include "runtime/chat/tools/ObjectCall.h"

#include "runtime/json/JsonTree.h"

using namespace mtp;

/// Limit on the JSON of a key or a name.
static constexpr size_t kMostTokenBytes = 1024;

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
  if (result == JsonScanner::Result::Failed)
    return Match::No;
  text.addArguments(text.rest().substr(0, used));
  text.take(used);
  return result == JsonScanner::Result::Done ? Match::Yes : Match::More;
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

Match ObjectCall::readKey(CallText &text) {
  size_t used = 0;
  JsonScanner::Result result = scanner.scan(text.rest(), used);
  token += text.rest().substr(0, used);
  text.take(used);
  if (result == JsonScanner::Result::Failed || token.size() > kMostTokenBytes)
    return Match::No;
  if (result == JsonScanner::Result::More)
    return Match::More;
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

void ObjectCall::takeValue(CallText &text, size_t bytes) {
  std::string_view piece = text.rest().substr(0, bytes);
  if (member == Member::Name)
    token += piece;
  else if (member == Member::Arguments && !isNull && text.hasBegun())
    text.addArguments(piece);
  else if (member == Member::Arguments && !isNull)
    waiting += piece;
  text.take(bytes);
}

Match ObjectCall::readValue(CallText &text) {
  if (!isInValue && !beginValue(text.rest().front()))
    return Match::No;
  size_t used = 0;
  JsonScanner::Result result = scanner.scan(text.rest(), used);
  if (result == JsonScanner::Result::Failed)
    return Match::No;
  takeValue(text, used);
  if (token.size() > kMostTokenBytes)
    return Match::No;
  if (result == JsonScanner::Result::More)
    return Match::More;
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
