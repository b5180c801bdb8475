//===- BpeVerifier.cpp - Semantic checks of BPE tables --------------------===//

#include "runtime/tokenizer/BpeVerifier.h"

#include "runtime/core/StrCat.h"
#include "runtime/tokenizer/Pieces.h"

#include <tuple>

using namespace mtp;

/// The value in byte_ids of a byte without a token.
static constexpr uint32_t kNoId = 0xFFFFFFFF;

static Status verifyId(const char *field, uint32_t index, uint32_t id,
                       uint32_t vocabSize) {
  if (id < vocabSize)
    return okStatus();
  return outOfRange(strCat("expected an id below ", vocabSize, " in ", field,
                           "[", index, "], got ", id));
}

/// Returns the error of a table that is not strictly ascending. Binary search
/// needs this order.
static Status notAscending(const char *elements, const char *field,
                           uint32_t index) {
  return dataLoss(strCat("expected distinct ", elements,
                         " in ascending order, got ", field, "[", index,
                         "] at or before its predecessor"));
}

/// Returns whether the piece of a merge is the concatenation of the pieces of
/// its left and right side.
static bool joinsItsSides(const schema::Tokenizer &tables,
                          const schema::Merge &merge) {
  std::string_view left = pieceOf(tables, merge.left());
  std::string_view right = pieceOf(tables, merge.right());
  std::string_view result = pieceOf(tables, merge.result());
  return !left.empty() && !right.empty() &&
         result.size() == left.size() + right.size() &&
         result.starts_with(left) && result.ends_with(right);
}

static Status verifyMerges(const schema::Tokenizer &tables) {
  uint32_t vocabSize = vocabSizeOf(tables);
  uint32_t count = tables.merges() ? tables.merges()->size() : 0;
  auto sides = [&](uint32_t i) {
    const schema::Merge &merge = *tables.merges()->Get(i);
    return std::tuple(merge.left(), merge.right());
  };
  for (uint32_t i = 0; i < count; ++i) {
    const schema::Merge &merge = *tables.merges()->Get(i);
    for (uint32_t id : {merge.left(), merge.right(), merge.result()})
      if (id >= vocabSize)
        return outOfRange(
            strCat("expected ids below ", vocabSize, " in merges[", i, "]"));
    if (i > 0 && sides(i - 1) >= sides(i))
      return notAscending("merges", "merges", i);
    if (!joinsItsSides(tables, merge))
      return dataLoss(strCat("expected merges[", i,
                             "] to yield the piece that its two sides make "
                             "up"));
  }
  return okStatus();
}

static Status verifyByteIds(const schema::Tokenizer &tables) {
  uint32_t vocabSize = vocabSizeOf(tables);
  uint32_t count = tables.byte_ids() ? tables.byte_ids()->size() : 0;
  bool isByteLevel = tables.kind() == schema::TokenizerKind::ByteLevelBpe;
  if (count != 256 && (count != 0 || isByteLevel))
    return outOfRange(strCat("expected 256 byte_ids, got ", count));
  for (uint32_t byte = 0; byte < count; ++byte) {
    uint32_t id = tables.byte_ids()->Get(byte);
    if (id != kNoId)
      MTP_RETURN_IF_ERROR(verifyId("byte_ids", byte, id, vocabSize));
  }
  return okStatus();
}

static Status verifyCharacters(const schema::Tokenizer &tables) {
  uint32_t vocabSize = vocabSizeOf(tables);
  uint32_t count = tables.characters() ? tables.characters()->size() : 0;
  auto codePoint = [&](uint32_t i) {
    return tables.characters()->Get(i)->code_point();
  };
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t id = tables.characters()->Get(i)->id();
    MTP_RETURN_IF_ERROR(verifyId("characters", i, id, vocabSize));
    if (i > 0 && codePoint(i - 1) >= codePoint(i))
      return notAscending("characters", "characters", i);
  }
  return okStatus();
}

static Status verifyWholeWords(const schema::Tokenizer &tables) {
  uint32_t vocabSize = vocabSizeOf(tables);
  uint32_t count = tables.whole_words() ? tables.whole_words()->size() : 0;
  auto word = [&](uint32_t i) {
    return pieceOf(tables, tables.whole_words()->Get(i));
  };
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t id = tables.whole_words()->Get(i);
    MTP_RETURN_IF_ERROR(verifyId("whole_words", i, id, vocabSize));
    if (i > 0 && word(i - 1) >= word(i))
      return notAscending("words", "whole_words", i);
  }
  return okStatus();
}

Status mtp::verifyBpe(const schema::Tokenizer &tables) {
  MTP_RETURN_IF_ERROR(verifyByteIds(tables));
  MTP_RETURN_IF_ERROR(verifyCharacters(tables));
  MTP_RETURN_IF_ERROR(verifyMerges(tables));
  return verifyWholeWords(tables);
}
