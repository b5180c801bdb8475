//===- SentencePieceModel.h - Reads a SentencePiece model -------*- C++ -*-===//
//
// The library hides the protobuf of a model and trusts the character map in it.
// This file reads the few fields that the tokenizer needs and checks the map.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H
#define MTP_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H

#include "runtime/core/Result.h"

#include <string_view>
#include <vector>

namespace mtp {

/// Fields of a sentencepiece.ModelProto, as views of its bytes.
struct SentencePieceModel {
  enum class PieceType : uint8_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
  };

  struct Piece {
    std::string_view text;
    PieceType type = PieceType::Normal;
  };

  std::vector<Piece> pieces; ///< Pieces by id.
  std::string_view unkSurface =
      " \xE2\x81\x87 "; ///< The text of the unknown id.
  bool addDummyPrefix = true;
  bool removeExtraWhitespaces = true;

  /// Reads a model. Fails with DataLoss if `bytes` are not a model or if the
  /// library could read outside of its character map.
  static Result<SentencePieceModel> read(std::string_view bytes);
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H
