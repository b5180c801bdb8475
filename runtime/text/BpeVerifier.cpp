//===- BpeVerifier.cpp - Semantic checks of BPE tables --------------------===//

#include "runtime/text/BpeVerifier.h"

#include "runtime/text/Pieces.h"

#include <string>

using namespace mtp;

namespace {

constexpr uint32_t kNoId = 0xFFFFFFFF;

std::string at(const char *field, uint32_t index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

Status checkId(const std::string &where, uint32_t id, uint32_t vocabSize) {
  if (id < vocabSize)
    return okStatus();
  return outOfRange("expected an id below " + std::to_string(vocabSize) +
                    " in " + where + ", got " + std::to_string(id));
}

Status verifyMerges(const schema::Tokenizer &tables) {
  if (!tables.merges())
    return okStatus();
  uint32_t vocabSize = vocabSizeOf(tables);
  const schema::Merge *previous = nullptr;
  for (uint32_t i = 0; i < tables.merges()->size(); ++i) {
    const schema::Merge &merge = *tables.merges()->Get(i);
    if (merge.left() >= vocabSize || merge.right() >= vocabSize ||
        merge.result() >= vocabSize)
      return outOfRange("expected ids below " + std::to_string(vocabSize) +
                        " in " + at("merges", i));
    if (previous && (previous->left() > merge.left() ||
                     (previous->left() == merge.left() &&
                      previous->right() >= merge.right())))
      return dataLoss("expected distinct merges in ascending order, got " +
                      at("merges", i) + " at or before its predecessor");
    std::string_view left = pieceOf(tables, merge.left());
    std::string_view right = pieceOf(tables, merge.right());
    std::string_view result = pieceOf(tables, merge.result());
    if (left.empty() || right.empty() ||
        result.size() != left.size() + right.size() ||
        result.substr(0, left.size()) != left ||
        result.substr(left.size()) != right)
      return dataLoss("expected " + at("merges", i) +
                      " to yield the piece that its two sides make up");
    previous = &merge;
  }
  return okStatus();
}

Status verifyByteIds(const schema::Tokenizer &tables) {
  uint32_t count = tables.byte_ids() ? tables.byte_ids()->size() : 0;
  bool isByteLevel = tables.kind() == schema::TokenizerKind::ByteLevelBpe;
  if (count != 256 && !(count == 0 && !isByteLevel))
    return outOfRange("expected 256 byte_ids, got " + std::to_string(count));
  for (uint32_t byte = 0; byte < count; ++byte) {
    uint32_t id = tables.byte_ids()->Get(byte);
    if (id != kNoId)
      MTP_RETURN_IF_ERROR(
          checkId(at("byte_ids", byte), id, vocabSizeOf(tables)));
  }
  return okStatus();
}

Status verifyCharacters(const schema::Tokenizer &tables) {
  uint32_t count = tables.characters() ? tables.characters()->size() : 0;
  for (uint32_t i = 0; i < count; ++i) {
    const schema::Character &character = *tables.characters()->Get(i);
    MTP_RETURN_IF_ERROR(
        checkId(at("characters", i), character.id(), vocabSizeOf(tables)));
    if (i > 0 &&
        tables.characters()->Get(i - 1)->code_point() >= character.code_point())
      return dataLoss("expected distinct characters in ascending order, got " +
                      at("characters", i) + " at or before its predecessor");
  }
  return okStatus();
}

Status verifyWholeWords(const schema::Tokenizer &tables) {
  uint32_t count = tables.whole_words() ? tables.whole_words()->size() : 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t id = tables.whole_words()->Get(i);
    MTP_RETURN_IF_ERROR(checkId(at("whole_words", i), id, vocabSizeOf(tables)));
    if (i > 0 && pieceOf(tables, tables.whole_words()->Get(i - 1)) >=
                     pieceOf(tables, id))
      return dataLoss("expected distinct words in ascending order, got " +
                      at("whole_words", i) + " at or before its predecessor");
  }
  return okStatus();
}

} // namespace

Status mtp::verifyBpe(const schema::Tokenizer &tables) {
  MTP_RETURN_IF_ERROR(verifyByteIds(tables));
  MTP_RETURN_IF_ERROR(verifyCharacters(tables));
  MTP_RETURN_IF_ERROR(verifyMerges(tables));
  return verifyWholeWords(tables);
}
