//===- StreamDecoder.cpp - Text from ids that arrive one by one -----------===//

#include "runtime/tokenizer/StreamDecoder.h"

#include "runtime/tokenizer/TokenizerImpl.h"

#include <algorithm>
#include <iterator>

using namespace mtp;

Result<std::string> StreamDecoder::append(TokenId id) {
  std::string text;
  MTP_RETURN_IF_ERROR(appendTo(text, id));
  return text;
}

Status StreamDecoder::appendTo(std::string &text, TokenId id) {
  MTP_ASSIGN_OR_RETURN(std::string_view piece, tokenizer->tokenToPiece(id));
  if (options.skipSpecial && tokenizer->isSpecial(id))
    return okStatus();
  // A text begins with the first id that has text.
  if (piece.empty())
    return okStatus();
  const schema::Tokenizer &tables = *tokenizer->impl->tables;
  std::string kept;
  if (isAtStart && tables.first_piece_without_spaces()) {
    std::remove_copy(piece.begin(), piece.end(), std::back_inserter(kept), ' ');
    piece = kept;
    isAtStart = false;
  }
  if (isAtStart) {
    // The space of an unknown token stays.
    uint32_t limit = id == tables.unk_id() ? 0 : tables.strip_leading_spaces();
    while (!piece.empty() && piece[0] == ' ' && strippedSpaces < limit) {
      piece.remove_prefix(1);
      ++strippedSpaces;
    }
    isAtStart = piece.empty();
  }
  assembler.append(piece, text);
  return okStatus();
}

std::string StreamDecoder::finish() {
  std::string text;
  assembler.finish(text);
  isAtStart = options.atTextStart;
  strippedSpaces = 0;
  return text;
}
