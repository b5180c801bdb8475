//===- KeptState.cpp - What outlives a sequence's slot --------------------===//

#include "runtime/exec/memory/KeptState.h"

#include <cstring>
#include <utility>

using namespace mtp;

/// Returns the hash of a request's inputs; zero if there are none.
static Hash128 hashInputs(const InputBytes &inputs) {
  Hash128 hash;
  for (auto &[state, bytes] : inputs) {
    // Elements have four bytes.
    std::vector<int32_t> words = {int32_t(state)};
    words.resize(1 + bytes.size() / sizeof(int32_t));
    std::memcpy(words.data() + 1, bytes.data(), bytes.size());
    hash = PrefixIndex::hashTokens(hash, words);
  }
  return hash;
}

/// Returns the bytes of a salt as words, preceded by their number; no words for
/// an empty salt.
static std::vector<int32_t> saltWords(const std::string &salt) {
  std::vector<int32_t> words;
  if (salt.empty())
    return words;
  words.resize(1 + (salt.size() + 3) / 4);
  words[0] = int32_t(salt.size());
  std::memcpy(words.data() + 1, salt.data(), salt.size());
  return words;
}

KeptState mtp::keptStateOf(InputBytes inputs, const std::string &salt) {
  KeptState kept;
  kept.salt = saltWords(salt);
  kept.inputHash = PrefixIndex::hashTokens(hashInputs(inputs), kept.salt);
  kept.inputs = std::move(inputs);
  return kept;
}
