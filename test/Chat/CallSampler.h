//===- CallSampler.h - Random texts of grammars -----------------*- C++ -*-===//

#ifndef MTP_TEST_CHAT_CALLSAMPLER_H
#define MTP_TEST_CHAT_CALLSAMPLER_H

#include "runtime/grammar/mask/Vocabulary.h"
#include "runtime/grammar/matcher/Matcher.h"

#include <optional>
#include <random>
#include <string>

namespace mtp::test {

/// A grammar over single bytes.
class CallSampler {
public:
  explicit CallSampler(std::shared_ptr<const grammar::Grammar> grammar)
      : tokens(std::make_shared<grammar::TokenGrammar>(std::move(grammar),
                                                       vocabulary())) {}

  /// Returns whether the grammar has a text.
  bool accepts(std::string_view text) const {
    grammar::Matcher matcher(tokens);
    return matcher.tryAcceptBytes(text) && matcher.isTerminated();
  }
  /// Returns the size of the longest beginning that is a text of the grammar.
  size_t longest(std::string_view text) const {
    grammar::Matcher matcher(tokens);
    size_t size = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (!matcher.tryAcceptBytes(text.substr(i, 1)))
        break;
      if (matcher.isTerminated())
        size = i + 1;
    }
    return size;
  }
  /// Returns whether a text of the grammar begins so.
  bool begins(std::string_view text) const {
    return grammar::Matcher(tokens).tryAcceptBytes(text);
  }

  /// Returns a random text, or nothing if it did not end after `most` bytes.
  /// Half of the bytes are bytes that tend to end something.
  std::optional<std::string> sample(uint64_t seed, size_t most = 4000) const {
    std::mt19937_64 random(seed);
    grammar::Matcher matcher(tokens);
    std::vector<uint32_t> words(tokens->vocabulary().maskWords());
    std::string text;
    while (text.size() < most) {
      if (!matcher.mask(words).isOk())
        return std::nullopt;
      std::vector<int32_t> all, closing;
      for (int32_t token = 0; token <= kEnd; ++token) {
        if (!((words[size_t(token) / 32] >> (token % 32)) & 1))
          continue;
        all.push_back(token);
        if (token == kEnd ||
            std::string_view("\"}])></\n|").find(char(token)) !=
                std::string_view::npos)
          closing.push_back(token);
      }
      const auto &from = !closing.empty() && random() % 2 ? closing : all;
      if (from.empty())
        return std::nullopt;
      int32_t token = from[random() % from.size()];
      if (token == kEnd)
        return text;
      text += char(token);
      if (!matcher.tryAccept(token))
        return std::nullopt;
    }
    return std::nullopt;
  }

private:
  static constexpr int32_t kEnd = 256;

  static std::shared_ptr<const grammar::Vocabulary> vocabulary() {
    static const std::string bytes = [] {
      std::string all;
      for (int byte = 0; byte < 256; ++byte)
        all += char(byte);
      return all;
    }();
    std::vector<std::string_view> pieces;
    for (size_t byte = 0; byte < 256; ++byte)
      pieces.push_back(std::string_view(bytes).substr(byte, 1));
    pieces.push_back("");
    return *grammar::Vocabulary::create(pieces, std::vector<int32_t>{kEnd});
  }

  std::shared_ptr<grammar::TokenGrammar> tokens;
};

} // namespace mtp::test

#endif // MTP_TEST_CHAT_CALLSAMPLER_H
