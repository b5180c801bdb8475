//===- WriteScores.cpp - Log-probabilities as JSON ------------------------===//

#include "tools/mtp-serve/api/sampling/WriteScores.h"
#include "mtp/utf8.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace mtp;
using namespace mtp::serve;

/// Returns the shortest text that is read as the number.
static std::string textOf(float number) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, end.ptr);
}

/// Returns bytes as text, with U+FFFD for what is no UTF-8.
static std::string wellFormed(std::string_view bytes) {
  Utf8Assembler assembler;
  std::string text;
  assembler.append(bytes, text);
  assembler.finish(text);
  return text;
}

std::string_view ScoreWriter::piece(int32_t token) const {
  if (tokenizer)
    if (Result<std::string_view> bytes = tokenizer->tokenToPiece(token))
      return *bytes;
  return {};
}

std::string ScoreWriter::nameOf(int32_t token) const {
  if (asked.namesIds || !tokenizer)
    return strCat("token_id:", token);
  return wellFormed(piece(token));
}

std::string ScoreWriter::completionName(int32_t token) const {
  std::string name = nameOf(token);
  if (asked.namesIds || !tokenizer || name == piece(token))
    return name;
  constexpr char kDigits[] = "0123456789abcdef";
  name = "bytes:";
  for (char byte : piece(token)) {
    name += "\\x";
    name += kDigits[uint8_t(byte) >> 4];
    name += kDigits[uint8_t(byte) & 15];
  }
  return name;
}

void ScoreWriter::writeBytes(int32_t token) {
  json.key("bytes");
  if (!tokenizer)
    return json.null();
  std::vector<uint32_t> bytes;
  for (char byte : piece(token))
    bytes.push_back(uint8_t(byte));
  json.value(bytes);
}

void ScoreWriter::writeNumber(std::string_view name, float logprob) {
  constexpr float kLeast = -9999;
  json.key(name);
  json.raw(textOf(std::max(logprob, kLeast)));
}

//===----------------------------------------------------------------------===//
// Chats
//===----------------------------------------------------------------------===//

/// Writes members of an object.
void ScoreWriter::writeChatToken(const TokenLogprob &one) {
  json.field("token", nameOf(one.token));
  writeNumber("logprob", one.logprob);
  writeBytes(one.token);
}

void ScoreWriter::writeChat(const std::vector<TokenScore> &scores) {
  json.beginObject();
  json.key("content");
  json.beginArray();
  writeChatTokens(scores);
  json.endArray();
  json.endObject();
}

void ScoreWriter::writeChatTokens(const std::vector<TokenScore> &scores) {
  for (const TokenScore &score : scores) {
    json.beginObject();
    writeChatToken(score.numbers.own);
    json.key("top_logprobs");
    json.beginArray();
    for (const TokenLogprob &likely : score.numbers.likeliest) {
      json.beginObject();
      writeChatToken(likely);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
}

//===----------------------------------------------------------------------===//
// Completions
//===----------------------------------------------------------------------===//

/// Writes an object from names to numbers: the likeliest tokens, and the
/// token's own. The likelier of tokens with one name counts.
void ScoreWriter::writeTop(const TokenScore &score) {
  if (!score.isScored)
    return json.null();
  std::vector<TokenLogprob> all = score.numbers.likeliest;
  all.push_back(score.numbers.own);
  std::vector<std::string> names;
  json.beginObject();
  for (const TokenLogprob &one : all) {
    std::string name = completionName(one.token);
    if (std::ranges::count(names, name) > 0)
      continue;
    writeNumber(name, one.logprob);
    names.push_back(std::move(name));
  }
  json.endObject();
}

void ScoreWriter::writeCompletion(const std::vector<TokenScore> &scores) {
  std::vector<uint64_t> offsets;
  json.beginObject();
  json.key("tokens");
  json.beginArray();
  for (const TokenScore &score : scores) {
    json.value(completionName(score.numbers.own.token));
    offsets.push_back(score.offset);
  }
  json.endArray();
  json.key("token_logprobs");
  json.beginArray();
  for (const TokenScore &score : scores)
    if (score.isScored)
      json.raw(textOf(std::max(score.numbers.own.logprob, -9999.0f)));
    else
      json.null();
  json.endArray();
  json.key("top_logprobs");
  json.beginArray();
  for (const TokenScore &score : scores)
    writeTop(score);
  json.endArray();
  json.field("text_offset", offsets);
  json.endObject();
}

//===----------------------------------------------------------------------===//
// llama-server
//===----------------------------------------------------------------------===//

/// Writes members of an object.
void ScoreWriter::writeNativeToken(const TokenLogprob &one, bool isLikeliest) {
  json.field("id", one.token);
  json.field("token", nameOf(one.token));
  writeBytes(one.token);
  if (!asked.showsShares)
    return writeNumber("logprob", one.logprob);
  json.key("prob");
  if (isGreedy)
    json.raw(isLikeliest ? "1.0" : "0.0");
  else
    json.raw(textOf(std::exp(one.logprob)));
}

void ScoreWriter::writeNative(const std::vector<TokenScore> &scores) {
  json.beginArray();
  for (const TokenScore &score : scores) {
    json.beginObject();
    writeNativeToken(score.numbers.own, score.numbers.rank == 1);
    json.key(asked.showsShares ? "top_probs" : "top_logprobs");
    json.beginArray();
    for (const TokenLogprob &likely : score.numbers.likeliest) {
      bool isLikeliest = &likely == score.numbers.likeliest.data();
      // Only tokens that may be drawn have a share.
      if (asked.showsShares && isGreedy && !isLikeliest)
        break;
      json.beginObject();
      writeNativeToken(likely, isLikeliest);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
}

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

void ScoreWriter::writePrompt(const std::vector<TokenLogprobs> &scores) {
  json.beginArray();
  json.null();
  for (const TokenLogprobs &score : scores) {
    json.beginObject();
    uint32_t rank = 0;
    auto write = [&](const TokenLogprob &one, uint32_t place) {
      json.key(std::to_string(one.token));
      json.beginObject();
      writeNumber("logprob", one.logprob);
      json.field("rank", place);
      json.field("decoded_token", nameOf(one.token));
      json.endObject();
    };
    for (const TokenLogprob &likely : score.likeliest)
      write(likely, ++rank);
    if (score.rank > rank)
      write(score.own, score.rank);
    json.endObject();
  }
  json.endArray();
}
