//===- stream_decoder.h - Text from ids as they come ------------*- C++ -*-===//
//
// Ownership: texts belong to the caller.
//
// Threads: a decoder is for one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_STREAM_DECODER_H
#define MTP_STREAM_DECODER_H

#include "mtp/tokenizer.h"
#include "mtp/utf8.h"

namespace mtp {

/// Decodes one stream of ids. A token may end in the middle of a character:
/// those bytes, 3 at most, are held back until the character is complete or
/// cannot become so. All texts returned, joined, are what Tokenizer::decode
/// makes of the same ids.
///
/// Copyable, also in mid-stream, e.g. to try out drafted tokens. Not for two
/// threads at a time; the tokenizer must outlive it.
class StreamDecoder {
public:
  /// Begins a stream. The tokenizer must outlive it and its copies.
  explicit StreamDecoder(const Tokenizer &tokenizer, DecodeOptions options = {})
      : tokenizer(&tokenizer), options(options),
        isAtStart(options.atTextStart) {}

  /// The text that `id` completes, well-formed UTF-8 and often empty, as of an
  /// id without a token. Fails with OutOfRange when the id is negative; the
  /// stream is then as if it had not been given.
  Result<std::string> append(TokenId id);

  /// Ends the stream: U+FFFD if a character is incomplete. The next append()
  /// starts a new text.
  std::string finish();

private:
  friend class Tokenizer;
  Status appendTo(std::string &text, TokenId id);

  const Tokenizer *tokenizer;
  DecodeOptions options;
  Utf8Assembler assembler;
  uint32_t strippedSpaces = 0;
  bool isAtStart; ///< Nothing but stripped spaces has come yet.
};

} // namespace mtp

#endif // MTP_STREAM_DECODER_H
