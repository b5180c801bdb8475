//===- tokenizer_fuzz.cpp - Untrusted tokenizers and texts ----------------===//
//
// The first byte gives the kind of the rest:
//   'T'  tables in the runtime's form;
//   'J'  tokenizer.json;
//   'S'  tokenizer.model;
//   else a text for a small tokenizer, and its bytes as ids.
// A file that loads must encode and decode without a fault. An encoded text
// must decode.
//
//===----------------------------------------------------------------------===//

#include "compiler/Tokenizer/TokenizerTables.h"
#include "runtime/tokenizer/StreamDecoder.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace mtp;

namespace {

constexpr std::string_view kText =
    "Hello  world<|end|> 42 caf\xC3\xA9 \xE2\x96\x81 a\xCC\x81 \xF0\x9F\x99\x82"
    "\r\n\tit's aaaaaaaaaaaaaaaa";

void require(bool condition) {
  if (!condition)
    std::abort();
}

void exercise(const Tokenizer &tokenizer, std::string_view text) {
  for (bool flag : {false, true}) {
    auto ids = tokenizer.encode(text, {flag, flag});
    if (!ids.isOk())
      continue;
    auto decoded = tokenizer.decode(*ids, {flag, flag});
    require(decoded.isOk() && isValidUtf8(*decoded));
    StreamDecoder decoder(tokenizer, {flag, flag});
    std::string streamed;
    for (TokenId id : *ids) {
      auto part = decoder.append(id);
      require(part.isOk());
      streamed += *part;
    }
    streamed += decoder.finish();
    require(streamed == *decoded);
  }
}

void exerciseTables(std::string_view bytes) {
  // Exactly these bytes, aligned as by new.
  std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  auto tokenizer = Tokenizer::load({copy.get(), bytes.size()});
  if (tokenizer.isOk())
    exercise(**tokenizer, kText);
}

void exerciseBuilt(const Result<std::string> &tables) {
  if (tables.isOk())
    exerciseTables(*tables);
}

/// Returns a tokenizer of four bytes, without tokens for the others.
const Tokenizer &smallTokenizer() {
  static const std::string tables = [] {
    auto built = tablesFromGpt2(
        R"({"a": 0, "b": 1, "aa": 2, "ab": 3, "aaab": 4, "Ã": 5, "©": 6})",
        "a a\na b\naa ab\n");
    require(built.isOk());
    return *std::move(built);
  }();
  static const std::vector<uint64_t> storage = [] {
    std::vector<uint64_t> words((tables.size() + 7) / 8);
    std::memcpy(words.data(), tables.data(), tables.size());
    return words;
  }();
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    auto loaded = Tokenizer::load(
        {reinterpret_cast<const uint8_t *>(storage.data()), tables.size()});
    require(loaded.isOk());
    return *std::move(loaded);
  }();
  return *tokenizer;
}

void exerciseText(std::string_view text) {
  const Tokenizer &tokenizer = smallTokenizer();
  exercise(tokenizer, text);
  auto ids = tokenizer.encode(text);
  if (ids.isOk()) {
    auto decoded = tokenizer.decode(*ids);
    require(decoded.isOk() && *decoded == text);
  }

  StreamDecoder decoder(tokenizer);
  for (char byte : text) {
    auto part = decoder.append(static_cast<signed char>(byte) % 8);
    require(!part.isOk() || isValidUtf8(*part));
  }
  require(isValidUtf8(decoder.finish()));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
  case 'T':
    exerciseTables(rest);
    break;
  case 'J':
    exerciseBuilt(tablesFromHuggingFace(rest, ""));
    break;
  case 'S':
    exerciseBuilt(tablesFromSentencePiece(rest, ""));
    break;
  default:
    exerciseText(rest);
    break;
  }
  return 0;
}
