//===- HeaderReaders.cpp - Formats with a header before the JSON ----------===//
//
// A call is a header with the tool's name, a mark, and the arguments as JSON.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/tools/CallReaders.h"
#include "runtime/chat/tools/ObjectCall.h"

#include <array>

using namespace mtp;

namespace {

/// The text around the arguments of a call.
struct HeaderForm {
  std::array<CallOpening, 2> openings;
  std::array<std::string_view, 4> marks;
  /// The mark between header and arguments.
  std::string_view headerEnd;
  /// Returns the name in a header; empty if it has none.
  std::string_view (*nameOf)(std::string_view header);
  /// Texts after the arguments, with white space in front of each; empty: none.
  std::string_view fence, end;
};

class HeaderReader : public CallReader {
public:
  explicit HeaderReader(const HeaderForm &form) : form(form) {}

  std::span<const CallOpening> openings() const override {
    return form.openings;
  }
  std::span<const std::string_view> marks() const override {
    return form.marks;
  }
  void reset() override {
    state = State::Header;
    header.clear();
    arguments.reset();
  }
  Match read(CallText &text, const CallSection *&section) override;

private:
  static constexpr size_t kMostHeader = 512;
  enum class State : uint8_t { Header, Arguments, Fence, End };

  Match readHeader(CallText &text);
  static Match readMark(CallText &text, std::string_view mark);

  const HeaderForm &form;
  State state = State::Header;
  std::string header;
  ArgumentsObject arguments;
};

} // namespace

Match HeaderReader::readHeader(CallText &text) {
  Match match = text.takeUntil(form.headerEnd, kMostHeader, header);
  if (match != Match::Yes)
    return match;
  return text.begin(form.nameOf(header)) ? Match::Yes : Match::No;
}

Match HeaderReader::readMark(CallText &text, std::string_view mark) {
  if (mark.empty())
    return Match::Yes;
  text.skipSpace();
  return text.match(mark);
}

Match HeaderReader::read(CallText &text, const CallSection *&) {
  for (;;) {
    Match match = Match::Yes;
    switch (state) {
    case State::Header:
      match = readHeader(text);
      break;
    case State::Arguments:
      match = arguments.read(text);
      break;
    case State::Fence:
      match = readMark(text, form.fence);
      break;
    case State::End:
      return readMark(text, form.end);
    }
    if (match != Match::Yes)
      return match;
    state = State(uint8_t(state) + 1);
  }
}

//===----------------------------------------------------------------------===//
// DeepSeek
//===----------------------------------------------------------------------===//

static constexpr CallSection kDeepSeekCalls = {"<｜tool▁call▁begin｜>",
                                               "<｜tool▁calls▁end｜>"};
static constexpr std::array<CallOpening, 2> kDeepSeekOpenings = {
    CallOpening{"<｜tool▁calls▁begin｜>", &kDeepSeekCalls, true},
    CallOpening{"<｜tool▁call▁begin｜>", &kDeepSeekCalls}};

/// Returns the name in "function<｜tool▁sep｜>NAME".
static std::string_view nameAfterType(std::string_view header) {
  constexpr std::string_view kMark = "<｜tool▁sep｜>";
  size_t at = header.find(kMark);
  return at == header.npos ? "" : trimmed(header.substr(at + kMark.size()));
}

/// <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f
/// ```json
/// {}
/// ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
static constexpr HeaderForm kDeepSeekV3 = {
    kDeepSeekOpenings,
    {"<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
    "```json",
    nameAfterType,
    "```",
    "<｜tool▁call▁end｜>"};

/// <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>
/// <｜tool▁calls▁end｜>
static constexpr HeaderForm kDeepSeekV31 = {
    kDeepSeekOpenings,
    {"<｜tool▁sep｜>", "<｜tool▁call▁end｜>"},
    "<｜tool▁sep｜>",
    trimmed,
    "",
    "<｜tool▁call▁end｜>"};

std::unique_ptr<CallReader> mtp::makeDeepSeekReader(ToolFormat format) {
  return std::make_unique<HeaderReader>(
      format == ToolFormat::DeepSeekV3 ? kDeepSeekV3 : kDeepSeekV31);
}

//===----------------------------------------------------------------------===//
// Kimi-K2
//===----------------------------------------------------------------------===//

static constexpr CallSection kKimiCalls = {"<|tool_call_begin|>",
                                           "<|tool_calls_section_end|>"};

/// Returns the name in "functions.NAME:0".
static std::string_view nameInId(std::string_view header) {
  constexpr std::string_view kPrefix = "functions.";
  header = trimmed(header);
  if (header.starts_with(kPrefix))
    header.remove_prefix(kPrefix.size());
  return header.substr(0, header.rfind(':'));
}

/// <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0
/// <|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>
static constexpr HeaderForm kKimi = {
    {CallOpening{"<|tool_calls_section_begin|>", &kKimiCalls, true},
     CallOpening{"<|tool_call_begin|>", &kKimiCalls}},
    {"<|tool_call_argument_begin|>", "<|tool_call_end|>"},
    "<|tool_call_argument_begin|>",
    nameInId,
    "",
    "<|tool_call_end|>"};

std::unique_ptr<CallReader> mtp::makeKimiReader() {
  return std::make_unique<HeaderReader>(kKimi);
}

//===----------------------------------------------------------------------===//
// Harmony
//===----------------------------------------------------------------------===//

static constexpr CallSection kHarmonyCalls = {"<|start|>assistant", "<|call|>"};

/// Returns the name in a header with " to=functions.NAME" in the role or the
/// channel.
static std::string_view recipientOf(std::string_view header) {
  constexpr std::string_view kMark = "to=functions.";
  size_t at = header.find(kMark);
  if (at == header.npos)
    return "";
  header.remove_prefix(at + kMark.size());
  return header.substr(0, header.find_first_of(" <\n"));
}

/// <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}
/// <|call|>, or with the recipient after the channel.
static constexpr HeaderForm kHarmony = {
    {CallOpening{"<|start|>assistant", &kHarmonyCalls},
     CallOpening{"<|start|>assistant", &kHarmonyCalls}},
    {"<|channel|>", "<|message|>", "<|constrain|>", "<|call|>"},
    "<|message|>",
    recipientOf,
    "",
    ""};

std::unique_ptr<CallReader> mtp::makeHarmonyReader() {
  return std::make_unique<HeaderReader>(kHarmony);
}
