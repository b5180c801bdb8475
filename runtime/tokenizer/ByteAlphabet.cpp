//===- ByteAlphabet.cpp - GPT-2's characters for bytes --------------------===//

#include "runtime/tokenizer/ByteAlphabet.h"

#include "runtime/utf8/Utf8.h"

#include <array>

using namespace mtp;

namespace {

constexpr uint32_t kFirstSubstitute = 0x100;

bool isPrintableLatin1(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         byte >= 0xAE;
}

struct Alphabet {
  std::array<uint32_t, 256> characters;
  std::array<int16_t, size_t(2) * kFirstSubstitute>
      bytes; ///< The byte of each character, or -1.
};

Alphabet makeAlphabet() {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  uint32_t substitute = kFirstSubstitute;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t character = isPrintableLatin1(byte) ? byte : substitute++;
    alphabet.characters[byte] = character;
    alphabet.bytes[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

const Alphabet &theAlphabet() {
  static const Alphabet alphabet = makeAlphabet();
  return alphabet;
}

} // namespace

std::string mtp::characterOfByte(uint8_t byte) {
  std::string character;
  appendUtf8(character, theAlphabet().characters[byte]);
  return character;
}

void mtp::appendCharactersOfBytes(std::string_view bytes, std::string &out) {
  for (char byte : bytes)
    appendUtf8(out, theAlphabet().characters[static_cast<uint8_t>(byte)]);
}

std::optional<std::string> mtp::bytesOfPiece(std::string_view piece) {
  const auto &byteOf = theAlphabet().bytes;
  std::string bytes;
  for (size_t pos = 0; pos < piece.size(); pos += utf8Length(piece, pos)) {
    uint32_t codePoint = decodeUtf8(piece, pos);
    if (codePoint >= byteOf.size() || byteOf[codePoint] < 0)
      return std::nullopt;
    bytes.push_back(static_cast<char>(byteOf[codePoint]));
  }
  return bytes;
}
