//===- Pieces.h - The text of every id --------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_PIECES_H
#define MTP_RUNTIME_TOKENIZER_PIECES_H

#include "runtime/core/Status.h"
#include "runtime/schema/mtp_tokenizer_generated.h"

#include <cstdint>
#include <string_view>

namespace mtp {

/// Checks the assumptions of pieceOf(): offsets ascend from 0 to the number of
/// bytes, and the number of ids is below the limit.
Status verifyPieces(const schema::Tokenizer &tables);

inline uint32_t vocabSizeOf(const schema::Tokenizer &tables) {
  return tables.piece_offsets()->size() - 1;
}

/// Returns the text of `id`, which must be below vocabSizeOf(). The tables own
/// the text.
inline std::string_view pieceOf(const schema::Tokenizer &tables, uint32_t id) {
  uint32_t begin = tables.piece_offsets()->Get(id);
  uint32_t end = tables.piece_offsets()->Get(id + 1);
  return {reinterpret_cast<const char *>(tables.piece_bytes()->data()) + begin,
          end - begin};
}

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_PIECES_H
