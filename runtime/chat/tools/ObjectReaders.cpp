//===- ObjectReaders.cpp - Formats whose calls are JSON objects -----------===//

#include "runtime/chat/tools/CallReaders.h"
#include "runtime/chat/tools/ObjectCall.h"
#include "runtime/chat/tools/PythonCall.h"

using namespace mtp;

namespace {

constexpr CallSection kList = {"", "]", ','};

/// Changes to a list of calls if one begins here.
Match enterList(CallText &text, const CallSection *&section) {
  text.skipSpace();
  if (section != &kList && text.match("[") == Match::Yes) {
    section = &kList;
    text.skipSpace();
  }
  return text.rest().empty() ? Match::More : Match::Yes;
}

/// <tool_call>
/// {"name": "f", "arguments": {}}
/// </tool_call>
class HermesReader : public CallReader {
public:
  std::span<const CallOpening> openings() const override { return kOpenings; }
  std::span<const std::string_view> marks() const override { return kMarks; }
  void reset() override {
    object.reset();
    hasObject = false;
  }
  Match read(CallText &text, const CallSection *&) override {
    if (!hasObject)
      if (Match match = object.read(text); match != Match::Yes)
        return match;
    hasObject = true;
    text.skipSpace();
    return text.match(kMarks[0]);
  }

private:
  static constexpr CallOpening kOpenings[] = {{"<tool_call>"}};
  static constexpr std::string_view kMarks[] = {"</tool_call>"};
  ObjectCall object;
  bool hasObject = false;
};

/// {"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}
///
/// <|python_tag|> may come first. Then f.call(key="value") is a call, too.
class Llama3Reader : public CallReader {
public:
  std::span<const CallOpening> openings() const override { return kOpenings; }
  void reset() override {
    object.reset();
    python.reset();
    isKnown = false;
  }
  Match read(CallText &text, const CallSection *&) override {
    if (!isKnown) {
      text.skipSpace();
      if (text.rest().empty())
        return Match::More;
      isObject = text.rest().front() == '{';
      isKnown = true;
    }
    return isObject ? object.read(text) : python.read(text);
  }

private:
  static constexpr CallSection kCalls = {"", "", ';'};
  static constexpr CallOpening kOpenings[] = {
      {"<|python_tag|>", &kCalls},
      {"{", &kCalls, /*isSectionOnly=*/false, /*isStart=*/true}};
  ObjectCall object{/*isBare=*/true};
  PythonCall python{".call"};
  bool isKnown = false, isObject = false;
};

/// A list of calls after an opening.
class ListReader : public CallReader {
public:
  /// `isBare` is ObjectCall's.
  explicit ListReader(const CallOpening &opening, bool isBare)
      : opening(opening), object(isBare) {}

  std::span<const CallOpening> openings() const override {
    return {&opening, 1};
  }
  void reset() override {
    object.reset();
    isInside = false;
  }
  Match read(CallText &text, const CallSection *&section) override {
    if (!isInside)
      if (Match match = enterList(text, section); match != Match::Yes)
        return match;
    isInside = true;
    return object.read(text);
  }

private:
  CallOpening opening;
  ObjectCall object;
  bool isInside = false;
};

/// [TOOL_CALLS]f[ARGS]{}, [TOOL_CALLS]f[CALL_ID]123456789[ARGS]{},
/// [TOOL_CALLS]f{} or [TOOL_CALLS][{"name": "f", "arguments": {}}]
class MistralReader : public CallReader {
public:
  std::span<const CallOpening> openings() const override { return kOpenings; }
  std::span<const std::string_view> marks() const override { return kMarks; }
  void reset() override {
    state = State::Begin;
    header.clear();
    object.reset();
    arguments.reset();
  }
  Match read(CallText &text, const CallSection *&section) override;

private:
  static constexpr size_t kMostHeader = 512;
  static constexpr CallOpening kOpenings[] = {{"[TOOL_CALLS]"}};
  static constexpr std::string_view kMarks[] = {"[ARGS]", "[CALL_ID]"};
  enum class State : uint8_t { Begin, Header, Arguments, Object };

  State state = State::Begin;
  std::string header;
  ObjectCall object;
  ArgumentsObject arguments;
};

} // namespace

Match MistralReader::read(CallText &text, const CallSection *&section) {
  if (state == State::Begin) {
    if (Match match = enterList(text, section); match != Match::Yes)
      return match;
    state = section == &kList ? State::Object : State::Header;
  }
  if (state == State::Object)
    return object.read(text);
  if (state == State::Header) {
    Match match = text.takeUntil("{", kMostHeader, header, /*keepsMark=*/true);
    if (match != Match::Yes)
      return match;
    std::string_view name = header;
    if (!text.begin(trimmed(name.substr(0, name.find('[')))))
      return Match::No;
    state = State::Arguments;
  }
  return arguments.read(text);
}

std::unique_ptr<CallReader> mtp::makeHermesReader() {
  return std::make_unique<HermesReader>();
}
std::unique_ptr<CallReader> mtp::makeLlama3Reader() {
  return std::make_unique<Llama3Reader>();
}
std::unique_ptr<CallReader> mtp::makeGraniteReader() {
  // <|tool_call|>[{"name": "f", "arguments": {}}]
  return std::make_unique<ListReader>(CallOpening{"<|tool_call|>"},
                                      /*isBare=*/false);
}
std::unique_ptr<CallReader> mtp::makeJsonReader() {
  // [{"name": "f", "parameters": {}}]
  return std::make_unique<ListReader>(
      CallOpening{"[", nullptr, /*isSectionOnly=*/false, /*isStart=*/true},
      /*isBare=*/true);
}
std::unique_ptr<CallReader> mtp::makeMistralReader() {
  return std::make_unique<MistralReader>();
}
