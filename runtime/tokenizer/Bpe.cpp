//===- Bpe.cpp - Byte-pair encoding of one word ---------------------------===//
//
// The symbols are a linked list in a vector. A heap contains the possible
// merges. A merge may be stale when it is popped, and is dropped then. Each
// merge removes a symbol and pushes at most two candidates, so encoding takes
// O(n log n) for a word of any length.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/Bpe.h"

#include "runtime/tokenizer/BpeVerifier.h"
#include "runtime/tokenizer/Pieces.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <string>

using namespace mtp;

namespace {

constexpr uint32_t kNoId = 0xFFFFFFFF;
constexpr uint32_t kNoSymbol = 0xFFFFFFFF;

/// Orders a heap by lowest rank, then by leftmost position.
struct ComesLater {
  bool operator()(const Bpe::Scratch::Candidate &a,
                  const Bpe::Scratch::Candidate &b) const {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  }
};

} // namespace

Result<Bpe> Bpe::create(const schema::Tokenizer &tables) {
  MTP_RETURN_IF_ERROR(verifyBpe(tables));
  Bpe bpe;
  bpe.tables = &tables;
  bpe.mergeBegin.assign(vocabSizeOf(tables) + 1, 0);
  if (tables.merges()) {
    for (const schema::Merge *merge : *tables.merges())
      ++bpe.mergeBegin[merge->left() + 1];
    for (size_t i = 1; i < bpe.mergeBegin.size(); ++i)
      bpe.mergeBegin[i] += bpe.mergeBegin[i - 1];
  }
  return bpe;
}

const schema::Merge *Bpe::findMerge(uint32_t left, uint32_t right) const {
  uint32_t first = mergeBegin[left], last = mergeBegin[left + 1];
  while (first < last) {
    uint32_t middle = first + (last - first) / 2;
    const schema::Merge *merge = tables->merges()->Get(middle);
    if (merge->right() == right)
      return merge;
    if (merge->right() < right)
      first = middle + 1;
    else
      last = middle;
  }
  return nullptr;
}

int32_t Bpe::findWholeWord(std::string_view word) const {
  const auto *words = tables->whole_words();
  if (!words)
    return -1;
  uint32_t first = 0, last = words->size();
  while (first < last) {
    uint32_t middle = first + (last - first) / 2;
    int order = pieceOf(*tables, words->Get(middle)).compare(word);
    if (order == 0)
      return static_cast<int32_t>(words->Get(middle));
    if (order < 0)
      first = middle + 1;
    else
      last = middle;
  }
  return -1;
}

uint32_t Bpe::findCharacter(uint32_t codePoint) const {
  const auto *characters = tables->characters();
  if (!characters)
    return kNoId;
  uint32_t first = 0, last = characters->size();
  while (first < last) {
    uint32_t middle = first + (last - first) / 2;
    const schema::Character *character = characters->Get(middle);
    if (character->code_point() == codePoint)
      return character->id();
    if (character->code_point() < codePoint)
      first = middle + 1;
    else
      last = middle;
  }
  return kNoId;
}

/// Sets the symbols of a word before the first merge.
Status Bpe::appendSymbols(std::string_view word, Scratch &scratch) const {
  bool isByteLevel = tables->kind() == schema::TokenizerKind::ByteLevelBpe;
  bool lastIsUnknown = false;
  scratch.symbols.clear();
  auto push = [&](uint32_t id) {
    scratch.symbols.push_back({id, 0, 0, false});
    lastIsUnknown = false;
  };
  for (size_t pos = 0; pos < word.size();) {
    size_t length = isByteLevel ? 1 : utf8Length(word, pos);
    uint32_t id = isByteLevel ? kNoId : findCharacter(decodeUtf8(word, pos));
    bool isKnown = id != kNoId;
    if (isKnown) {
      push(id);
    } else if (tables->byte_ids() && tables->byte_ids()->size() == 256) {
      isKnown = true;
      for (size_t i = 0; i < length; ++i)
        isKnown &= tables->byte_ids()->Get(
                       static_cast<uint8_t>(word[pos + i])) != kNoId;
      for (size_t i = 0; isKnown && i < length; ++i)
        push(tables->byte_ids()->Get(static_cast<uint8_t>(word[pos + i])));
    }
    if (!isKnown) {
      if (tables->unk_id() < 0)
        return invalidArgument(
            "expected text that the vocabulary covers, got byte " +
            std::to_string(static_cast<uint8_t>(word[pos])) +
            ", which has no id, and there is no unknown token");
      if (!(lastIsUnknown && tables->fuse_unk()))
        push(static_cast<uint32_t>(tables->unk_id()));
      lastIsUnknown = true;
    }
    pos += length;
  }
  return okStatus();
}

/// Pushes the merge, if any, of the symbol at `position` and its right
/// neighbour.
void Bpe::pushCandidate(uint32_t position, Scratch &scratch) const {
  const Scratch::Symbol &left = scratch.symbols[position];
  if (left.next == kNoSymbol)
    return;
  const schema::Merge *merge =
      findMerge(left.id, scratch.symbols[left.next].id);
  if (!merge)
    return;
  scratch.heap.push_back({merge->rank(), position, merge->result()});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), ComesLater());
}

void Bpe::mergeSymbols(Scratch &scratch) const {
  std::vector<Scratch::Symbol> &symbols = scratch.symbols;
  auto count = static_cast<uint32_t>(symbols.size());
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? kNoSymbol : i - 1;
    symbols[i].next = i + 1 == count ? kNoSymbol : i + 1;
  }
  scratch.heap.clear();
  for (uint32_t i = 0; i < count; ++i)
    pushCandidate(i, scratch);

  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), ComesLater());
    Scratch::Candidate best = scratch.heap.back();
    scratch.heap.pop_back();

    Scratch::Symbol &left = symbols[best.position];
    if (left.isMerged || left.next == kNoSymbol)
      continue;
    Scratch::Symbol &right = symbols[left.next];
    const schema::Merge *merge = findMerge(left.id, right.id);
    if (!merge || merge->result() != best.result)
      continue;

    left.id = merge->result();
    left.next = right.next;
    right.isMerged = true;
    if (left.next != kNoSymbol)
      symbols[left.next].previous = best.position;
    if (left.previous != kNoSymbol)
      pushCandidate(left.previous, scratch);
    pushCandidate(best.position, scratch);
  }
}

Status Bpe::encode(std::string_view word, Scratch &scratch,
                   std::vector<int32_t> &ids) const {
  if (int32_t id = findWholeWord(word); id >= 0) {
    ids.push_back(id);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(appendSymbols(word, scratch));
  mergeSymbols(scratch);
  for (const Scratch::Symbol &symbol : scratch.symbols)
    if (!symbol.isMerged)
      ids.push_back(static_cast<int32_t>(symbol.id));
  return okStatus();
}
