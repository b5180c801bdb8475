//===- GgufReader.cpp - The tokenizer of a GGUF file ----------------------===//
//
// The metadata becomes the text of a tokenizer.json or the bytes of a
// tokenizer.model, which the other readers convert.
//
//===----------------------------------------------------------------------===//

#include "compiler/Tokenizer/GgufReader.h"

#include "compiler/Tokenizer/TokenizerTables.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <unordered_set>

using namespace mtp;

namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

/// Types of tokens.
enum TokenType : int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kByte = 6,
};

/// Letters with a case, as DeepSeek's first tokenizers list them.
constexpr std::string_view kCasedLetters =
    "\\s?["
    "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF"
    "\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D"
    "\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5"
    "\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
    "\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77"
    "\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D"
    "\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4"
    "\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3"
    "\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107"
    "\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D"
    "\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184"
    "\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D"
    "\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF"
    "\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A"
    "\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB"
    "\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF"
    "\U0001E900-\U0001E943"
    "]+";
constexpr std::string_view kIdeographs =
    "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";

constexpr std::string_view kLlama3Split =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kQwen2Split =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kQwen35Split =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|"
    "\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
    "\\s+(?!\\S)|\\s+";
constexpr std::string_view kDeepSeek3Split =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
    "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kTekkenSplit =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kGpt4oSplit =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|"
    "\\s+(?!\\S)|\\s+";

constexpr std::string_view kKimiSplit =
    "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?"
    "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?"
    "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kSeedSplit =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
/// Runs of Korean, of East Asian punctuation, of Bopomofo, and of Chinese and
/// Japanese.
constexpr std::string_view kYoutuRuns =
    "[\uAC00-\uD7A3\u3131-\u318E]+|"
    "[\uFF01\u2026\u201C\u201D\u2018\u2019\u2014\uFF1A\uFF1B\uFF0C"
    "\u3001-\u303F\uFE30-\uFE4F]+|[\u3105-\u312F]+|"
    "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
constexpr std::string_view kYoutuSplit =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|"
    "\\s+(?!\\S)|\\s+";

/// How a byte-level tokenizer splits texts, by the names of `pre`.
struct Splits {
  std::array<std::string_view, 8> names;
  /// Patterns that split one after the other.
  std::array<std::string_view, 6> patterns;
  bool hasGpt2 = false;       ///< GPT-2's pattern splits last.
  bool ignoresMerges = false; ///< A whole word of the vocabulary is a token.
  bool addsBos = false;       ///< By default.
  bool isNfc = false;         ///< Texts are normalised.
};

constexpr Splits kSplits[] = {
    {{"gpt-2", "phi-2", "exaone4", "gigachat"}, {}, /*hasGpt2=*/true},
    {{"smollm", "starcoder", "refact", "command-r"},
     {"\\p{N}"},
     /*hasGpt2=*/true},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral",
      "midm-2.0", "lfm2"},
     {kLlama3Split},
     /*hasGpt2=*/false,
     /*ignoresMerges=*/true,
     /*addsBos=*/true},
    {{"dbrx", "smaug-bpe", "chatglm-bpe"}, {kLlama3Split}},
    {{"glm4", "glm5"},
     {kLlama3Split},
     /*hasGpt2=*/false,
     /*ignoresMerges=*/true},
    {{"qwen2"}, {kQwen2Split}, false, false, false, /*isNfc=*/true},
    {{"deepseek-r1-qwen", "stablelm2", "megrez", "kormo", "hunyuan",
      "solar-open", "grok-2"},
     {kQwen2Split}},
    {{"qwen35"}, {kQwen35Split}, false, false, false, /*isNfc=*/true},
    {{"tekken"},
     {kTekkenSplit},
     false,
     /*ignoresMerges=*/true,
     /*addsBos=*/true},
    {{"gpt-4o", "llama4", "kanana2", "minimax-m2"}, {kGpt4oSplit}},
    {{"deepseek-llm"},
     {"[\r\n]", kCasedLetters,
      "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+",
      "\\s+$", kIdeographs, "\\p{N}"}},
    {{"deepseek-coder"},
     {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", kIdeographs, "\\p{N}"}},
    {{"kimi-k2"}, {kKimiSplit}},
    {{"seed-coder"}, {kSeedSplit}},
    {{"youtu"},
     {kYoutuRuns, kYoutuSplit},
     /*hasGpt2=*/false,
     /*ignoresMerges=*/true},
    {{"deepseek-v3", "hunyuan-dense", "hy_v4", "joyai-llm"},
     {"\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
      kDeepSeek3Split}},
};

/// Returns a text as a JSON string.
std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      quoted += c;
      continue;
    }
    char number[8];
    std::snprintf(number, sizeof(number), "\\u%04x", unsigned(c));
    quoted += number;
  }
  return quoted + '"';
}

/// The tokenizer's metadata, checked.
class GgufTokenizer {
public:
  explicit GgufTokenizer(const GgufHeader &header) : header(header) {}

  Status read();
  Result<std::string> buildByteLevel() const;
  Result<std::string> buildSentencePiece() const;

  /// Returns the text of the token that a key names, if there is one.
  std::optional<std::string_view> named(std::string_view key) const;

private:
  const GgufValue *find(std::string_view key) const {
    return header.find(std::string(kPrefix) + std::string(key));
  }
  Result<const Splits *> findSplits() const;
  bool flagOr(std::string_view key, bool absent) const;
  /// Returns a tokenizer_config.json with the tokens that begin and end a text.
  std::string configOf(bool addsBos, bool needsControl) const;
  std::string vocabularyText() const;
  Result<std::string> mergesText() const;
  std::string addedText() const;

  const GgufHeader &header;
  std::vector<std::string_view> tokens;
  std::vector<int64_t> types;
};

Status expected(std::string_view key, std::string_view what,
                const GgufValue *got) {
  return invalidArgument(strCat("key \"", kPrefix, key, "\": expected ", what,
                                ", got ", got ? got->describe() : "nothing"));
}

Status GgufTokenizer::read() {
  const GgufValue *value = find("tokens");
  if (!value || !value->isArray() || !value->isText())
    return expected("tokens", "an array of strings", value);
  if (value->size() > kMostIds || value->size() == 0)
    return invalidArgument(strCat("key \"", kPrefix, "tokens\": expected 1 to ",
                                  kMostIds, " tokens, got ", value->size()));
  tokens = *value->texts();
  for (size_t id = 0; id < tokens.size(); ++id)
    if (findInvalidUtf8(tokens[id]) != tokens[id].size())
      return invalidArgument(
          strCat("key \"", kPrefix, "tokens\": expected UTF-8 at ", id));
  types.assign(tokens.size(), kNormal);
  value = find("token_type");
  if (!value)
    return okStatus();
  auto numbers =
      value->size() == tokens.size() ? value->integers() : std::nullopt;
  if (!numbers)
    return expected("token_type", "an integer for each token", value);
  types = std::move(*numbers);
  return okStatus();
}

std::optional<std::string_view>
GgufTokenizer::named(std::string_view key) const {
  std::optional<int64_t> id =
      header.integer(std::string(kPrefix) + std::string(key));
  if (!id || *id < 0 || uint64_t(*id) >= tokens.size())
    return std::nullopt;
  return tokens[size_t(*id)];
}

bool GgufTokenizer::flagOr(std::string_view key, bool absent) const {
  const GgufValue *value = find(key);
  auto flags = value ? value->flags() : std::nullopt;
  return flags && flags->size() == 1 ? flags->front() : absent;
}

Result<const Splits *> GgufTokenizer::findSplits() const {
  std::string_view name = header.text("tokenizer.ggml.pre");
  std::string known;
  for (const Splits &splits : kSplits)
    for (std::string_view own : splits.names) {
      if (own.empty())
        continue;
      if (own == name)
        return &splits;
      known += (known.empty() ? "" : ", ") + std::string(own);
    }
  return unimplemented(strCat("key \"", kPrefix, "pre\": expected one of ",
                              known, ", got ",
                              name.empty() ? "none" : quote(name)));
}

std::string GgufTokenizer::configOf(bool addsBos, bool needsControl) const {
  // Only this class's settings override those of a tokenizer.json.
  std::string text = "{\"tokenizer_class\": \"LlamaTokenizer\"";
  for (std::string_view name : {"bos", "eos"}) {
    std::string key = strCat(name, "_token_id");
    std::optional<std::string_view> token = named(key);
    if (!token)
      continue;
    auto id = size_t(*header.integer(strCat(kPrefix, key)));
    if (needsControl && types[id] != kControl)
      continue;
    text += strCat(", \"", name, "_token\": ", quote(*token));
  }
  auto flag = [](bool value) { return value ? "true" : "false"; };
  return strCat(
      text, ", \"add_bos_token\": ", flag(flagOr("add_bos_token", addsBos)),
      ", \"add_eos_token\": ", flag(flagOr("add_eos_token", false)), "}");
}

std::string GgufTokenizer::vocabularyText() const {
  std::string text;
  for (size_t id = 0; id < tokens.size(); ++id)
    text += strCat(id == 0 ? "" : ",", quote(tokens[id]), ":", id);
  return text;
}

Result<std::string> GgufTokenizer::mergesText() const {
  const GgufValue *value = find("merges");
  if (!value || !value->isArray() || !value->isText() ||
      value->size() > kMostIds)
    return expected("merges", "an array of strings", value);
  std::string text;
  const std::vector<std::string_view> merges = *value->texts();
  for (std::string_view merge : merges) {
    // A piece may begin with a space.
    size_t space = merge.find(' ', 1);
    if (space == merge.npos || findInvalidUtf8(merge) != merge.size())
      return invalidArgument(strCat("key \"", kPrefix,
                                    "merges\": expected two pieces in UTF-8, "
                                    "got ",
                                    quote(merge)));
    text += strCat(text.empty() ? "[" : ",[", quote(merge.substr(0, space)),
                   ",", quote(merge.substr(space + 1)), "]");
  }
  return text;
}

/// Lists the tokens that are found in a text before it is split.
std::string GgufTokenizer::addedText() const {
  std::string text;
  for (size_t id = 0; id < tokens.size(); ++id) {
    bool isControl = types[id] == kControl || types[id] == kUnknown;
    if (!isControl && types[id] != kUserDefined)
      continue;
    text += strCat(text.empty() ? "" : ",", "{\"id\":", id,
                   ",\"content\":", quote(tokens[id]),
                   ",\"special\":", isControl ? "true" : "false",
                   ",\"normalized\":false}");
  }
  return text;
}

std::string splitText(std::string_view pattern) {
  return strCat("{\"type\":\"Split\",\"pattern\":{\"Regex\":", quote(pattern),
                "},\"behavior\":\"Isolated\",\"invert\":false},");
}

Result<std::string> GgufTokenizer::buildByteLevel() const {
  MTP_ASSIGN_OR_RETURN(const Splits *splits, findSplits());
  std::string steps;
  for (std::string_view pattern : splits->patterns)
    if (!pattern.empty())
      steps += splitText(pattern);
  steps += strCat("{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                  "\"use_regex\":",
                  splits->hasGpt2 ? "true}" : "false}");
  MTP_ASSIGN_OR_RETURN(std::string merges, mergesText());
  std::string text = strCat(
      "{\"added_tokens\":[", addedText(),
      "],\"normalizer\":", splits->isNfc ? "{\"type\":\"NFC\"}" : "null",
      ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[", steps,
      "]},\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
      "\"ignore_merges\":",
      splits->ignoresMerges ? "true" : "false", ",\"vocab\":{",
      vocabularyText(), "},\"merges\":[", merges, "]}}");
  return tablesFromHuggingFace(text, configOf(splits->addsBos, false));
}

/// Writes fields of a protobuf message.
class ProtoWriter {
public:
  void addNumber(unsigned field, uint64_t value) {
    addVarint(field << 3);
    addVarint(value);
  }
  void addFloat(unsigned field, float value) {
    addVarint(field << 3 | 5);
    auto bits = std::bit_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i)
      bytes += char(bits >> 8 * i);
  }
  void addBytes(unsigned field, std::string_view value) {
    addVarint(field << 3 | 2);
    addVarint(value.size());
    bytes += value;
  }
  const std::string &finish() const { return bytes; }

private:
  void addVarint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes += char(value | 0x80);
    bytes += char(value);
  }

  std::string bytes;
};

/// Returns the piece of a user-defined token: its text with U+2581 for spaces.
/// llama.cpp's converter writes such tokens with spaces.
std::string withMarkedSpaces(std::string_view text) {
  std::string piece;
  for (char c : text)
    if (c == ' ')
      piece += "\u2581";
    else
      piece += c;
  return piece;
}

Result<std::string> GgufTokenizer::buildSentencePiece() const {
  const GgufValue *value = find("scores");
  auto scores =
      value && value->size() == tokens.size() ? value->numbers() : std::nullopt;
  if (!scores)
    return expected("scores", "a number for each token", value);
  // Some files mark the unknown token as a control token, and sentencepiece
  // requires one unknown token.
  std::optional<int64_t> unknown;
  if (std::ranges::count(types, int64_t(kUnknown)) == 0)
    unknown = header.integer(strCat(kPrefix, "unknown_token_id")).value_or(0);
  const std::unordered_set<std::string_view> texts(tokens.begin(),
                                                   tokens.end());
  ProtoWriter model, trainer, normalizer;
  for (size_t id = 0; id < tokens.size(); ++id) {
    int64_t type = types[id] == 0 ? int64_t(kNormal) : types[id];
    if (unknown == int64_t(id))
      type = kUnknown;
    ProtoWriter piece;
    std::string marked = withMarkedSpaces(tokens[id]);
    bool isMarked = type == kUserDefined && !texts.contains(marked);
    piece.addBytes(1, isMarked ? marked : tokens[id]);
    piece.addFloat(2, float((*scores)[id]));
    // The numbers are sentencepiece's; 0 says nothing.
    piece.addNumber(3, uint64_t(type));
    model.addBytes(1, piece.finish());
  }
  constexpr uint64_t kBpe = 2;
  trainer.addNumber(3, kBpe);
  bool hasBytes = std::ranges::count(types, int64_t(kByte)) > 0;
  trainer.addNumber(35, hasBytes);
  model.addBytes(2, trainer.finish());
  normalizer.addBytes(1, "identity");
  normalizer.addNumber(3, flagOr("add_space_prefix", true));
  normalizer.addNumber(4, flagOr("remove_extra_whitespaces", false));
  normalizer.addNumber(5, 1);
  model.addBytes(3, normalizer.finish());
  return tablesFromSentencePiece(model.finish(), configOf(true, true));
}

} // namespace

Result<std::string> mtp::tablesFromGguf(const GgufHeader &header) {
  GgufTokenizer tokenizer(header);
  MTP_RETURN_IF_ERROR(tokenizer.read());
  std::string_view model = header.text("tokenizer.ggml.model");
  if (model == "gpt2")
    return tokenizer.buildByteLevel();
  if (model == "llama")
    return tokenizer.buildSentencePiece();
  return unimplemented(strCat("key \"", kPrefix,
                              "model\": expected gpt2 or llama, got ",
                              model.empty() ? "none" : quote(model)));
}

Result<ChatSource> mtp::chatFromGguf(const GgufHeader &header) {
  constexpr std::string_view kTemplate = "tokenizer.chat_template";
  ChatSource source;
  for (auto it = header.values.lower_bound(kTemplate);
       it != header.values.end() && it->first.starts_with(kTemplate); ++it) {
    std::string_view name =
        std::string_view(it->first).substr(kTemplate.size());
    std::string_view text = header.text(it->first);
    if (text.empty() || (!name.empty() && name.front() != '.'))
      continue;
    source.templates.emplace_back(name.empty() ? "default" : name.substr(1),
                                  text);
  }
  if (source.templates.empty())
    return source;
  GgufTokenizer tokenizer(header);
  MTP_RETURN_IF_ERROR(tokenizer.read());
  constexpr std::pair<const char *, std::string_view> kTokens[] = {
      {"bos_token", "bos_token_id"},     {"eos_token", "eos_token_id"},
      {"unk_token", "unknown_token_id"}, {"sep_token", "seperator_token_id"},
      {"pad_token", "padding_token_id"}, {"mask_token", "mask_token_id"}};
  for (auto [name, key] : kTokens)
    if (std::optional<std::string_view> token = tokenizer.named(key))
      source.tokens.emplace_back(name, *token);
  return source;
}
