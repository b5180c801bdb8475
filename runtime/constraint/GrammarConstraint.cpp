//===- GrammarConstraint.cpp - Grammars as constraints --------------------===//

#include "runtime/constraint/GrammarConstraint.h"
#include "runtime/grammar/matcher/Matcher.h"

using namespace mtp;

namespace {
/// Data that all matchers of a constraint share.
struct GrammarTexts {
  std::shared_ptr<grammar::TokenGrammar> tokens;
  /// Null: unknown.
  const Tokenizer *tokenizer = nullptr;
};

class GrammarMatcher : public ConstraintMatcher {
public:
  GrammarMatcher(const GrammarTexts &texts, grammar::Matcher matcher)
      : texts(texts), matcher(std::move(matcher)) {}

  Status accept(int32_t token) override { return matcher.accept(token); }
  Status mask(std::span<uint32_t> words) override {
    return matcher.mask(words);
  }
  std::unique_ptr<ConstraintMatcher> fork() const override {
    return std::make_unique<GrammarMatcher>(texts, matcher.fork());
  }
  std::vector<int32_t> forced(size_t most) override;

private:
  std::string textOf(std::span<const int32_t> ids) const;

  GrammarTexts texts;
  grammar::Matcher matcher;
};
} // namespace

/// Returns the bytes of tokens; end tokens have none.
std::string GrammarMatcher::textOf(std::span<const int32_t> ids) const {
  const grammar::Vocabulary &vocabulary = texts.tokens->vocabulary();
  std::string text;
  for (int32_t id : ids)
    if (id >= 0 && size_t(id) < vocabulary.size())
      text += vocabulary.piece(uint32_t(id));
  return text;
}

std::vector<int32_t> GrammarMatcher::forced(size_t most) {
  // One more token, which later bytes might join.
  std::vector<int32_t> longest = matcher.forcedTokens(most + 1);
  if (texts.tokenizer && !longest.empty()) {
    std::string text = textOf(longest);
    // Special tokens that the grammar does not allow have no bytes: the split
    // is then dropped.
    EncodeOptions options{/*addSpecial=*/false, /*parseSpecial=*/true};
    Result<std::vector<int32_t>> split = texts.tokenizer->encode(text, options);
    if (split.isOk() && textOf(*split) == text)
      longest = std::move(*split);
  }
  longest.resize(std::min(longest.size(), most));
  return longest;
}

namespace {
class GrammarConstraint : public TokenConstraint {
public:
  explicit GrammarConstraint(GrammarTexts texts) : texts(std::move(texts)) {}

  uint32_t vocab() const override {
    return uint32_t(texts.tokens->vocabulary().size());
  }
  std::unique_ptr<ConstraintMatcher> begin() const override {
    return std::make_unique<GrammarMatcher>(texts,
                                            grammar::Matcher(texts.tokens));
  }

private:
  GrammarTexts texts;
};

/// The place after tokens that were not allowed.
class NoMatcher : public ConstraintMatcher {
  static Status error() {
    return invalidArgument("expected begun tokens that the grammar allows, got "
                           "tokens that it forbids");
  }

public:
  Status accept(int32_t) override { return error(); }
  Status mask(std::span<uint32_t>) override { return error(); }
  std::unique_ptr<ConstraintMatcher> fork() const override {
    return std::make_unique<NoMatcher>();
  }
};

class RestConstraint : public TokenConstraint {
public:
  RestConstraint(std::shared_ptr<const TokenConstraint> whole,
                 std::vector<int32_t> begun)
      : whole(std::move(whole)), begun(std::move(begun)) {}

  uint32_t vocab() const override { return whole->vocab(); }
  std::unique_ptr<ConstraintMatcher> begin() const override {
    std::unique_ptr<ConstraintMatcher> matcher = whole->begin();
    for (int32_t token : begun)
      if (!matcher->accept(token).isOk())
        return std::make_unique<NoMatcher>();
    return matcher;
  }

private:
  std::shared_ptr<const TokenConstraint> whole;
  std::vector<int32_t> begun;
};
} // namespace

Result<std::shared_ptr<const grammar::Vocabulary>>
mtp::grammarVocabulary(const Tokenizer &tokenizer, uint32_t vocab,
                       std::span<const int32_t> ends,
                       const std::function<bool(std::string_view)> &isMark) {
  std::vector<std::string_view> pieces(vocab);
  for (uint32_t token = 0; token < vocab; ++token) {
    bool isSpecial = tokenizer.isSpecial(int32_t(token));
    if (isSpecial && !isMark)
      continue;
    MTP_ASSIGN_OR_RETURN(std::string_view piece,
                         tokenizer.tokenToPiece(int32_t(token)));
    if (!isSpecial || isMark(piece))
      pieces[token] = piece;
  }
  return grammar::Vocabulary::create(pieces, ends);
}

std::shared_ptr<const TokenConstraint>
mtp::makeConstraint(std::shared_ptr<const grammar::Grammar> grammar,
                    std::shared_ptr<const grammar::Vocabulary> vocabulary,
                    const Tokenizer *tokenizer) {
  auto tokens = std::make_shared<grammar::TokenGrammar>(std::move(grammar),
                                                        std::move(vocabulary));
  return std::make_shared<GrammarConstraint>(
      GrammarTexts{std::move(tokens), tokenizer});
}

std::shared_ptr<const TokenConstraint>
mtp::continueConstraint(std::shared_ptr<const TokenConstraint> whole,
                        std::vector<int32_t> tokens) {
  return std::make_shared<RestConstraint>(std::move(whole), std::move(tokens));
}
