//===- SentencePieceModel.cpp - Reads a SentencePiece model ---------------===//

#include "runtime/tokenizer/SentencePieceModel.h"

#include "runtime/utf8/Utf8.h"

#include <cstring>
#include <string>

using namespace mtp;

namespace {

/// One field of a protobuf message: a number, or bytes.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

/// Reads a protobuf message field by field.
class FieldReader {
public:
  explicit FieldReader(std::string_view bytes) : rest(bytes) {}

  /// Sets `field` to the next field. Returns false at the end and on error.
  bool next(Field &field) {
    if (rest.empty() || failed)
      return false;
    uint64_t tag = readVarint();
    field = Field();
    field.number = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
    case 0:
      field.value = readVarint();
      break;
    case 1:
      take(8);
      break;
    case 2:
      field.bytes = take(readVarint());
      break;
    case 5:
      take(4);
      break;
    default:
      failed = true;
    }
    return !failed;
  }

  bool hasFailed() const { return failed; }

private:
  uint64_t readVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      std::string_view byte = take(1);
      if (failed)
        return 0;
      auto bits = static_cast<uint8_t>(byte[0]);
      value |= static_cast<uint64_t>(bits & 0x7F) << shift;
      if (bits < 0x80)
        return value;
    }
    failed = true;
    return 0;
  }

  std::string_view take(uint64_t size) {
    if (size > rest.size()) {
      failed = true;
      return {};
    }
    std::string_view bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return bytes;
  }

  std::string_view rest;
  bool failed = false;
};

Status malformed(const char *what) {
  return dataLoss(
      std::string("expected a SentencePiece model, got a malformed ") + what);
}

uint32_t readWord(std::string_view bytes, size_t index) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + 4 * index, 4);
  return word;
}

/// Checks that each walk through the map's double-array trie stays inside it,
/// and that each leaf points into the NUL-terminated replacements after it.
Status verifyCharsMap(std::string_view map) {
  if (map.empty())
    return okStatus();
  if (map.size() < 8)
    return malformed("character map");
  uint32_t trieBytes = readWord(map, 0);
  map.remove_prefix(4);
  if (trieBytes % 4 != 0 || trieBytes == 0 || trieBytes >= map.size() ||
      map.back() != '\0')
    return malformed("character map");
  size_t count = trieBytes / 4;
  size_t replacementBytes = map.size() - trieBytes;
  for (size_t i = 0; i < count; ++i) {
    uint32_t unit = readWord(map, i);
    // A walk ends at a leaf. But every walk starts at the root, even if the
    // root looks like a leaf.
    if (unit >> 31 && i != 0)
      continue;
    uint32_t offset = unit >> 10 << ((unit & (1u << 9)) >> 6);
    size_t base = i ^ offset;
    if ((base | 0xFF) >= count)
      return malformed("character map");
    bool hasLeaf = unit >> 8 & 1;
    if (hasLeaf && (readWord(map, base) & 0x7FFFFFFF) >= replacementBytes)
      return malformed("character map");
  }
  return okStatus();
}

Status readPiece(std::string_view bytes, SentencePieceModel &model) {
  using PieceType = SentencePieceModel::PieceType;
  SentencePieceModel::Piece piece;
  FieldReader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1)
      piece.text = field.bytes;
    if (field.number == 3) {
      if (field.value < 1 || field.value > uint64_t(PieceType::Byte))
        return malformed("piece type");
      piece.type = static_cast<PieceType>(field.value);
    }
  }
  // The library's own trie ends a key at a NUL.
  bool isText = !piece.text.empty() && isValidUtf8(piece.text) &&
                piece.text.find('\0') == std::string_view::npos;
  if (reader.hasFailed() || !isText)
    return malformed("piece");
  model.pieces.push_back(piece);
  return okStatus();
}

Status readTrainerSpec(std::string_view bytes, SentencePieceModel &model) {
  FieldReader reader(bytes);
  for (Field field; reader.next(field);)
    if (field.number == 44)
      model.unkSurface = field.bytes;
  return reader.hasFailed() ? malformed("trainer spec") : okStatus();
}

Status readNormalizerSpec(std::string_view bytes, SentencePieceModel &model) {
  FieldReader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 2)
      MTP_RETURN_IF_ERROR(verifyCharsMap(field.bytes));
    if (field.number == 3)
      model.addDummyPrefix = field.value != 0;
    if (field.number == 4)
      model.removeExtraWhitespaces = field.value != 0;
  }
  return reader.hasFailed() ? malformed("normalizer spec") : okStatus();
}

} // namespace

Result<SentencePieceModel> SentencePieceModel::read(std::string_view bytes) {
  SentencePieceModel model;
  FieldReader reader(bytes);
  int specs = 0;
  for (Field field; reader.next(field);) {
    if (field.number == 1)
      MTP_RETURN_IF_ERROR(readPiece(field.bytes, model));
    if (field.number == 2)
      MTP_RETURN_IF_ERROR(readTrainerSpec(field.bytes, model));
    if (field.number == 3) {
      // Protobuf would merge two fields, and the library would use a map that
      // was not checked.
      if (++specs > 1)
        return malformed("normalizer spec, the second of its kind");
      MTP_RETURN_IF_ERROR(readNormalizerSpec(field.bytes, model));
    }
  }
  if (reader.hasFailed())
    return malformed("field");
  if (model.pieces.empty())
    return malformed("list of pieces, which is empty");
  return model;
}
