//===- TagReader.cpp - Formats with a tag for each argument ---------------===//
//
// A call has a tag with its name, and a tag for each argument. The values are
// text, with the types of the tool's schema.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/tools/ArgumentValue.h"
#include "runtime/chat/tools/CallReaders.h"

#include <algorithm>
#include <array>
#include <set>

using namespace mtp;

namespace {

/// The text around the arguments of a call.
struct TagForm {
  std::array<CallOpening, 2> openings;
  /// The mark after the name. Empty: the name ends in front of a line end or of
  /// a tag.
  std::string_view nameEnd;
  /// The marks around a key, and around its value.
  std::string_view keyBegin, keyEnd, valueBegin, valueEnd;
  std::string_view callEnd;
  /// Whether the form puts line ends around a value.
  bool hasLines = false;
  /// Whether an attribute after the key says if the value is a string.
  bool hasAttribute = false;
  /// Whether a value without a type in the schema may be JSON.
  bool isJsonByDefault = false;

  std::array<std::string_view, 5> marks = {keyBegin, keyEnd, valueBegin,
                                           valueEnd, callEnd};
};

class TagReader : public CallReader {
public:
  explicit TagReader(const TagForm &form) : form(form) {}

  std::span<const CallOpening> openings() const override {
    return form.openings;
  }
  std::span<const std::string_view> marks() const override {
    return form.marks;
  }
  void reset() override;
  Match read(CallText &text, const CallSection *&section) override;

private:
  static constexpr size_t kMostKey = 1024;
  enum class State : uint8_t {
    Name,
    Between,
    Key,
    Attribute,
    Begin,
    Value,
    End
  };

  Match readState(CallText &text);
  Match readName(CallText &text);
  Match readBetween(CallText &text);
  Match readKey(CallText &text);
  Match readAttribute(CallText &text);
  Match readBegin(CallText &text);
  Match readValue(CallText &text);
  Match readString(CallText &text);
  void endValue(CallText &text);

  const TagForm &form;
  State state = State::Name;
  const Tool *tool = nullptr;
  std::string name, key, value;
  std::set<std::string> keys;
  ValueTypes types;
  /// Whether the value passes on as a string while it arrives, and whether that
  /// string has begun.
  bool isString = false, isInString = false;
};

} // namespace

void TagReader::reset() {
  state = State::Name;
  tool = nullptr;
  name.clear();
  key.clear();
  value.clear();
  keys.clear();
  isInString = false;
}

Match TagReader::read(CallText &text, const CallSection *&) {
  while (state != State::End)
    if (Match match = readState(text); match != Match::Yes)
      return match;
  return Match::Yes;
}

Match TagReader::readState(CallText &text) {
  switch (state) {
  case State::Name:
    return readName(text);
  case State::Between:
    return readBetween(text);
  case State::Key:
    return readKey(text);
  case State::Attribute:
    return readAttribute(text);
  case State::Begin:
    return readBegin(text);
  case State::Value:
    return readValue(text);
  case State::End:
    break;
  }
  return Match::Yes;
}

Match TagReader::readName(CallText &text) {
  constexpr size_t kMost = ToolSet::kMostNameBytes + 2;
  Match match = Match::More;
  if (!form.nameEnd.empty()) {
    match = text.takeUntil(form.nameEnd, kMost, name);
  } else {
    size_t end = std::min(text.rest().find_first_of("\n<"), text.rest().size());
    if (size_t left = kMost - name.size(); end > left) {
      text.take(left);
      return Match::No;
    }
    name += text.rest().substr(0, end);
    if (end < text.rest().size())
      match = Match::Yes;
    text.take(end);
  }
  if (match != Match::Yes)
    return match;
  tool = text.begin(trimmed(name));
  text.addArguments(tool ? "{" : "");
  state = State::Between;
  return tool ? Match::Yes : Match::No;
}

/// Reads the tag of an argument, or the end of the call.
Match TagReader::readBetween(CallText &text) {
  text.skipSpace();
  Match begin = text.match(form.keyBegin);
  if (begin == Match::Yes) {
    key.clear();
    state = State::Key;
    return Match::Yes;
  }
  Match end = text.match(form.callEnd);
  if (end == Match::Yes) {
    text.addArguments("}");
    state = State::End;
    return Match::Yes;
  }
  return begin == Match::More || end == Match::More ? Match::More : Match::No;
}

Match TagReader::readKey(CallText &text) {
  Match match = text.takeUntil(form.keyEnd, kMostKey, key);
  if (match != Match::Yes)
    return match;
  key = trimmed(key);
  if (!keys.insert(key).second)
    return Match::No;
  types = tool->typesOf(key);
  isString =
      types.isOnlyString() || (types.isUnknown() && !form.isJsonByDefault);
  state = form.hasAttribute ? State::Attribute : State::Begin;
  return Match::Yes;
}

/// Reads ` string="true">` or ` string="false">`. The model's word counts.
Match TagReader::readAttribute(CallText &text) {
  Match isTrue = text.match(" string=\"true\">");
  Match isFalse =
      isTrue == Match::Yes ? Match::No : text.match(" string=\"false\">");
  Match isNeither = isTrue == Match::Yes || isFalse == Match::Yes
                        ? Match::No
                        : text.match(">");
  if (isTrue == Match::Yes) {
    isString = true;
  } else if (isFalse == Match::Yes) {
    isString = false;
    // Nothing is a string then, whatever else the schema allows.
    types.string = false;
    types.integer = types.number = types.boolean = types.null = types.object =
        types.array = true;
  } else if (isNeither != Match::Yes) {
    return isTrue == Match::More || isFalse == Match::More ? Match::More
                                                           : Match::No;
  }
  state = State::Begin;
  return Match::Yes;
}

Match TagReader::readBegin(CallText &text) {
  if (!form.valueBegin.empty()) {
    text.skipSpace();
    if (Match match = text.match(form.valueBegin); match != Match::Yes)
      return match;
  }
  if (form.hasLines) {
    if (text.rest().empty())
      return Match::More;
    text.match("\n");
  }
  text.addArguments(keys.size() > 1 ? ", " : "");
  text.addArguments(jsonQuoted(key) + ": ");
  value.clear();
  isInString = false;
  state = State::Value;
  return Match::Yes;
}

/// Passes a string on while it arrives.
Match TagReader::readString(CallText &text) {
  if (!isInString)
    text.addArguments("\"");
  isInString = true;
  std::string piece;
  Match match = text.takeUntil(form.valueEnd, SIZE_MAX, piece);
  value += piece;
  // The last line end may be the form's.
  bool keepsLine = form.hasLines && value.ends_with('\n');
  text.addArguments(jsonEscaped(
      std::string_view(value).substr(0, value.size() - (keepsLine ? 1 : 0))));
  value = keepsLine ? "\n" : "";
  if (match == Match::Yes)
    text.addArguments("\"");
  return match;
}

Match TagReader::readValue(CallText &text) {
  Match match = isString ? readString(text)
                         : text.takeUntil(form.valueEnd, SIZE_MAX, value);
  if (match != Match::Yes)
    return match;
  if (!isString) {
    if (form.hasLines && value.ends_with('\n'))
      value.pop_back();
    text.addArguments(argumentJson(value, types, form.isJsonByDefault));
  }
  state = State::Between;
  return Match::Yes;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// <tool_call>
/// <function=f>
/// <parameter=key>
/// value
/// </parameter>
/// </function>
/// </tool_call>
static constexpr CallSection kQwenCalls = {"<function=", "</tool_call>"};
static constexpr TagForm kQwen3Coder = {
    .openings = {CallOpening{"<tool_call>", &kQwenCalls, true},
                 CallOpening{"<function=", &kQwenCalls}},
    .nameEnd = ">",
    .keyBegin = "<parameter=",
    .keyEnd = ">",
    .valueBegin = "",
    .valueEnd = "</parameter>",
    .callEnd = "</function>",
    .hasLines = true};

/// <seed:tool_call>
/// <function=f>
/// <parameter=key>value</parameter>
/// </function>
/// </seed:tool_call>
static constexpr CallSection kSeedCalls = {"<function=", "</seed:tool_call>"};
static constexpr TagForm kSeedOss = {
    .openings = {CallOpening{"<seed:tool_call>", &kSeedCalls, true},
                 CallOpening{"<function=", &kSeedCalls}},
    .nameEnd = ">",
    .keyBegin = "<parameter=",
    .keyEnd = ">",
    .valueBegin = "",
    .valueEnd = "</parameter>",
    .callEnd = "</function>"};

/// <minimax:tool_call>
/// <invoke name="f"><parameter name="key">value</parameter></invoke>
/// </minimax:tool_call>
static constexpr CallSection kMiniMaxCalls = {"<invoke name=\"",
                                              "</minimax:tool_call>"};
static constexpr TagForm kMiniMaxM2 = {
    .openings = {CallOpening{"<minimax:tool_call>", &kMiniMaxCalls, true},
                 CallOpening{"<invoke name=\"", &kMiniMaxCalls}},
    .nameEnd = "\">",
    .keyBegin = "<parameter name=\"",
    .keyEnd = "\">",
    .valueBegin = "",
    .valueEnd = "</parameter>",
    .callEnd = "</invoke>"};

/// <｜DSML｜function_calls>
/// <｜DSML｜invoke name="f">
/// <｜DSML｜parameter name="key" string="true">value</｜DSML｜parameter>
/// </｜DSML｜invoke>
/// </｜DSML｜function_calls>
static constexpr CallSection kDsmlCalls = {"<｜DSML｜invoke name=\"",
                                           "</｜DSML｜function_calls>"};
static constexpr TagForm kDeepSeekV32 = {
    .openings = {CallOpening{"<｜DSML｜function_calls>", &kDsmlCalls, true},
                 CallOpening{"<｜DSML｜invoke name=\"", &kDsmlCalls}},
    .nameEnd = "\">",
    .keyBegin = "<｜DSML｜parameter name=\"",
    .keyEnd = "\"",
    .valueBegin = "",
    .valueEnd = "</｜DSML｜parameter>",
    .callEnd = "</｜DSML｜invoke>",
    .hasAttribute = true};

/// <tool_call>f
/// <arg_key>key</arg_key>
/// <arg_value>value</arg_value>
/// </tool_call>
static constexpr TagForm kGlm = {
    .openings = {CallOpening{"<tool_call>"}, CallOpening{"<tool_call>"}},
    .nameEnd = "",
    .keyBegin = "<arg_key>",
    .keyEnd = "</arg_key>",
    .valueBegin = "<arg_value>",
    .valueEnd = "</arg_value>",
    .callEnd = "</tool_call>",
    .isJsonByDefault = true};

std::unique_ptr<CallReader> mtp::makeTagReader(ToolFormat format) {
  switch (format) {
  case ToolFormat::Qwen3Coder:
    return std::make_unique<TagReader>(kQwen3Coder);
  case ToolFormat::SeedOss:
    return std::make_unique<TagReader>(kSeedOss);
  case ToolFormat::MiniMaxM2:
    return std::make_unique<TagReader>(kMiniMaxM2);
  case ToolFormat::DeepSeekV32:
    return std::make_unique<TagReader>(kDeepSeekV32);
  default:
    return std::make_unique<TagReader>(kGlm);
  }
}
