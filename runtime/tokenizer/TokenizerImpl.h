//===- TokenizerImpl.h - The parts of a tokenizer ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_TOKENIZERIMPL_H
#define MTP_RUNTIME_TOKENIZER_TOKENIZERIMPL_H

#include "mtp/tokenizer.h"
#include "runtime/tokenizer/AddedTokens.h"
#include "runtime/tokenizer/Bpe.h"
#include "runtime/tokenizer/Pieces.h"
#include "runtime/tokenizer/SentencePieceEncoder.h"
#include "runtime/tokenizer/TextPipeline.h"

#include <map>

namespace mtp {

struct Tokenizer::Impl {
  const schema::Tokenizer *tables = nullptr;

  /// The kind of the tables decides which of the two is set.
  std::optional<Bpe> bpe;
  std::optional<SentencePieceEncoder> sentencePiece;

  TextPipeline normalizer;
  TextPipeline preTokenizer;
  AddedTokens rawAdded;        ///< Found before normalizing.
  AddedTokens normalizedAdded; ///< Found after normalizing.
  std::map<std::string, TokenId, std::less<>> addedIds;
  std::vector<bool> special; ///< Whether an id is a special token.

  /// Verifies the content of tables and uses them. The FlatBuffers structure
  /// must already be verified.
  Status load(const schema::Tokenizer &tables);

  Status encode(std::string_view text, EncodeOptions options,
                std::vector<TokenId> &ids) const;

private:
  /// The working memory of encoding one text.
  struct Scratch {
    MatchScratch match;
    Bpe::Scratch bpe;
  };

  Status loadModel();
  Status loadPipelines();
  Status loadAddedTokens();
  Status verifyIds() const;

  Status encodeSegment(std::string_view whole, TextSpan span,
                       const EncodeOptions &options, Scratch &scratch,
                       std::vector<TokenId> &ids) const;
  Status encodeWords(std::string_view text, bool atStart, Scratch &scratch,
                     std::vector<TokenId> &ids) const;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_TOKENIZERIMPL_H
