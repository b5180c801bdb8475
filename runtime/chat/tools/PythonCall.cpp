//===- PythonCall.cpp - Calls in Python's form ----------------------------===//

#include "runtime/chat/tools/PythonCall.h"

#include "runtime/chat/tools/ArgumentValue.h"
#include "runtime/chat/tools/CallReaders.h"

using namespace mtp;

void PythonCall::reset() { *this = PythonCall(suffix); }

/// Reads the name and the bracket after it.
Match PythonCall::readName(CallText &text) {
  std::string_view rest = text.rest();
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '(') {
      text.take(i + 1);
      hasName = true;
      return Match::Yes;
    }
    name += rest[i];
    if (!ToolSet::isName(name)) {
      text.take(i);
      return Match::No;
    }
  }
  text.take(rest.size());
  return Match::More;
}

bool PythonCall::endsAt(char c) {
  if (quote != 0) {
    if (!isEscaped && c == quote)
      quote = 0;
    isEscaped = !isEscaped && c == '\\';
    return false;
  }
  if (c == '"' || c == '\'')
    quote = c;
  else if (c == '(' || c == '[' || c == '{')
    ++depth;
  else if ((c == ')' || c == ']' || c == '}') && depth-- == 0)
    return true;
  return false;
}

Match PythonCall::readArguments(CallText &text) {
  std::string_view rest = text.rest();
  size_t end = 0;
  while (end < rest.size() && !endsAt(rest[end]))
    ++end;
  arguments += rest.substr(0, end);
  bool isEnd = end < rest.size();
  bool isRight = isEnd && rest[end] == ')';
  text.take(isRight ? end + 1 : end);
  return isRight ? Match::Yes : isEnd ? Match::No : Match::More;
}

Match PythonCall::read(CallText &text) {
  if (!hasName) {
    if (name.empty())
      text.skipSpace();
    if (Match match = readName(text); match != Match::Yes)
      return match;
  }
  if (Match match = readArguments(text); match != Match::Yes)
    return match;
  std::string_view tool = name;
  if (!suffix.empty() && tool.ends_with(suffix))
    tool.remove_suffix(suffix.size());
  std::optional<std::string> json = pythonArgumentsToJson(arguments);
  if (!json || !text.begin(tool))
    return Match::No;
  text.addArguments(*json);
  return Match::Yes;
}

namespace {
/// [f(key="value"), g()]
class PythonicReader : public CallReader {
public:
  std::span<const CallOpening> openings() const override { return kOpenings; }
  void reset() override { call.reset(); }
  Match read(CallText &text, const CallSection *&section) override {
    if (section != &kList)
      text.take(1);
    section = &kList;
    return call.read(text);
  }

private:
  static constexpr CallSection kList = {"", "]", ','};
  static constexpr CallOpening kOpenings[] = {
      {"[", nullptr, /*isSectionOnly=*/false, /*isStart=*/true}};
  PythonCall call;
};
} // namespace

std::unique_ptr<CallReader> mtp::makePythonicReader() {
  return std::make_unique<PythonicReader>();
}
