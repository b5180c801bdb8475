//===- TokenizerImpl.h - What a tokenizer is made of ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_TOKENIZERIMPL_H
#define MTP_RUNTIME_TOKENIZER_TOKENIZERIMPL_H

#include "runtime/tokenizer/AddedTokens.h"
#include "runtime/tokenizer/Bpe.h"
#include "runtime/tokenizer/Pieces.h"
#include "runtime/tokenizer/SentencePieceEncoder.h"
#include "runtime/tokenizer/TextPipeline.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <map>

namespace mtp {

struct Tokenizer::Impl {
  const schema::Tokenizer *tables = nullptr;

  /// One of the two, by the tables' kind.
  std::optional<Bpe> bpe;
  std::optional<SentencePieceEncoder> sentencePiece;

  TextPipeline normalizer;
  TextPipeline preTokenizer;
  AddedTokens rawAdded;        ///< Searched for before normalising.
  AddedTokens normalizedAdded; ///< Searched for after it.
  std::map<std::string, TokenId, std::less<>> addedIds;
  std::vector<bool> special; ///< By id.

  /// Verifies tables whose structure is verified, and takes them up.
  Status load(const schema::Tokenizer &tables);

  Status encode(std::string_view text, EncodeOptions options,
                std::vector<TokenId> &ids) const;

private:
  /// What encoding one text works in.
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
