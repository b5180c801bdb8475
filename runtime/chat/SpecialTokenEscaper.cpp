//===- SpecialTokenEscaper.cpp - Escapes special tokens in requests -------===//

#include "runtime/chat/SpecialTokenEscaper.h"

#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <bitset>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// The first of Unicode's noncharacters. Text does not contain noncharacters,
/// and no function of a template changes them.
constexpr uint32_t kFirstMark = 0xFDD0;
constexpr size_t kMarks = 32;
using MarkSet = std::bitset<kMarks>;

void findMarks(std::string_view text, MarkSet &found) {
  // EF B7 90 to EF B7 AF.
  for (size_t at = text.find("\xEF\xB7"); at != text.npos;
       at = text.find("\xEF\xB7", at + 1)) {
    size_t index = decodeUtf8(text, at) - size_t(kFirstMark);
    if (index < kMarks)
      found.set(index);
  }
}

void findMarks(const Value &value, MarkSet &found) {
  if (value.isString())
    return findMarks(std::string_view(value.bytes()), found);
  if (value.is(Kind::List))
    for (const Value &item : value.items())
      findMarks(item, found);
  if (value.is(Kind::Dict))
    for (const auto &[key, item] : value.dict().entries) {
      findMarks(key, found);
      findMarks(item, found);
    }
}

} // namespace

SpecialTokenEscaper::SpecialTokenEscaper(std::vector<std::string_view> specials)
    : sorted(std::move(specials)) {
  std::sort(sorted.begin(), sorted.end());
}

/// Returns whether a special token begins here or `rest` is the beginning of
/// one. The tokens that agree with the first n bytes are a range, which shrinks
/// with n.
bool SpecialTokenEscaper::mayBeginSpecial(std::string_view rest) const {
  auto first = sorted.begin(), last = sorted.end();
  for (size_t n = 0; n < rest.size(); ++n) {
    auto byteOf = [n](std::string_view token) { return uint8_t(token[n]); };
    auto byte = uint8_t(rest[n]);
    first = std::partition_point(
        first, last, [&](auto token) { return byteOf(token) < byte; });
    last = std::partition_point(
        first, last, [&](auto token) { return byteOf(token) == byte; });
    if (first == last)
      return false;
    if (first->size() == n + 1)
      return true;
  }
  return true;
}

std::string SpecialTokenEscaper::markText(std::string_view text) const {
  std::string marked;
  for (size_t at = 0; at < text.size();) {
    size_t length = utf8Length(text, at);
    marked += text.substr(at, length);
    if (mayBeginSpecial(text.substr(at)))
      marked += markBytes;
    at += length;
  }
  return marked;
}

Result<Value> SpecialTokenEscaper::markItems(const Value &value) const {
  Items items;
  for (const Value &item : value.items()) {
    MTP_ASSIGN_OR_RETURN(Value marked, markValue(item));
    items.push_back(std::move(marked));
  }
  return makeList(std::move(items));
}

Result<Value> SpecialTokenEscaper::markDict(const Value &value) const {
  DictBuilder builder;
  for (const auto &[key, item] : value.dict().entries) {
    MTP_ASSIGN_OR_RETURN(Value markedKey, markValue(key));
    MTP_ASSIGN_OR_RETURN(Value marked, markValue(item));
    MTP_RETURN_IF_ERROR(builder.add(std::move(markedKey), std::move(marked)));
  }
  return std::move(builder).build();
}

Result<Value> SpecialTokenEscaper::markValue(const Value &value) const {
  if (value.isString())
    return makeText(markText(value.bytes()));
  if (value.is(Kind::List))
    return markItems(value);
  return value.is(Kind::Dict) ? markDict(value) : Result<Value>(value);
}

Result<Value> SpecialTokenEscaper::mark(const Value &value) {
  MarkSet taken;
  findMarks(value, taken);
  size_t index = 0;
  while (index < kMarks && taken[index])
    ++index;
  if (index == kMarks)
    return invalidArgument(
        "expected text without some of the noncharacters U+FDD0 to U+FDEF, got "
        "all of them");
  markBytes.clear();
  appendUtf8(markBytes, kFirstMark + uint32_t(index));
  return markValue(value);
}

ChatPrompt SpecialTokenEscaper::unmark(std::string_view text) const {
  ChatPrompt prompt;
  size_t begin = 0, at = 0;
  for (; at = text.find(markBytes, begin), at != text.npos;
       begin = at + markBytes.size()) {
    prompt.text += text.substr(begin, at - begin);
    size_t character = prompt.text.size();
    while (character > 0) {
      --character;
      if ((uint8_t(prompt.text[character]) & 0xC0) != 0x80)
        break;
    }
    if (prompt.literals.empty() || prompt.literals.back() < character)
      prompt.literals.push_back(character);
  }
  prompt.text += text.substr(begin);
  return prompt;
}
