//===- HuggingFaceReader.cpp - tokenizer.json -----------------------------===//

#include "compiler/Tokenizer/HuggingFaceSteps.h"
#include "compiler/Tokenizer/Json.h"
#include "compiler/Tokenizer/TokenizerConfig.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "compiler/Tokenizer/Vocabulary.h"
#include "runtime/schema/Limits.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

using namespace mtp;

namespace {

constexpr uint32_t kNoId = 0xFFFFFFFF;

/// Converts a tokenizer.json to tables.
class Reader {
public:
  explicit Reader(JsonValue root) : root(std::move(root)) {}

  Status read(const TokenizerConfig &config);
  Result<std::string> finish() { return finishTables(pieces, tables); }

private:
  Status readPipelines();
  Status readModel();
  Status checkModelSettings(const JsonValue &model);
  Status readMerges(const JsonValue &model);
  Status setCharacterPieces(bool byteFallback);
  Status readAddedTokens();
  Status readAddedToken(const JsonValue &value);
  Status addConfigTokens(const TokenizerConfig &config);
  Status addToken(schema::AddedTokenT token);
  void unlearnSpecialTokens();
  Status readTemplate(const TokenizerConfig &config);
  Result<uint32_t> idOf(const std::string &content, const char *key) const;

  JsonValue root;
  Vocabulary vocabulary;
  PieceDecoder decoder;
  bool isByteLevel = false;
  std::vector<std::string> pieces;
  schema::TokenizerT tables;
  /// Index of each added token by content, and the id of the next new one.
  std::unordered_map<std::string, size_t> added;
  size_t nextId = 0;
};

Status Reader::read(const TokenizerConfig &config) {
  // Truncation and padding are for training batches and not needed here.
  MTP_RETURN_IF_ERROR(root.expectKeys(
      {"version", "truncation", "padding", "added_tokens", "normalizer",
       "pre_tokenizer", "post_processor", "decoder", "model"}));
  MTP_RETURN_IF_ERROR(readPipelines());
  MTP_RETURN_IF_ERROR(readModel());
  MTP_RETURN_IF_ERROR(readAddedTokens());
  MTP_RETURN_IF_ERROR(addConfigTokens(config));
  unlearnSpecialTokens();
  return readTemplate(config);
}

Status Reader::readPipelines() {
  if (std::optional<JsonValue> normalizer = root.find("normalizer"))
    MTP_RETURN_IF_ERROR(readNormalizer(*normalizer, tables.normalizer));
  if (std::optional<JsonValue> preTokenizer = root.find("pre_tokenizer"))
    MTP_RETURN_IF_ERROR(
        readPreTokenizer(*preTokenizer, tables.pre_tokenizer, isByteLevel));
  std::optional<JsonValue> decoderValue = root.find("decoder");
  if (!decoderValue)
    return unimplemented("tokenizer.json: expected a decoder, without which "
                         "pieces are joined by spaces, got none");
  MTP_ASSIGN_OR_RETURN(decoder, readDecoder(*decoderValue));
  if (decoder.isByteLevel != isByteLevel)
    return unsupportedValue(
        *decoderValue, isByteLevel ? "decoder ByteLevel for that pre_tokenizer"
                                   : "another decoder for that pre_tokenizer");
  tables.strip_leading_spaces = decoder.stripLeadingSpaces;
  tables.first_piece_without_spaces = decoder.firstWithoutSpaces;
  return okStatus();
}

Status Reader::checkModelSettings(const JsonValue &model) {
  // The library ignores other keys of models and steps. Old files have no type;
  // only a BPE model has merges.
  MTP_ASSIGN_OR_RETURN(std::string_view type, model.stringOr("type", "BPE"));
  if (type != "BPE")
    return unsupportedValue(*model.find("type"), "'BPE'");
  // A positive probability would drop merges at random.
  if (std::optional<JsonValue> dropout = model.find("dropout")) {
    MTP_ASSIGN_OR_RETURN(double probability, dropout->asNumber());
    if (probability != 0)
      return unsupportedValue(*dropout, "no dropout");
  }
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    MTP_ASSIGN_OR_RETURN(std::string_view affix, model.stringOr(key, ""));
    if (!affix.empty())
      return unsupportedValue(*model.find(key), "no affix");
  }
  return okStatus();
}

Status Reader::readModel() {
  MTP_ASSIGN_OR_RETURN(JsonValue model, root.member("model"));
  MTP_RETURN_IF_ERROR(checkModelSettings(model));
  MTP_ASSIGN_OR_RETURN(JsonValue vocab, model.member("vocab"));
  MTP_ASSIGN_OR_RETURN(vocabulary, Vocabulary::read(vocab));
  MTP_ASSIGN_OR_RETURN(tables.fuse_unk, model.boolOr("fuse_unk", false));
  MTP_ASSIGN_OR_RETURN(bool ignoreMerges, model.boolOr("ignore_merges", false));
  MTP_ASSIGN_OR_RETURN(bool byteFallback, model.boolOr("byte_fallback", false));
  if (isByteLevel) {
    MTP_RETURN_IF_ERROR(
        setByteLevelPieces(vocabulary, ignoreMerges, pieces, tables));
  } else {
    if (ignoreMerges)
      return unsupportedValue(*model.find("ignore_merges"),
                              "false unless the pre_tokenizer is ByteLevel");
    MTP_RETURN_IF_ERROR(
        setCharacterPieces(byteFallback).withContext("tokenizer.json"));
  }
  if (std::optional<JsonValue> unk = model.find("unk_token")) {
    MTP_ASSIGN_OR_RETURN(std::string_view token, unk->asString());
    std::optional<uint32_t> id = vocabulary.find(token);
    // With a piece for each byte, no text is unknown.
    bool isNeeded =
        !isByteLevel || std::ranges::count(tables.byte_ids, kNoId) > 0;
    if (!id && isNeeded)
      return unk->expected("a piece of the vocabulary");
    if (id)
      tables.unk_id = static_cast<int32_t>(*id);
  }
  return readMerges(model);
}

Status Reader::readMerges(const JsonValue &model) {
  MTP_ASSIGN_OR_RETURN(JsonValue value, model.member("merges"));
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> merges, value.asArray());
  std::vector<MergePair> pairs;
  pairs.reserve(merges.size());
  for (const JsonValue &merge : merges) {
    if (merge.isString()) {
      MTP_ASSIGN_OR_RETURN(std::string_view line, merge.asString());
      // A comment from merges.txt, in older files.
      if (line.starts_with("#version"))
        continue;
      std::optional<MergePair> pair = splitMerge(line);
      if (!pair)
        return merge.expected("two pieces");
      pairs.push_back(*pair);
      continue;
    }
    MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> sides, merge.asArray());
    if (sides.size() != 2)
      return merge.expected("two pieces");
    MTP_ASSIGN_OR_RETURN(std::string_view left, sides[0].asString());
    MTP_ASSIGN_OR_RETURN(std::string_view right, sides[1].asString());
    pairs.emplace_back(left, right);
  }
  return setMerges(vocabulary, pairs, "model.merges", tables)
      .withContext("tokenizer.json");
}

std::string replaceAll(const std::string &text, const PieceDecoder &decoder) {
  if (decoder.from.empty())
    return text;
  std::string replaced;
  size_t pos = 0;
  for (size_t found; (found = text.find(decoder.from, pos)) != text.npos;
       pos = found + decoder.from.size())
    replaced.append(text, pos, found - pos).append(decoder.to);
  return replaced.append(text, pos);
}

/// Sets pieces, characters and byte_ids of a model whose symbols are
/// characters.
Status Reader::setCharacterPieces(bool byteFallback) {
  tables.kind = schema::TokenizerKind::CharacterBpe;
  const auto &source = vocabulary.pieces();
  std::vector<std::pair<uint32_t, uint32_t>> characters;
  for (uint32_t id = 0; id < source.size(); ++id) {
    if (!source[id])
      continue;
    const std::string &piece = *source[id];
    if (!piece.empty() && utf8Length(piece, 0) == piece.size())
      characters.emplace_back(decodeUtf8(piece, 0), id);
    setPiece(pieces, id, replaceAll(piece, decoder));
  }
  std::sort(characters.begin(), characters.end());
  for (auto [codePoint, id] : characters)
    tables.characters.emplace_back(codePoint, id);

  if (!byteFallback && !decoder.byteFallback)
    return okStatus();
  std::vector<uint32_t> byteIds;
  size_t count = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    std::optional<uint32_t> id = vocabulary.find(name);
    byteIds.push_back(id.value_or(kNoId));
    count += id.has_value();
    if (id && decoder.byteFallback)
      setPiece(pieces, *id, std::string(1, static_cast<char>(byte)));
  }
  if (!byteFallback || count == 0)
    return okStatus();
  if (count != 256)
    return invalidArgument("expected pieces '<0x00>' to '<0xFF>' at "
                           "model.vocab for byte_fallback, got " +
                           std::to_string(count) + " of them");
  tables.byte_ids = std::move(byteIds);
  return okStatus();
}

Status Reader::readAddedTokens() {
  std::optional<JsonValue> list = root.find("added_tokens");
  if (!list)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> values, list->asArray());
  for (const JsonValue &value : values)
    MTP_RETURN_IF_ERROR(readAddedToken(value));
  return okStatus();
}

/// Removes from the model all ways to form a special token. Ordinary text must
/// not become one, neither by merges nor as a whole word.
void Reader::unlearnSpecialTokens() {
  std::vector<bool> special(pieces.size());
  for (const auto &token : tables.added_tokens)
    special[token->id] = token->special;
  auto erase = [&](auto &list, auto idOf) {
    list.erase(
        std::remove_if(list.begin(), list.end(),
                       [&](const auto &item) { return special[idOf(item)]; }),
        list.end());
  };
  erase(tables.whole_words, [](uint32_t id) { return id; });
  erase(tables.merges, [](const schema::Merge &m) { return m.result(); });
  erase(tables.characters, [](const schema::Character &c) { return c.id(); });
}

Status Reader::readAddedToken(const JsonValue &value) {
  schema::AddedTokenT token;
  MTP_ASSIGN_OR_RETURN(JsonValue id, value.member("id"));
  MTP_RETURN_IF_ERROR(id.asUint32().status());
  MTP_RETURN_IF_ERROR(readAddedTokenFields(value, token));
  return addToken(std::move(token)).withContext("tokenizer.json: added_tokens");
}

/// Adds a token like Hugging Face's tokenizers, which ignore the id in the
/// file. An existing piece keeps its id, and new tokens get the next ids after
/// the vocabulary. A repeated token overrides the settings of the first.
Status Reader::addToken(schema::AddedTokenT token) {
  if (token.content.empty())
    return okStatus();
  auto [place, isNew] =
      added.emplace(token.content, tables.added_tokens.size());
  if (!isNew) {
    schema::AddedTokenT &known = *tables.added_tokens[place->second];
    token.id = known.id;
    token.special |= known.special;
    known = std::move(token);
    return okStatus();
  }
  if (std::optional<uint32_t> id = vocabulary.find(token.content)) {
    token.id = *id;
  } else {
    size_t next = std::max(nextId, vocabulary.size());
    bool isTaken = next < vocabulary.pieces().size() &&
                   vocabulary.pieces()[next].has_value();
    if (next >= kMostIds || isTaken)
      return invalidArgument("expected the next id " + std::to_string(next) +
                             " to be free for '" + token.content + "'");
    token.id = uint32_t(next);
  }
  nextId = std::max<size_t>(nextId, token.id + 1);
  setPiece(pieces, token.id, token.content);
  tables.added_tokens.push_back(
      std::make_unique<schema::AddedTokenT>(std::move(token)));
  return okStatus();
}

/// Adds the tokens that transformers adds: the config's tokens, then special
/// tokens that are not yet added tokens.
Status Reader::addConfigTokens(const TokenizerConfig &config) {
  auto isNamed = [&](const schema::AddedTokenT &token) {
    return std::ranges::any_of(config.namedTokens, [&](const auto &named) {
      return named.content == token.content;
    });
  };
  for (schema::AddedTokenT token : config.decoderTokens) {
    token.special |= isNamed(token);
    MTP_RETURN_IF_ERROR(
        addToken(std::move(token)).withContext("tokenizer_config.json"));
  }
  for (const schema::AddedTokenT &token : config.namedTokens)
    if (!added.contains(token.content))
      MTP_RETURN_IF_ERROR(addToken(token).withContext("tokenizer_config.json"));
  return okStatus();
}

Result<uint32_t> Reader::idOf(const std::string &content,
                              const char *key) const {
  for (const auto &token : tables.added_tokens)
    if (token->content == content)
      return token->id;
  if (std::optional<uint32_t> id = vocabulary.find(content))
    return *id;
  return invalidArgument("tokenizer_config.json: expected a token at " +
                         std::string(key) + ", got '" + content + "'");
}

Status Reader::readTemplate(const TokenizerConfig &config) {
  std::vector<uint32_t> &prefix = tables.prefix_ids;
  std::vector<uint32_t> &suffix = tables.suffix_ids;
  if (std::optional<JsonValue> processor = root.find("post_processor"))
    MTP_RETURN_IF_ERROR(readPostProcessor(*processor, prefix, suffix));

  if (config.bosToken) {
    MTP_ASSIGN_OR_RETURN(uint32_t id, idOf(*config.bosToken, "bos_token"));
    tables.bos_id = static_cast<int32_t>(id);
    if (config.addBos)
      prefix.assign(*config.addBos, id);
  }
  if (config.eosToken) {
    MTP_ASSIGN_OR_RETURN(uint32_t id, idOf(*config.eosToken, "eos_token"));
    tables.eos_id = static_cast<int32_t>(id);
    if (config.addEos)
      suffix.assign(*config.addEos, id);
  }
  return okStatus();
}

} // namespace

Result<std::string> mtp::tablesFromHuggingFace(std::string_view tokenizerJson,
                                               std::string_view configJson) {
  MTP_ASSIGN_OR_RETURN(JsonDocument document,
                       JsonDocument::parse("tokenizer.json", tokenizerJson));
  MTP_ASSIGN_OR_RETURN(TokenizerConfig config,
                       TokenizerConfig::read(configJson));
  Reader reader(document.root());
  MTP_RETURN_IF_ERROR(reader.read(config));
  return reader.finish();
}
