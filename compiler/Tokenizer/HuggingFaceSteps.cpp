//===- HuggingFaceSteps.cpp - tokenizer.json's text pipelines -------------===//
//
// Each normalizer and pre-tokenizer is reduced to a few kinds of steps, so that
// the runtime only supports these.
//
//===----------------------------------------------------------------------===//

#include "compiler/Tokenizer/HuggingFaceSteps.h"

#include "compiler/Tokenizer/CharacterSets.h"
#include "compiler/Tokenizer/RegexTranslator.h"

#include <algorithm>

using namespace mtp;
using schema::SplitBehavior;
using schema::TextStepKind;

namespace {

schema::TextStepT &addStep(TextStepKind kind, StepList &steps) {
  steps.push_back(std::make_unique<schema::TextStepT>());
  steps.back()->kind = kind;
  return *steps.back();
}

bool hasStep(TextStepKind kind, const StepList &steps) {
  return std::ranges::any_of(
      steps, [&](const auto &step) { return step->kind == kind; });
}

void addReplace(std::string pattern, std::string_view text, StepList &steps) {
  schema::TextStepT &step = addStep(TextStepKind::Replace, steps);
  step.pattern = std::move(pattern);
  step.text = text;
}

/// Reads the normalizer that strips white space at the ends.
Status readStrip(const JsonValue &value, StepList &steps) {
  MTP_ASSIGN_OR_RETURN(bool left, value.boolOr("strip_left", true));
  MTP_ASSIGN_OR_RETURN(bool right, value.boolOr("strip_right", true));
  if (left)
    addReplace("\\A\\p{WSpace}+", "", steps);
  if (right)
    addReplace("\\p{WSpace}+\\z", "", steps);
  return okStatus();
}

/// Reads {"String": text} or {"Regex": pattern}.
Result<std::string> readPattern(const JsonValue &value) {
  if (std::optional<JsonValue> text = value.find("String")) {
    MTP_ASSIGN_OR_RETURN(std::string_view string, text->asString());
    return escapeRegex(string);
  }
  MTP_ASSIGN_OR_RETURN(JsonValue regex, value.member("Regex"));
  MTP_ASSIGN_OR_RETURN(std::string_view pattern, regex.asString());
  Result<std::string> translated = translateRegex(pattern);
  if (!translated.isOk())
    return unimplemented(
        std::string(regex.expected("a supported pattern").message()) + ": " +
        std::string(translated.status().message()));
  return translated;
}

Result<SplitBehavior> readBehavior(const JsonValue &value) {
  MTP_ASSIGN_OR_RETURN(std::string_view name, value.asString());
  for (SplitBehavior behavior : schema::EnumValuesSplitBehavior())
    if (name == schema::EnumNameSplitBehavior(behavior))
      return behavior;
  return value.expected("a split behavior");
}

Status readSplit(const JsonValue &value, StepList &steps) {
  MTP_ASSIGN_OR_RETURN(JsonValue pattern, value.member("pattern"));
  MTP_ASSIGN_OR_RETURN(std::string translated, readPattern(pattern));
  MTP_ASSIGN_OR_RETURN(JsonValue behaviorValue, value.member("behavior"));
  MTP_ASSIGN_OR_RETURN(SplitBehavior behavior, readBehavior(behaviorValue));
  MTP_ASSIGN_OR_RETURN(bool invert, value.boolOr("invert", false));
  addSplit(std::move(translated), behavior, invert, steps);
  return okStatus();
}

Status readByteLevel(const JsonValue &value, StepList &steps) {
  MTP_ASSIGN_OR_RETURN(bool prefixSpace,
                       value.boolOr("add_prefix_space", true));
  MTP_ASSIGN_OR_RETURN(bool useRegex, value.boolOr("use_regex", true));
  if (prefixSpace) {
    schema::TextStepT &step = addStep(TextStepKind::Prepend, steps);
    step.text = " ";
    step.unless_present = true;
  }
  if (useRegex)
    addSplit(gpt2SplitPattern(), SplitBehavior::Isolated, false, steps);
  return okStatus();
}

Status readMetaspace(const JsonValue &value, StepList &steps) {
  MTP_ASSIGN_OR_RETURN(std::string_view replacement,
                       value.stringOr("replacement", "\xE2\x96\x81"));
  MTP_ASSIGN_OR_RETURN(bool prefixSpace,
                       value.boolOr("add_prefix_space", true));
  MTP_ASSIGN_OR_RETURN(
      std::string_view scheme,
      value.stringOr("prepend_scheme", prefixSpace ? "always" : "never"));
  MTP_ASSIGN_OR_RETURN(bool split, value.boolOr("split", true));
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return value.find("prepend_scheme")
        ->expected("'always', 'first' or 'never'");
  addReplace(" ", replacement, steps);
  if (scheme != "never") {
    schema::TextStepT &step = addStep(TextStepKind::Prepend, steps);
    step.text = replacement;
    step.unless_present = true;
    step.only_at_start = scheme == "first";
  }
  if (split)
    addSplit(escapeRegex(replacement), SplitBehavior::MergedWithNext, false,
             steps);
  return okStatus();
}

std::string setOf(std::string_view members) {
  return "[" + std::string(members) + "]";
}

void addWhiteSpaceSplit(StepList &steps) {
  addSplit("\\p{WSpace}", SplitBehavior::Removed, false, steps);
}

/// Reads pre-tokenizers that are one or two splits.
Status readSimpleSplit(std::string_view type, const JsonValue &value,
                       StepList &steps) {
  if (type == "Digits") {
    MTP_ASSIGN_OR_RETURN(bool each, value.boolOr("individual_digits", false));
    addSplit("\\p{N}",
             each ? SplitBehavior::Isolated : SplitBehavior::Contiguous, false,
             steps);
    return okStatus();
  }
  if (type == "Punctuation") {
    SplitBehavior behavior = SplitBehavior::Isolated;
    if (std::optional<JsonValue> name = value.find("behavior")) {
      // The default is Isolated.
      MTP_ASSIGN_OR_RETURN(behavior, readBehavior(*name));
    }
    addSplit(setOf(punctuationMembers()), behavior, false, steps);
    return okStatus();
  }
  if (type == "Whitespace") {
    std::string word(rustWordMembers());
    addSplit("[" + word + "]+|[^" + word + "\\p{WSpace}]+",
             SplitBehavior::Removed, true, steps);
    return okStatus();
  }
  // BertPreTokenizer begins like WhitespaceSplit.
  addWhiteSpaceSplit(steps);
  if (type == "BertPreTokenizer")
    addSplit(setOf(punctuationMembers()), SplitBehavior::Isolated, false,
             steps);
  return okStatus();
}

} // namespace

Status mtp::unsupportedValue(const JsonValue &value,
                             const std::string &expected) {
  return unimplemented(std::string(value.expected(expected).message()));
}

std::string mtp::gpt2SplitPattern() {
  return "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
         " ?[^\\p{WSpace}\\p{L}\\p{N}]+|\\p{WSpace}+(?!\\P{WSpace})|"
         "\\p{WSpace}+";
}

void mtp::addSplit(std::string pattern, SplitBehavior behavior, bool invert,
                   StepList &steps) {
  schema::TextStepT &step = addStep(TextStepKind::Split, steps);
  step.pattern = std::move(pattern);
  step.behavior = behavior;
  step.invert = invert;
}

Status mtp::readNormalizer(const JsonValue &value, StepList &steps) {
  MTP_ASSIGN_OR_RETURN(JsonValue typeValue, value.member("type"));
  MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
  if (type == "Sequence") {
    MTP_ASSIGN_OR_RETURN(JsonValue list, value.member("normalizers"));
    MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> normalizers, list.asArray());
    for (const JsonValue &normalizer : normalizers)
      MTP_RETURN_IF_ERROR(readNormalizer(normalizer, steps));
    return okStatus();
  }
  if (type == "Prepend") {
    MTP_ASSIGN_OR_RETURN(JsonValue text, value.member("prepend"));
    MTP_ASSIGN_OR_RETURN(std::string_view string, text.asString());
    addStep(TextStepKind::Prepend, steps).text = string;
    return okStatus();
  }
  if (type == "Replace") {
    MTP_ASSIGN_OR_RETURN(JsonValue pattern, value.member("pattern"));
    MTP_ASSIGN_OR_RETURN(std::string translated, readPattern(pattern));
    MTP_ASSIGN_OR_RETURN(JsonValue content, value.member("content"));
    MTP_ASSIGN_OR_RETURN(std::string_view string, content.asString());
    addReplace(std::move(translated), string, steps);
    return okStatus();
  }
  if (type == "Strip")
    return readStrip(value, steps);
  static constexpr std::pair<std::string_view, TextStepKind> kForms[] = {
      {"NFC", TextStepKind::Nfc},
      {"NFD", TextStepKind::Nfd},
      {"NFKC", TextStepKind::Nfkc},
      {"NFKD", TextStepKind::Nfkd},
      {"Lowercase", TextStepKind::Lowercase}};
  for (const auto &[name, kind] : kForms)
    if (type == name) {
      addStep(kind, steps);
      return okStatus();
    }
  return unsupportedValue(typeValue, "a supported normalizer");
}

Status mtp::readPreTokenizer(const JsonValue &value, StepList &steps,
                             bool &isByteLevel) {
  MTP_ASSIGN_OR_RETURN(JsonValue typeValue, value.member("type"));
  MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
  if (type == "Sequence") {
    MTP_ASSIGN_OR_RETURN(JsonValue list, value.member("pretokenizers"));
    MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> children, list.asArray());
    for (const JsonValue &child : children)
      MTP_RETURN_IF_ERROR(readPreTokenizer(child, steps, isByteLevel));
    return okStatus();
  }
  static constexpr std::string_view kSplits[] = {
      "BertPreTokenizer", "Digits",          "Punctuation", "Split",
      "Whitespace",       "WhitespaceSplit",
  };
  bool isSplit = std::ranges::find(kSplits, type) != std::end(kSplits);
  if (isByteLevel && !isSplit)
    return unsupportedValue(typeValue,
                            "a pre-tokenizer that only splits after ByteLevel");
  // Steps after ByteLevel see the bytes' characters, not the text.
  if (isByteLevel && !hasStep(TextStepKind::ByteCharacters, steps))
    addStep(TextStepKind::ByteCharacters, steps);
  if (type == "ByteLevel") {
    isByteLevel = true;
    return readByteLevel(value, steps);
  }
  if (type == "Split")
    return readSplit(value, steps);
  if (type == "Metaspace")
    return readMetaspace(value, steps);
  if (isSplit)
    return readSimpleSplit(type, value, steps);
  return unsupportedValue(typeValue, "a supported pre-tokenizer");
}

Status mtp::readAddedTokenFields(const JsonValue &value,
                                 schema::AddedTokenT &token) {
  MTP_ASSIGN_OR_RETURN(JsonValue content, value.member("content"));
  MTP_ASSIGN_OR_RETURN(token.content, content.asString());
  MTP_ASSIGN_OR_RETURN(token.special, value.boolOr("special", false));
  MTP_ASSIGN_OR_RETURN(token.lstrip, value.boolOr("lstrip", false));
  MTP_ASSIGN_OR_RETURN(token.rstrip, value.boolOr("rstrip", false));
  MTP_ASSIGN_OR_RETURN(token.single_word, value.boolOr("single_word", false));
  MTP_ASSIGN_OR_RETURN(token.normalized,
                       value.boolOr("normalized", !token.special));
  return okStatus();
}
