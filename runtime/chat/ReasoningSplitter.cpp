//===- ReasoningSplitter.cpp - Separates reasoning and answer -------------===//

#include "runtime/chat/ReasoningSplitter.h"

#include <algorithm>
#include <utility>

using namespace mtp;

namespace {

struct Format {
  ReasoningFormat format;
  std::string_view name;
  /// The marks before and after reasoning. Harmony has a string of its
  /// templates instead.
  std::string_view open, close;
};

// The order of the search in templates. "think" is the default.
constexpr Format kFormats[] = {
    {ReasoningFormat::None, "none", "", ""},
    {ReasoningFormat::Harmony, "harmony", "<|channel|>analysis<|message|>", ""},
    {ReasoningFormat::Channel, "channel", "<|channel>thought", "<channel|>"},
    {ReasoningFormat::SeedThink, "seed-think", "<seed:think>", "</seed:think>"},
    {ReasoningFormat::Bracket, "bracket", "[THINK]", "[/THINK]"},
    {ReasoningFormat::Think, "think", "<think>", "</think>"},
};

const Format &formatOf(ReasoningFormat format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const Format &one) { return one.format == format; });
}

constexpr std::string_view kWhiteSpace = " \t\r\n";

/// Returns the offset of the longest end of `text` that is a beginning of
/// `mark`, or the size of `text`.
size_t findBeginning(std::string_view text, std::string_view mark) {
  size_t longest = std::min(text.size(), mark.size() - 1);
  for (size_t length = longest; length > 0; --length)
    if (text.ends_with(mark.substr(0, length)))
      return text.size() - length;
  return text.size();
}

std::string_view withoutSpaceAtEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

} // namespace

std::optional<ReasoningFormat> mtp::findReasoningFormat(std::string_view name) {
  for (const Format &one : kFormats)
    if (one.name == name)
      return one.format;
  return std::nullopt;
}

std::vector<std::string_view> mtp::reasoningFormatNames() {
  std::vector<std::string_view> names;
  for (const Format &one : kFormats)
    names.push_back(one.name);
  return names;
}

ReasoningFormat mtp::detectReasoningFormat(std::string_view templateSource) {
  for (const Format &one : kFormats)
    if (!one.open.empty() && templateSource.find(one.open) != std::string::npos)
      return one.format;
  return ReasoningFormat::Think;
}

ReasoningMarks mtp::reasoningMarks(ReasoningFormat format) {
  const Format &one = formatOf(format);
  if (format == ReasoningFormat::Harmony)
    return {one.open, "<|end|><|start|>assistant"};
  return {one.open, one.close};
}

ReasoningPlace mtp::findReasoningPlace(ReasoningFormat format,
                                       std::string_view prompt) {
  if (format == ReasoningFormat::None)
    return ReasoningPlace::None;
  if (format == ReasoningFormat::Harmony)
    return ReasoningPlace::Before;
  std::string_view text = withoutSpaceAtEnd(prompt);
  return text.ends_with(formatOf(format).open)    ? ReasoningPlace::Inside
         : text.ends_with(formatOf(format).close) ? ReasoningPlace::After
                                                  : ReasoningPlace::Before;
}

ReasoningSplitter::ReasoningSplitter(ReasoningFormat format,
                                     std::string_view prompt, bool keepsCalls)
    : format(format), open(formatOf(format).open),
      close(formatOf(format).close), keepsCalls(keepsCalls) {
  switch (findReasoningPlace(format, prompt)) {
  case ReasoningPlace::None:
    state = State::Content;
    break;
  case ReasoningPlace::Before:
    if (format == ReasoningFormat::Harmony)
      state = State::Header;
    break;
  case ReasoningPlace::Inside:
    state = State::Reasoning;
    break;
  case ReasoningPlace::After:
    state = State::Between;
    break;
  }
}

AnswerPart ReasoningSplitter::append(std::string_view text) {
  AnswerPart part;
  held += text;
  split(/*isLast=*/false, part);
  return part;
}

AnswerPart ReasoningSplitter::appendSpecial(std::string_view token) {
  AnswerPart part;
  if (format == ReasoningFormat::Harmony)
    splitHarmony(token, part);
  else if (isMark(token))
    return append(token);
  return part;
}

bool ReasoningSplitter::isMark(std::string_view token) const {
  if (format == ReasoningFormat::Harmony)
    return token == "<|start|>" || token == "<|channel|>" ||
           token == "<|message|>" || token == "<|end|>" ||
           (keepsCalls && token == "<|call|>");
  return open.find(token) != open.npos || close.find(token) != close.npos;
}

AnswerPart ReasoningSplitter::finish() {
  AnswerPart part;
  split(/*isLast=*/true, part);
  // The model does not write Harmony.
  if (state == State::Header && !hasMessage)
    part.content += std::exchange(held, {});
  return part;
}

/// Appends reasoning without the line ends at its beginning and end.
void ReasoningSplitter::addReasoning(std::string_view text, AnswerPart &part) {
  if (!hasReasoned)
    text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  if (text.empty())
    return;
  hasReasoned = true;
  size_t lines = text.size() - (text.find_last_not_of('\n') + 1);
  if (lines < text.size())
    part.reasoning += std::string(std::exchange(heldLines, 0), '\n');
  part.reasoning += text.substr(0, text.size() - lines);
  heldLines += lines;
}

/// Splits the start of an answer. Returns whether the opening mark was there.
bool ReasoningSplitter::splitStart(bool isLast, AnswerPart &part) {
  size_t begin = std::min(held.find_first_not_of(kWhiteSpace), held.size());
  std::string_view text = std::string_view(held).substr(begin);
  if (text.starts_with(open)) {
    held.erase(0, begin + open.size());
    state = State::Reasoning;
    return true;
  }
  if (!isLast && open.starts_with(text))
    return false;
  part.content += std::exchange(held, {});
  state = State::Content;
  return false;
}

bool ReasoningSplitter::splitReasoning(bool isLast, AnswerPart &part) {
  size_t end = held.find(close);
  if (end != held.npos) {
    addReasoning(std::string_view(held).substr(0, end), part);
    held.erase(0, end + close.size());
    heldLines = 0;
    state = State::Between;
    return true;
  }
  end = isLast ? held.size() : findBeginning(held, close);
  addReasoning(std::string_view(held).substr(0, end), part);
  held.erase(0, end);
  return false;
}

void ReasoningSplitter::split(bool isLast, AnswerPart &part) {
  bool isHarmony = format == ReasoningFormat::Harmony;
  if (state == State::Start && !splitStart(isLast, part))
    return;
  if (state == State::Reasoning && isHarmony)
    addReasoning(std::exchange(held, {}), part);
  else if (state == State::Reasoning && !splitReasoning(isLast, part))
    return;
  if (state == State::Between) {
    held.erase(0, held.find_first_not_of('\n'));
    if (held.empty())
      return;
    state = State::Content;
  }
  if (state == State::Content)
    part.content += std::exchange(held, {});
}

/// Returns the header of a call as at the begin of a message. The prompt may
/// have begun the answer's first header.
std::string ReasoningSplitter::headerOfCall() const {
  constexpr std::string_view kRole = "assistant";
  std::string_view header = held;
  if (header.starts_with(kRole))
    header.remove_prefix(kRole.size());
  return std::string("<|start|>").append(kRole).append(header);
}

/// Splits an answer of the form
/// <|start|>assistant<|channel|>analysis<|message|>...<|end|>: only special
/// tokens end a header or a message. All messages except reasoning are content.
void ReasoningSplitter::splitHarmony(std::string_view token, AnswerPart &part) {
  if (token == "<|channel|>" && state == State::Header) {
    held += token;
  } else if (token == "<|message|>") {
    bool isReasoning = held.find("<|channel|>analysis") != held.npos;
    isInCall = keepsCalls && held.find("to=functions.") != held.npos;
    if (isInCall) {
      isReasoning = false;
      part.content += headerOfCall() + std::string(token);
    }
    held.clear();
    hasMessage = true;
    state = isReasoning ? State::Reasoning : State::Content;
  } else if (token == "<|start|>" || token == "<|end|>" ||
             token == "<|call|>") {
    split(/*isLast=*/false, part);
    if (std::exchange(isInCall, false) && token == "<|call|>")
      part.content += token;
    held.clear();
    state = State::Header;
  }
}
