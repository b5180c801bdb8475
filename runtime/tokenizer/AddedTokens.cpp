//===- AddedTokens.cpp - Tokens found before encoding ---------------------===//

#include "runtime/tokenizer/AddedTokens.h"

#include "runtime/tokenizer/CharClass.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;

namespace {

constexpr size_t kMaxContentBytes = 1024;

/// Returns the character before `pos`, which is not 0.
uint32_t characterBefore(std::string_view text, size_t pos) {
  do {
    --pos;
  } while ((static_cast<uint8_t>(text[pos]) & 0xC0) == 0x80);
  return decodeUtf8(text, pos);
}

bool isInsideWord(std::string_view text, TextSpan match) {
  bool wordBefore =
      match.begin > 0 && isWordCharacter(characterBefore(text, match.begin));
  bool wordAfter =
      match.end < text.size() && isWordCharacter(decodeUtf8(text, match.end));
  return wordBefore || wordAfter;
}

size_t skipSpaceBackward(std::string_view text, size_t pos, size_t limit) {
  while (pos > limit) {
    uint32_t character = characterBefore(text, pos);
    if (!isWhiteSpace(character))
      break;
    do {
      --pos;
    } while ((static_cast<uint8_t>(text[pos]) & 0xC0) == 0x80);
  }
  return pos;
}

size_t skipSpaceForward(std::string_view text, size_t pos) {
  while (pos < text.size() && isWhiteSpace(decodeUtf8(text, pos)))
    pos += utf8Length(text, pos);
  return pos;
}

} // namespace

Result<AddedTokens> AddedTokens::create(std::vector<AddedToken> tokens) {
  AddedTokens result;
  for (const AddedToken &token : tokens) {
    if (token.content.empty() || token.content.size() > kMaxContentBytes ||
        !isValidUtf8(token.content))
      return invalidArgument(
          "expected 1 to " + std::to_string(kMaxContentBytes) +
          " bytes of UTF-8 as content of token " + std::to_string(token.id));
    result.mayStart[static_cast<uint8_t>(token.content[0])] = true;
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken &a, const AddedToken &b) {
              return a.content < b.content;
            });
  for (size_t i = 1; i < tokens.size(); ++i)
    if (tokens[i - 1].content == tokens[i].content)
      return invalidArgument("expected distinct contents, got '" +
                             tokens[i].content + "' twice");
  result.sorted = std::move(tokens);
  return result;
}

/// Returns the longest token at the start of `text`, or null. The tokens that
/// agree with the first n bytes are a range of the sorted tokens, which shrinks
/// with n.
const AddedToken *AddedTokens::longestAt(std::string_view text) const {
  const AddedToken *longest = nullptr;
  auto first = sorted.begin(), last = sorted.end();
  for (size_t n = 0; n < text.size() && first != last; ++n) {
    auto byteOf = [n](const AddedToken &token) {
      return static_cast<uint8_t>(token.content[n]);
    };
    auto byte = static_cast<uint8_t>(text[n]);
    first = std::partition_point(first, last, [&](const AddedToken &token) {
      return byteOf(token) < byte;
    });
    last = std::partition_point(first, last, [&](const AddedToken &token) {
      return byteOf(token) == byte;
    });
    // A token of n + 1 bytes is the first of its range and must leave it.
    if (first != last && first->content.size() == n + 1)
      longest = &*first++;
  }
  return longest;
}

std::vector<TextSegment> AddedTokens::split(std::string_view text,
                                            bool parseSpecial,
                                            std::span<const size_t> literals,
                                            size_t offset) const {
  std::vector<TextSegment> segments;
  size_t textBegin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const AddedToken *token = mayStart[static_cast<uint8_t>(text[pos])]
                                  ? longestAt(text.substr(pos))
                                  : nullptr;
    if (!token) {
      ++pos;
      continue;
    }
    TextSpan match{pos, pos + token->content.size()};
    pos = match.end;
    bool isText =
        !parseSpecial || std::binary_search(literals.begin(), literals.end(),
                                            offset + match.begin);
    if ((token->special && isText) ||
        (token->singleWord && isInsideWord(text, match)))
      continue;
    if (token->lstrip)
      match.begin =
          std::max(skipSpaceBackward(text, match.begin, textBegin), textBegin);
    if (token->rstrip)
      match.end = skipSpaceForward(text, match.end);
    if (textBegin < match.begin)
      segments.push_back({{textBegin, match.begin}, TextSegment::kText});
    if (match.begin < match.end)
      segments.push_back({match, token->id});
    // White space that a token includes may contain other tokens. The next text
    // begins after the last of them.
    textBegin = match.end;
  }
  if (textBegin < text.size())
    segments.push_back({{textBegin, text.size()}, TextSegment::kText});
  return segments;
}
