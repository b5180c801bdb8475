//===- SentencePieceReader.cpp - tokenizer.model --------------------------===//

#include "compiler/Tokenizer/TokenizerConfig.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "compiler/Tokenizer/Vocabulary.h"
#include "runtime/schema/Limits.h"
#include "runtime/tokenizer/SentencePieceModel.h"

#include <charconv>
#include <limits>

using namespace mtp;

namespace {

using PieceType = SentencePieceModel::PieceType;

constexpr std::string_view kSpace = "\xE2\x96\x81"; // U+2581

std::string replaceSpaces(std::string_view piece) {
  std::string text;
  while (!piece.empty()) {
    bool isSpace = piece.substr(0, kSpace.size()) == kSpace;
    text.push_back(isSpace ? ' ' : piece[0]);
    piece.remove_prefix(isSpace ? kSpace.size() : 1);
  }
  return text;
}

/// Returns the byte of a piece such as "<0x0A>".
std::optional<uint8_t> byteOf(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with(">"))
    return std::nullopt;
  uint8_t byte = 0;
  const char *digits = piece.data() + 3, *end = digits + 2;
  auto [used, error] = std::from_chars(digits, end, byte, 16);
  bool isByte = error == std::errc() && used == end;
  return isByte ? std::optional(byte) : std::nullopt;
}

Result<std::string> textOf(const SentencePieceModel::Piece &piece,
                           const SentencePieceModel &model) {
  switch (piece.type) {
  case PieceType::Unknown:
    return std::string(model.unkSurface);
  case PieceType::Control:
    return std::string(piece.text);
  case PieceType::Byte: {
    std::optional<uint8_t> byte = byteOf(piece.text);
    if (!byte)
      return invalidArgument("tokenizer.model: expected a byte piece such as "
                             "'<0x0A>', got '" +
                             std::string(piece.text) + "'");
    return std::string(1, static_cast<char>(*byte));
  }
  default:
    return replaceSpaces(piece.text);
  }
}

class Reader {
public:
  explicit Reader(const SentencePieceModel &model) : model(model) {}

  Status readPieces();
  Status readTemplate(const TokenizerConfig &config);
  Result<std::string> finish(std::string_view bytes) {
    tables.kind = schema::TokenizerKind::SentencePiece;
    tables.sentencepiece.assign(bytes.begin(), bytes.end());
    return finishTables(pieces, tables);
  }

private:
  /// Returns the id of a control token, by the config's name or the usual one.
  Result<int32_t> controlId(const std::optional<std::string> &configured,
                            std::string_view usual, const char *key) const;

  const SentencePieceModel &model;
  std::vector<std::string> pieces;
  schema::TokenizerT tables;
};

Status Reader::readPieces() {
  if (model.pieces.size() > kMostIds)
    return invalidArgument("tokenizer.model: expected at most " +
                           std::to_string(kMostIds) + " pieces, got " +
                           std::to_string(model.pieces.size()));
  for (uint32_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece &piece = model.pieces[id];
    MTP_ASSIGN_OR_RETURN(std::string text, textOf(piece, model));
    setPiece(pieces, id, std::move(text));
    if (piece.type == PieceType::Unknown)
      tables.unk_id = static_cast<int32_t>(id);
    if (piece.type != PieceType::Control || piece.text.empty())
      continue;
    auto token = std::make_unique<schema::AddedTokenT>();
    token->content = piece.text;
    token->id = id;
    token->special = true;
    tables.added_tokens.push_back(std::move(token));
  }
  // As the library decodes: it drops the one leading space that it adds when
  // encoding. A model that removes extra spaces drops all leading spaces.
  if (model.removeExtraWhitespaces)
    tables.strip_leading_spaces = std::numeric_limits<uint32_t>::max();
  else
    tables.strip_leading_spaces = model.addDummyPrefix ? 1 : 0;
  return okStatus();
}

Result<int32_t> Reader::controlId(const std::optional<std::string> &configured,
                                  std::string_view usual,
                                  const char *key) const {
  std::string_view wanted = configured ? std::string_view(*configured) : usual;
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].type == PieceType::Control &&
        model.pieces[id].text == wanted)
      return static_cast<int32_t>(id);
  if (configured)
    return invalidArgument("tokenizer_config.json: expected a control token of "
                           "tokenizer.model at " +
                           std::string(key) + ", got '" + *configured + "'");
  return -1;
}

Status Reader::readTemplate(const TokenizerConfig &config) {
  MTP_ASSIGN_OR_RETURN(tables.bos_id,
                       controlId(config.bosToken, "<s>", "bos_token"));
  MTP_ASSIGN_OR_RETURN(tables.eos_id,
                       controlId(config.eosToken, "</s>", "eos_token"));
  if (config.addBos.value_or(true) && tables.bos_id >= 0)
    tables.prefix_ids.push_back(static_cast<uint32_t>(tables.bos_id));
  if (config.addEos.value_or(false) && tables.eos_id >= 0)
    tables.suffix_ids.push_back(static_cast<uint32_t>(tables.eos_id));
  return okStatus();
}

} // namespace

Result<std::string> mtp::tablesFromSentencePiece(std::string_view bytes,
                                                 std::string_view configJson) {
  Result<SentencePieceModel> model = SentencePieceModel::read(bytes);
  if (!model.isOk())
    return invalidArgument("tokenizer.model: " +
                           std::string(model.status().message()));
  MTP_ASSIGN_OR_RETURN(TokenizerConfig config,
                       TokenizerConfig::read(configJson));
  Reader reader(*model);
  MTP_RETURN_IF_ERROR(reader.readPieces());
  MTP_RETURN_IF_ERROR(reader.readTemplate(config));
  return reader.finish(bytes);
}
