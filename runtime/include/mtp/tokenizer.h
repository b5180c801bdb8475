//===- tokenizer.h - Text to token ids and back -----------------*- C++ -*-===//
//
// Units: text is UTF-8, and sizes of text are in bytes.
//
// Ownership: returned values belong to the caller, except views, whose
// functions say how long they are valid. Arguments are read only during the
// call, except the tables of load().
//
// Threads: a tokenizer is immutable, and any number of threads may share one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_TOKENIZER_H
#define MTP_RUNTIME_INCLUDE_MTP_TOKENIZER_H

#include "mtp/result.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// A token's id, in [0, vocabSize). Programs use the same type.
using TokenId = int32_t;

struct EncodeOptions {
  /// Puts the model's own tokens (BOS and the like) around the text.
  bool addSpecial = true;

  /// Reads the strings of special tokens as the tokens. Never set it for text
  /// that a user wrote: "<|im_end|>" in a message would end the message.
  bool parseSpecial = false;

  /// Offsets in the text, in bytes and ascending, at which no special token
  /// begins even if `parseSpecial` is set (ChatPrompt::literals). If special
  /// tokens are searched for in normalized text, a stretch of text that
  /// contains such an offset has no special token at all.
  std::span<const size_t> literals = {};

  /// Another thread may set the flag. encode() then ends with Unavailable after
  /// the current word or a step of its patterns. The flag is read only during
  /// the call. A SentencePiece tokenizer ends after the whole text.
  const std::atomic<bool> *cancelled = nullptr;
};

struct DecodeOptions {
  /// Leaves special tokens out of the text.
  bool skipSpecial = true;

  /// The ids begin a text. If false, they continue a text, and the space that
  /// some tokenizers put before the first word is kept.
  bool atTextStart = true;
};

/// A tokenizer over its tables. Immutable: const methods are thread-safe.
///
///   MTP_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::load(bytes));
///   MTP_ASSIGN_OR_RETURN(auto ids, tokenizer->encode("Hello, world"));
class Tokenizer {
public:
  /// The longest text that encode() takes, and the largest number of ids that
  /// decode() takes.
  static constexpr size_t kMaxTextBytes = size_t(1) << 26;
  static constexpr size_t kMaxIds = size_t(1) << 26;

  /// Verifies tables in the form of schema/mtp_tokenizer.fbs: first the
  /// structure, then the meaning. Nothing is checked again later. The bytes
  /// must be aligned to 8, outlive the tokenizer and never change.
  ///
  /// Fails with DataLoss if they are no tables or contradict themselves. Fails
  /// with OutOfRange if an id or a count is past its bound, and with
  /// InvalidArgument if a pattern or a string in them is malformed.
  static Result<std::unique_ptr<Tokenizer>>
  load(std::span<const uint8_t> bytes);

  ~Tokenizer();
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  /// Returns the ids of `text`. Fails with
  /// - InvalidArgument if it is not well-formed UTF-8 or the vocabulary does
  ///   not cover it,
  /// - OutOfRange if it is longer than kMaxTextBytes,
  /// - ResourceExhausted if matching its patterns takes too many steps: 10^8
  ///   plus 256 for each byte,
  /// - Unavailable if it is cancelled.
  Result<std::vector<TokenId>> encode(std::string_view text,
                                      EncodeOptions options = {}) const;

  /// Returns the text of `ids`, always well-formed UTF-8: incomplete or
  /// ill-formed bytes become U+FFFD. An id without a token gives the empty text
  /// (a padded vocabulary has such ids). Fails with OutOfRange if an id is
  /// negative or there are more than kMaxIds. For ids that come one by one see
  /// StreamDecoder.
  Result<std::string> decode(std::span<const TokenId> ids,
                             DecodeOptions options = {}) const;

  /// Returns the bytes of token `id`, special or not. They are not always
  /// well-formed UTF-8, and empty for an id without a token. They live as long
  /// as the tables. Fails with OutOfRange if the id is negative.
  Result<std::string_view> tokenToPiece(TokenId id) const;

  /// Returns the id of an added token, e.g. "<|im_end|>", if there is one.
  std::optional<TokenId> addedTokenId(std::string_view content) const;

  /// Returns the strings of all special tokens, in ascending order. They live
  /// as long as the tokenizer.
  std::vector<std::string_view> specialTokens() const;

  /// Whether `id` is a special token; false for ids that do not exist.
  bool isSpecial(TokenId id) const;

  /// Returns the exclusive upper bound of ids. A model's logits may be padded
  /// beyond it.
  size_t vocabSize() const;

  /// Return the ids of the tokens that begin a text, end a text and stand for
  /// text that the vocabulary does not cover. Empty if the tokenizer has no
  /// such token.
  std::optional<TokenId> bosId() const;
  std::optional<TokenId> eosId() const;
  std::optional<TokenId> unkId() const;

private:
  friend class StreamDecoder;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);

  std::unique_ptr<const Impl> impl;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_TOKENIZER_H
