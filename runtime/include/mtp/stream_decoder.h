//===- stream_decoder.h - Text from a stream of ids -------------*- C++ -*-===//
//
// Ownership: returned texts belong to the caller.
//
// Threads: a decoder is for one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_STREAM_DECODER_H
#define MTP_RUNTIME_INCLUDE_MTP_STREAM_DECODER_H

#include "mtp/tokenizer.h"
#include "mtp/utf8.h"

namespace mtp {

/// Decodes one stream of ids. A token may end in the middle of a character. The
/// first bytes of such a character, at most 3, are held back until it is
/// complete or cannot become so. The returned texts, joined, equal the text of
/// Tokenizer::decode for the same ids.
///
/// Copyable, also in mid-stream, e.g. to try out drafted tokens. Only for one
/// thread at a time; the tokenizer must outlive it.
class StreamDecoder {
public:
  /// Begins a stream. The tokenizer must outlive it and its copies.
  explicit StreamDecoder(const Tokenizer &tokenizer, DecodeOptions options = {})
      : tokenizer(&tokenizer), options(options),
        isAtStart(options.atTextStart) {}

  /// Returns the text that `id` completes: well-formed UTF-8 and often empty,
  /// for example for an id without a token. Fails with OutOfRange if the id is
  /// negative; the stream is then unchanged.
  Result<std::string> append(TokenId id);

  /// Ends the stream: returns U+FFFD if a character is incomplete. The next
  /// append() starts a new text.
  std::string finish();

private:
  friend class Tokenizer;
  Status appendTo(std::string &text, TokenId id);

  const Tokenizer *tokenizer;
  DecodeOptions options;
  Utf8Assembler assembler;
  uint32_t strippedSpaces = 0;
  bool isAtStart; ///< Only stripped spaces have come so far.
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_STREAM_DECODER_H
