//===- Vocabulary.cpp - The bytes of all tokens ---------------------------===//

#include "runtime/grammar/mask/Vocabulary.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/mask/TextSlice.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Lengths of slices. Bounded strings use the short ones.
constexpr uint32_t kSliceLengths[] = {kAnyLength, 32, 10};

void setBit(std::vector<uint32_t> &bits, uint32_t index) {
  bits[index / 32] |= 1u << (index % 32);
}

} // namespace

template <typename Visit>
void Vocabulary::follow(std::string_view text, Visit visit) const {
  auto nodes = allTokens.nodes();
  size_t begin = 0, end = nodes.size();
  for (char c : text) {
    size_t child = begin;
    while (child < end && nodes[child].byte != static_cast<uint8_t>(c))
      child = nodes[child].skip;
    if (child >= end)
      return;
    visit(nodes[child]);
    begin = child + 1;
    end = nodes[child].skip;
  }
}

Result<std::shared_ptr<const Vocabulary>>
Vocabulary::create(std::span<const std::string_view> pieces,
                   std::span<const int32_t> endTokens) {
  if (pieces.size() > kMaxTokens)
    return outOfRange(strCat("expected a vocabulary of at most ", kMaxTokens,
                             " tokens, got ", pieces.size()));
  std::shared_ptr<Vocabulary> made(new Vocabulary());
  made->pieces.assign(pieces.begin(), pieces.end());
  made->endBits.assign(made->maskWords(), 0);
  for (int32_t token : endTokens) {
    if (token < 0 || size_t(token) >= pieces.size())
      return outOfRange(
          strCat("expected end tokens below ", pieces.size(), ", got ", token));
    made->pieces[token].clear();
    setBit(made->endBits, static_cast<uint32_t>(token));
  }
  std::vector<TokenBytes> tokens;
  for (uint32_t id = 0; id < pieces.size(); ++id) {
    std::string_view bytes = made->pieces[id];
    if (bytes.size() > TokenTrie::kMaxDepth)
      return outOfRange(strCat("expected tokens of at most ",
                               TokenTrie::kMaxDepth, " bytes, got ",
                               bytes.size(), " in token ", id));
    if (!bytes.empty())
      tokens.push_back({bytes, id});
  }
  std::sort(tokens.begin(), tokens.end(), [](auto &a, auto &b) {
    return std::tie(a.bytes, a.id) < std::tie(b.bytes, b.id);
  });
  made->allTokens = TokenTrie(tokens, made->maskWords() * 32);
  for (uint32_t length : kSliceLengths)
    made->addSlice(tokens, length);
  return std::shared_ptr<const Vocabulary>(std::move(made));
}

void Vocabulary::addSlice(std::span<const TokenBytes> sorted, uint32_t length) {
  Slice slice;
  slice.length = length;
  slice.tokens.assign(maskWords(), 0);
  std::vector<TokenBytes> others;
  for (const TokenBytes &token : sorted) {
    auto plain = plainLength(token.bytes);
    if (plain && *plain <= length)
      setBit(slice.tokens, token.id);
    else
      others.push_back(token);
  }
  slice.others = TokenTrie(others, maskWords() * 32);
  allSlices.push_back(std::move(slice));
}

uint32_t Vocabulary::longestToken(std::string_view text) const {
  auto found = static_cast<uint32_t>(size());
  follow(text, [&](const TokenTrie::Node &node) {
    if (node.token != allTokens.noToken())
      found = node.token;
  });
  return found;
}

bool Vocabulary::couldBeLonger(std::string_view text) const {
  size_t depth = 0;
  bool hasChild = false;
  follow(text, [&](const TokenTrie::Node &node) {
    depth = node.depth;
    hasChild = &node + 1 < allTokens.nodes().data() + node.skip;
  });
  return depth == text.size() && hasChild;
}
