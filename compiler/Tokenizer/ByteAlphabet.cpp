//===- ByteAlphabet.cpp - GPT-2's characters for bytes --------------------===//

#include "compiler/Tokenizer/ByteAlphabet.h"

#include "runtime/text/Utf8.h"

#include <array>

using namespace mtp;

namespace {

constexpr uint32_t kFirstSubstitute = 0x100;

bool isPrintableLatin1(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         byte >= 0xAE;
}

std::array<uint32_t, 256> makeAlphabet() {
  std::array<uint32_t, 256> alphabet;
  uint32_t substitute = kFirstSubstitute;
  for (uint32_t byte = 0; byte < 256; ++byte)
    alphabet[byte] = isPrintableLatin1(byte) ? byte : substitute++;
  return alphabet;
}

} // namespace

std::string mtp::characterOfByte(uint8_t byte) {
  static const std::array<uint32_t, 256> alphabet = makeAlphabet();
  std::string character;
  appendUtf8(character, alphabet[byte]);
  return character;
}

std::optional<std::string> mtp::bytesOfPiece(std::string_view piece) {
  static const std::array<uint32_t, 256> alphabet = makeAlphabet();
  std::string bytes;
  for (size_t pos = 0; pos < piece.size(); pos += utf8Length(piece, pos)) {
    uint32_t codePoint = decodeUtf8(piece, pos);
    if (codePoint < 256 && isPrintableLatin1(codePoint)) {
      bytes.push_back(static_cast<char>(codePoint));
      continue;
    }
    size_t byte = 0;
    while (byte < 256 && (alphabet[byte] != codePoint || codePoint < 256))
      ++byte;
    if (byte == 256)
      return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}
