//===- ByteAlphabet.h - GPT-2's characters for bytes ------------*- C++ -*-===//
//
// A file with a byte-level vocabulary has one printable character per byte: the
// byte's own character of Latin-1 if it is printable, or else one from U+0100
// on. The tables contain bytes only. The characters matter to pre-tokenizers
// that split text in this alphabet.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_BYTEALPHABET_H
#define MTP_RUNTIME_TOKENIZER_BYTEALPHABET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtp {

/// Returns the character of a byte, in UTF-8.
std::string characterOfByte(uint8_t byte);

/// Appends the characters of bytes.
void appendCharactersOfBytes(std::string_view bytes, std::string &out);

/// Returns the bytes of a piece, or nothing if a character is not in the
/// alphabet. The piece must be well-formed UTF-8.
std::optional<std::string> bytesOfPiece(std::string_view piece);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_BYTEALPHABET_H
