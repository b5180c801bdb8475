//===- Vocabulary.cpp - Pieces and merges for the tables ------------------===//

#include "compiler/Tokenizer/Vocabulary.h"

#include "runtime/schema/Limits.h"
#include "runtime/tokenizer/ByteAlphabet.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace mtp;

namespace {

constexpr uint32_t kNoId = 0xFFFFFFFF;

} // namespace

Result<Vocabulary> Vocabulary::read(const JsonValue &object) {
  Vocabulary vocabulary;
  MTP_ASSIGN_OR_RETURN(auto members, object.asObject());
  vocabulary.ids.reserve(members.size());
  for (const auto &[piece, value] : members) {
    MTP_ASSIGN_OR_RETURN(uint32_t id, value.asUint32());
    // A limit prevents a huge id from causing a huge allocation.
    if (id >= kMostIds)
      return value.expected("an id up to " + std::to_string(kMostIds - 1));
    vocabulary.ids.emplace(piece, id);
    if (id >= vocabulary.byId.size())
      vocabulary.byId.resize(id + 1);
    if (vocabulary.byId[id])
      return value.expected("an id that no other piece has");
    vocabulary.byId[id] = std::string(piece);
  }
  if (members.empty())
    return object.expected("a piece at least");
  return vocabulary;
}

std::optional<uint32_t> Vocabulary::find(std::string_view piece) const {
  auto found = ids.find(std::string(piece));
  return found == ids.end() ? std::nullopt
                            : std::optional<uint32_t>(found->second);
}

std::optional<MergePair> mtp::splitMerge(std::string_view line) {
  size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 ||
      space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos)
    return std::nullopt;
  return MergePair(line.substr(0, space), line.substr(space + 1));
}

Status mtp::setMerges(const Vocabulary &vocabulary,
                      const std::vector<MergePair> &pairs,
                      const std::string &where, schema::TokenizerT &tables) {
  bool isByteLevel = tables.kind == schema::TokenizerKind::ByteLevelBpe;
  auto key = [](const schema::Merge &merge) {
    return std::pair(merge.left(), merge.right());
  };
  for (size_t rank = 0; rank < pairs.size(); ++rank) {
    auto [leftPiece, rightPiece] = pairs[rank];
    std::string joined = std::string(leftPiece) + std::string(rightPiece);
    uint32_t ids[3];
    std::string_view sides[] = {leftPiece, rightPiece, joined};
    for (int i = 0; i < 3; ++i) {
      std::optional<uint32_t> id = vocabulary.find(sides[i]);
      if (!id)
        return invalidArgument("expected pieces of the vocabulary at " + where +
                               "[" + std::to_string(rank) + "], got '" +
                               std::string(sides[i]) + "'");
      ids[i] = *id;
    }
    if (isByteLevel && (!bytesOfPiece(leftPiece) || !bytesOfPiece(rightPiece)))
      continue;
    tables.merges.emplace_back(ids[0], ids[1], static_cast<uint32_t>(rank),
                               ids[2]);
  }
  std::sort(tables.merges.begin(), tables.merges.end(),
            [&](const schema::Merge &a, const schema::Merge &b) {
              return std::pair(key(a), b.rank()) < std::pair(key(b), a.rank());
            });
  auto twice = std::unique(
      tables.merges.begin(), tables.merges.end(),
      [&](const auto &a, const auto &b) { return key(a) == key(b); });
  tables.merges.erase(twice, tables.merges.end());
  return okStatus();
}

Status mtp::setByteLevelPieces(const Vocabulary &vocabulary, bool wholeWords,
                               std::vector<std::string> &pieces,
                               schema::TokenizerT &tables) {
  tables.kind = schema::TokenizerKind::ByteLevelBpe;
  for (uint32_t id = 0; id < vocabulary.pieces().size(); ++id) {
    const std::optional<std::string> &piece = vocabulary.pieces()[id];
    if (!piece)
      continue;
    // A piece that no bytes can form means its own characters.
    std::optional<std::string> bytes = bytesOfPiece(*piece);
    if (wholeWords && bytes && !bytes->empty())
      tables.whole_words.push_back(id);
    setPiece(pieces, id, bytes.value_or(*piece));
  }
  std::sort(tables.whole_words.begin(), tables.whole_words.end(),
            [&](uint32_t a, uint32_t b) { return pieces[a] < pieces[b]; });
  for (int byte = 0; byte < 256; ++byte)
    tables.byte_ids.push_back(
        vocabulary.find(characterOfByte(static_cast<uint8_t>(byte)))
            .value_or(kNoId));
  return okStatus();
}

void mtp::setPiece(std::vector<std::string> &pieces, uint32_t id,
                   std::string text) {
  if (id >= pieces.size())
    pieces.resize(id + 1);
  pieces[id] = std::move(text);
}

Result<std::string> mtp::finishTables(const std::vector<std::string> &pieces,
                                      schema::TokenizerT &tables) {
  tables.piece_offsets = {0};
  for (const std::string &piece : pieces) {
    tables.piece_bytes.insert(tables.piece_bytes.end(), piece.begin(),
                              piece.end());
    tables.piece_offsets.push_back(
        static_cast<uint32_t>(tables.piece_bytes.size()));
  }
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishTokenizerBuffer(builder,
                                schema::Tokenizer::Pack(builder, &tables));

  // The runtime's code checks the tables here, before they are written.
  std::vector<uint64_t> aligned((builder.GetSize() + 7) / 8);
  std::memcpy(aligned.data(), builder.GetBufferPointer(), builder.GetSize());
  auto loaded = Tokenizer::load(
      {reinterpret_cast<const uint8_t *>(aligned.data()), builder.GetSize()});
  if (!loaded.isOk())
    return loaded.status().withContext("tokenizer tables");
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                     builder.GetSize());
}
