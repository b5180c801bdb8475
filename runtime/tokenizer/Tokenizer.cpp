//===- Tokenizer.cpp - Text to token ids and back -------------------------===//

#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/tokenizer/StreamDecoder.h"
#include "runtime/tokenizer/TokenizerImpl.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;

namespace {

std::optional<TokenId> optionalId(int32_t id) {
  return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}

void appendIds(const flatbuffers::Vector<uint32_t> *source,
               std::vector<TokenId> &ids) {
  if (source)
    ids.insert(ids.end(), source->begin(), source->end());
}

} // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl)
    : impl(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text,
                                               EncodeOptions options) const {
  if (text.size() > kMaxTextBytes)
    return outOfRange("expected a text of at most " +
                      std::to_string(kMaxTextBytes) + " bytes, got " +
                      std::to_string(text.size()));
  if (size_t pos = findInvalidUtf8(text); pos != text.size())
    return invalidArgument("expected UTF-8, got an ill-formed byte at " +
                           std::to_string(pos));
  std::vector<TokenId> ids;
  if (options.addSpecial)
    appendIds(impl->tables->prefix_ids(), ids);
  MTP_RETURN_IF_ERROR(impl->encode(text, options, ids));
  if (options.addSpecial)
    appendIds(impl->tables->suffix_ids(), ids);
  return ids;
}

Status Tokenizer::Impl::encode(std::string_view text, EncodeOptions options,
                               std::vector<TokenId> &ids) const {
  Scratch scratch{MatchScratch(options.cancelled), {}};
  for (TextSegment segment :
       rawAdded.split(text, options.parseSpecial, options.literals)) {
    if (segment.id != TextSegment::kText) {
      ids.push_back(segment.id);
      continue;
    }
    MTP_RETURN_IF_ERROR(
        encodeSegment(text, segment.span, options, scratch, ids));
  }
  return okStatus();
}

/// Encodes text between added tokens. The normalized text may contain added
/// tokens again.
Status Tokenizer::Impl::encodeSegment(std::string_view whole, TextSpan span,
                                      const EncodeOptions &options,
                                      Scratch &scratch,
                                      std::vector<TokenId> &ids) const {
  std::string_view text = whole.substr(span.begin, span.end - span.begin);
  bool atStart = span.begin == 0, parseSpecial = options.parseSpecial;
  PieceList list;
  if (!normalizer.empty()) {
    list = {std::string(text), {{0, text.size()}}};
    MTP_RETURN_IF_ERROR(normalizer.apply(list, atStart, scratch.match));
    text = list.text;
    // The positions of literals in the normalized text are unknown.
    auto literal = std::lower_bound(options.literals.begin(),
                                    options.literals.end(), span.begin);
    if (literal != options.literals.end() && *literal < span.end)
      parseSpecial = false;
  }
  for (TextSegment segment : normalizedAdded.split(
           text, parseSpecial, options.literals, span.begin)) {
    if (segment.id != TextSegment::kText) {
      ids.push_back(segment.id);
      continue;
    }
    size_t begin = segment.span.begin;
    MTP_RETURN_IF_ERROR(
        encodeWords(text.substr(begin, segment.span.end - begin),
                    atStart && begin == 0, scratch, ids));
  }
  return okStatus();
}

/// Encodes normalized text without added tokens.
Status Tokenizer::Impl::encodeWords(std::string_view text, bool atStart,
                                    Scratch &scratch,
                                    std::vector<TokenId> &ids) const {
  if (sentencePiece)
    return sentencePiece->encode(text, ids);

  PieceList list{std::string(text), {{0, text.size()}}};
  MTP_RETURN_IF_ERROR(preTokenizer.apply(list, atStart, scratch.match));
  std::string_view words = list.text;
  for (TextSpan word : list.pieces) {
    if (scratch.match.isCancelled())
      return unavailable("expected to encode the whole text, was cancelled");
    MTP_RETURN_IF_ERROR(bpe->encode(
        words.substr(word.begin, word.end - word.begin), scratch.bpe, ids));
  }
  return okStatus();
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids,
                                      DecodeOptions options) const {
  if (ids.size() > kMaxIds)
    return outOfRange("expected at most " + std::to_string(kMaxIds) +
                      " token ids, got " + std::to_string(ids.size()));
  StreamDecoder decoder(*this, options);
  std::string text;
  for (TokenId id : ids)
    MTP_RETURN_IF_ERROR(decoder.appendTo(text, id));
  text += decoder.finish();
  return text;
}

Result<std::string_view> Tokenizer::tokenToPiece(TokenId id) const {
  if (id < 0)
    return outOfRange("expected a token id of at least 0, got " +
                      std::to_string(id));
  // The vocabulary of a model may have padding after the ids of the tokenizer.
  if (static_cast<size_t>(id) >= vocabSize())
    return std::string_view();
  return pieceOf(*impl->tables, static_cast<uint32_t>(id));
}

std::optional<TokenId> Tokenizer::addedTokenId(std::string_view content) const {
  auto found = impl->addedIds.find(content);
  return found == impl->addedIds.end() ? std::nullopt
                                       : std::optional<TokenId>(found->second);
}

std::vector<std::string_view> Tokenizer::specialTokens() const {
  std::vector<std::string_view> contents;
  for (const auto &[content, id] : impl->addedIds)
    if (impl->special[size_t(id)])
      contents.push_back(content);
  return contents;
}

bool Tokenizer::isSpecial(TokenId id) const {
  return id >= 0 && static_cast<size_t>(id) < vocabSize() && impl->special[id];
}

size_t Tokenizer::vocabSize() const { return vocabSizeOf(*impl->tables); }

std::optional<TokenId> Tokenizer::bosId() const {
  return optionalId(impl->tables->bos_id());
}

std::optional<TokenId> Tokenizer::eosId() const {
  return optionalId(impl->tables->eos_id());
}

std::optional<TokenId> Tokenizer::unkId() const {
  return optionalId(impl->tables->unk_id());
}
