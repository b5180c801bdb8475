//===- tokenizer.h - Text to token ids and back -----------------*- C++ -*-===//
//
// Units: text is UTF-8, and sizes of text are in bytes.
//
// Ownership: what is returned belongs to the caller, but for views, which say
// how long they are valid. What is given is read during the call alone, but for
// the tables of load().
//
// Threads: a tokenizer is immutable, and any number of threads may share one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOKENIZER_H
#define MTP_TOKENIZER_H

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

/// A token's id, in [0, vocabSize). Of the type that programs work on.
using TokenId = int32_t;

struct EncodeOptions {
  /// Put the model's own tokens (BOS and the like) around the text.
  bool addSpecial = true;

  /// Take the strings of special tokens for the tokens. Never set it for text
  /// that a user wrote: "<|im_end|>" in a message would end the message.
  bool parseSpecial = false;

  /// Offsets in the text, in bytes and ascending, at which no special token
  /// begins though `parseSpecial` is set (ChatPrompt::literals). Where a
  /// normalizer works on text ahead of special tokens that are searched for
  /// behind it, none is found in the same stretch of text at all.
  std::span<const size_t> literals = {};

  /// Another thread may set the flag. encode() then ends with Unavailable after
  /// the current word or a step of its patterns. The flag is read during the
  /// call only. A SentencePiece tokenizer ends after the whole text.
  const std::atomic<bool> *cancelled = nullptr;
};

struct DecodeOptions {
  /// Leave special tokens out of the text.
  bool skipSpecial = true;

  /// The ids begin a text. If they go on one instead, the space that some
  /// tokenizers put before the first word is kept.
  bool atTextStart = true;
};

/// A tokenizer over its tables. Immutable: const methods are thread-safe.
///
///   MTP_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::load(bytes));
///   MTP_ASSIGN_OR_RETURN(auto ids, tokenizer->encode("Hello, world"));
class Tokenizer {
public:
  /// Longest text that encode() takes, and the most ids that decode() does.
  static constexpr size_t kMaxTextBytes = size_t(1) << 26;
  static constexpr size_t kMaxIds = size_t(1) << 26;

  /// Verifies tables as schema/mtp_tokenizer.fbs describes them, structure
  /// first, then meaning; nothing is checked again later. The bytes must be
  /// aligned to 8, outlive the tokenizer and never change.
  ///
  /// Fails with DataLoss when they are no tables or contradict themselves, with
  /// OutOfRange when an id or a count is past its bound, and with
  /// InvalidArgument when a pattern or a string in them is malformed.
  static Result<std::unique_ptr<Tokenizer>>
  load(std::span<const uint8_t> bytes);

  ~Tokenizer();
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  /// The ids of `text`. Fails with
  /// - InvalidArgument when it is not well-formed UTF-8 or when the vocabulary
  ///   does not cover it,
  /// - OutOfRange when it is longer than kMaxTextBytes,
  /// - ResourceExhausted when matching its patterns takes too many steps: 10^8
  ///   and 256 for each byte,
  /// - Unavailable when it is cancelled.
  Result<std::vector<TokenId>> encode(std::string_view text,
                                      EncodeOptions options = {}) const;

  /// The text of `ids`, always well-formed UTF-8: what the ids' bytes leave
  /// incomplete or ill-formed becomes U+FFFD. An id without a token, as a
  /// padded vocabulary has, is the empty text. Fails with OutOfRange when an id
  /// is negative or there are more than kMaxIds. For ids that come one by one
  /// see StreamDecoder.
  Result<std::string> decode(std::span<const TokenId> ids,
                             DecodeOptions options = {}) const;

  /// The bytes that `id` stands for, special or not; not always well-formed
  /// UTF-8, and none of an id without a token. Lives as long as the tables.
  /// Fails with OutOfRange when it is negative.
  Result<std::string_view> tokenToPiece(TokenId id) const;

  /// The id of an added token, e.g. "<|im_end|>".
  std::optional<TokenId> addedTokenId(std::string_view content) const;

  /// The strings of all special tokens, in ascending order. They live as long
  /// as the tokenizer.
  std::vector<std::string_view> specialTokens() const;

  /// Whether `id` is a special token; false for ids that do not exist.
  bool isSpecial(TokenId id) const;

  /// Ids are below this. A model's logits may be padded beyond it.
  size_t vocabSize() const;

  /// The ids of the tokens that begin and end a text and that stand for what
  /// the vocabulary does not cover; none where the tokenizer has no such token.
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

#endif // MTP_TOKENIZER_H
