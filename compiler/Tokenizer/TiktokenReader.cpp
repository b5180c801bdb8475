//===- TiktokenReader.cpp - tiktoken.model --------------------------------===//
//
// Each line has a piece's bytes in base64 and its rank, which is its id. Two
// neighbours merge if they form a piece together, in the order of ranks.
//
//===----------------------------------------------------------------------===//

#include "compiler/Tokenizer/HuggingFaceSteps.h"
#include "compiler/Tokenizer/Json.h"
#include "compiler/Tokenizer/RegexTranslator.h"
#include "compiler/Tokenizer/TokenizerCode.h"
#include "compiler/Tokenizer/TokenizerConfig.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "compiler/Tokenizer/Vocabulary.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <charconv>

using namespace mtp;

namespace {

constexpr uint32_t kNoId = 0xFFFFFFFF;
/// Largest piece. The time to find a piece's merges is quadratic in its bytes.
constexpr size_t kMaxPieceBytes = 1024;

/// Decodes base64. Returns nothing if the text is malformed.
std::optional<std::string> decodeBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.empty() || text.size() % 4 != 0)
    return std::nullopt;
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isPadding = i + padding >= text.size();
    size_t digit = isPadding ? 0 : kDigits.find(text[i]);
    if (digit == std::string_view::npos)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 3)
      continue;
    for (int shift : {16, 8, 0})
      bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::optional<uint32_t> readNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

/// Converts a tiktoken.model and its neighbouring files to tables.
class Reader {
public:
  Status readPieces(std::string_view model);
  void setMerges();
  Status readAddedTokens(const JsonValue &config);
  Status readEnds(const TokenizerConfig &config);

  schema::TokenizerT tables;
  std::vector<std::string> pieces;

private:
  Status readPiece(std::string_view line, size_t number);
  Status readAddedToken(std::string_view key, const JsonValue &value);
  Result<int32_t> idOf(const std::optional<std::string> &content,
                       const char *key) const;

  std::unordered_map<std::string, uint32_t> ids;
};

Status Reader::readPieces(std::string_view model) {
  tables.kind = schema::TokenizerKind::ByteLevelBpe;
  for (size_t number = 1; !model.empty(); ++number) {
    size_t end = std::min(model.find('\n'), model.size());
    std::string_view line = model.substr(0, end);
    model.remove_prefix(std::min(end + 1, model.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (!line.empty())
      MTP_RETURN_IF_ERROR(readPiece(line, number));
  }
  if (ids.empty())
    return invalidArgument("tiktoken.model: expected a piece at least");
  for (int byte = 0; byte < 256; ++byte) {
    auto found = ids.find(std::string(1, static_cast<char>(byte)));
    tables.byte_ids.push_back(found == ids.end() ? kNoId : found->second);
  }
  return okStatus();
}

Status Reader::readPiece(std::string_view line, size_t number) {
  size_t space = std::min(line.find(' '), line.size());
  std::optional<std::string> piece = decodeBase64(line.substr(0, space));
  std::optional<uint32_t> rank =
      readNumber(line.substr(std::min(space + 1, line.size())));
  std::string where = "tiktoken.model: line " + std::to_string(number) + ": ";
  if (!piece || !rank)
    return invalidArgument(where +
                           "expected a piece in base64 and its rank, "
                           "got '" +
                           std::string(line.substr(0, 60)) + "'");
  if (piece->size() > kMaxPieceBytes || *rank >= kMostIds)
    return invalidArgument(
        where + "expected a piece of at most " +
        std::to_string(kMaxPieceBytes) + " bytes and a rank of at most " +
        std::to_string(kMostIds - 1) + ", got " +
        std::to_string(piece->size()) + " and " + std::to_string(*rank));
  bool isTaken = *rank < pieces.size() && !pieces[*rank].empty();
  if (isTaken || !ids.emplace(*piece, *rank).second)
    return invalidArgument(where +
                           "expected a piece and a rank that no other "
                           "line has, got '" +
                           std::string(line.substr(0, 60)) + "'");
  setPiece(pieces, *rank, std::move(*piece));
  return okStatus();
}

/// Sets the merges. Each pair that forms a piece has the piece's rank. A word
/// that is a piece needs no merge.
void Reader::setMerges() {
  for (uint32_t id = 0; id < pieces.size(); ++id) {
    const std::string &piece = pieces[id];
    if (piece.empty())
      continue;
    tables.whole_words.push_back(id);
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      auto left = ids.find(piece.substr(0, cut));
      if (left == ids.end())
        continue;
      auto right = ids.find(piece.substr(cut));
      if (right != ids.end())
        tables.merges.emplace_back(left->second, right->second, id, id);
    }
  }
  std::sort(tables.whole_words.begin(), tables.whole_words.end(),
            [&](uint32_t a, uint32_t b) { return pieces[a] < pieces[b]; });
  std::sort(tables.merges.begin(), tables.merges.end(),
            [](const schema::Merge &a, const schema::Merge &b) {
              return std::pair(a.left(), a.right()) <
                     std::pair(b.left(), b.right());
            });
}

Status Reader::readAddedTokens(const JsonValue &config) {
  MTP_ASSIGN_OR_RETURN(JsonValue list, config.member("added_tokens_decoder"));
  MTP_ASSIGN_OR_RETURN(auto members, list.asObject());
  for (const auto &[key, value] : members)
    MTP_RETURN_IF_ERROR(readAddedToken(key, value));
  return okStatus();
}

Status Reader::readAddedToken(std::string_view key, const JsonValue &value) {
  auto token = std::make_unique<schema::AddedTokenT>();
  std::optional<uint32_t> id = readNumber(key);
  bool isTaken =
      id && *id < pieces.size() && !pieces[std::min(*id, kMostIds - 1)].empty();
  if (!id || *id >= kMostIds || isTaken)
    return value.expected("an id up to " + std::to_string(kMostIds - 1) +
                          " that no piece has as the key");
  token->id = *id;
  MTP_RETURN_IF_ERROR(readAddedTokenFields(value, *token));
  if (token->content.empty())
    return value.expected("a content that is not empty");
  setPiece(pieces, token->id, token->content);
  tables.added_tokens.push_back(std::move(token));
  return okStatus();
}

/// Returns the id of an added token. -1 if the config names none.
Result<int32_t> Reader::idOf(const std::optional<std::string> &content,
                             const char *key) const {
  if (!content)
    return -1;
  for (const auto &token : tables.added_tokens)
    if (token->content == *content)
      return static_cast<int32_t>(token->id);
  return invalidArgument("tokenizer_config.json: expected a token of "
                         "added_tokens_decoder at " +
                         std::string(key) + ", got '" + *content + "'");
}

Status Reader::readEnds(const TokenizerConfig &config) {
  MTP_ASSIGN_OR_RETURN(tables.bos_id, idOf(config.bosToken, "bos_token"));
  MTP_ASSIGN_OR_RETURN(tables.eos_id, idOf(config.eosToken, "eos_token"));
  return okStatus();
}

} // namespace

Result<std::string> mtp::tablesFromTiktoken(std::string_view model,
                                            std::string_view configJson,
                                            std::string_view code) {
  MTP_ASSIGN_OR_RETURN(std::string name, findTokenizerCode(configJson));
  MTP_ASSIGN_OR_RETURN(std::string pattern, readPatternOfCode(code, name));
  Result<std::string> translated = translateRegex(pattern);
  if (!translated)
    return translated.status().withContext(name + ": 'pat_str'");
  Reader reader;
  MTP_RETURN_IF_ERROR(reader.readPieces(model));
  reader.setMerges();
  MTP_ASSIGN_OR_RETURN(
      JsonDocument document,
      JsonDocument::parse("tokenizer_config.json", configJson));
  MTP_RETURN_IF_ERROR(reader.readAddedTokens(document.root()));
  MTP_ASSIGN_OR_RETURN(TokenizerConfig config,
                       TokenizerConfig::read(configJson));
  MTP_RETURN_IF_ERROR(reader.readEnds(config));
  // Text without a match is dropped, as in tiktoken.
  addSplit(std::move(*translated), schema::SplitBehavior::Removed,
           /*invert=*/true, reader.tables.pre_tokenizer);
  return finishTables(reader.pieces, reader.tables);
}
