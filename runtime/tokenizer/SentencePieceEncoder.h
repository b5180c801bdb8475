//===- SentencePieceEncoder.h - Encodes with SentencePiece ------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_SENTENCEPIECEENCODER_H
#define MTP_RUNTIME_TOKENIZER_SENTENCEPIECEENCODER_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
} // namespace sentencepiece

namespace mtp {

/// A SentencePiece model in the library of that name. Const methods are
/// thread-safe. Tokenizer decodes without it.
class SentencePieceEncoder {
public:
  /// Copies the model, a serialized sentencepiece.ModelProto. Fails with
  /// DataLoss if the model is malformed, and with OutOfRange if it has more
  /// pieces than `vocabSize`.
  static Result<SentencePieceEncoder> create(std::string_view model,
                                             uint32_t vocabSize);

  SentencePieceEncoder(SentencePieceEncoder &&) noexcept;
  SentencePieceEncoder &operator=(SentencePieceEncoder &&) noexcept;
  ~SentencePieceEncoder();

  /// Appends the ids of `text`, which must be well-formed UTF-8.
  Status encode(std::string_view text, std::vector<int32_t> &ids) const;

private:
  SentencePieceEncoder();

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_SENTENCEPIECEENCODER_H
