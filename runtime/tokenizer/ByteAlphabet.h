//===- ByteAlphabet.h - GPT-2's characters for bytes ------------*- C++ -*-===//
//
// Byte-level vocabularies are written in files with one printable character
// per byte: the byte's own where Latin-1 has one, else one from U+0100 on. In
// our tables there are only bytes; the characters matter where a pre-tokeniser
// goes on cutting what is written so.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_BYTEALPHABET_H
#define MTP_RUNTIME_TOKENIZER_BYTEALPHABET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtp {

/// The character for a byte, in UTF-8.
std::string characterOfByte(uint8_t byte);

/// Appends the characters of some bytes.
void appendCharactersOfBytes(std::string_view bytes, std::string &out);

/// The bytes that a piece stands for, or nothing if one of its characters is
/// not in the alphabet. The piece must be well-formed UTF-8.
std::optional<std::string> bytesOfPiece(std::string_view piece);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_BYTEALPHABET_H
