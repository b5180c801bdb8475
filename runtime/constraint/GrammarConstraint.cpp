//===- GrammarConstraint.cpp - Grammars as constraints --------------------===//

#include "runtime/constraint/GrammarConstraint.h"
#include "runtime/grammar/matcher/Matcher.h"

using namespace mtp;

namespace {
class GrammarMatcher : public ConstraintMatcher {
public:
  explicit GrammarMatcher(std::shared_ptr<grammar::TokenGrammar> tokens)
      : matcher(std::move(tokens)) {}

  Status accept(int32_t token) override { return matcher.accept(token); }
  Result<size_t> maskPath(std::span<const int32_t> drafts,
                          std::span<uint32_t> words) const override {
    return matcher.maskPath(drafts, words);
  }

private:
  grammar::Matcher matcher;
};

class GrammarConstraint : public TokenConstraint {
public:
  explicit GrammarConstraint(std::shared_ptr<grammar::TokenGrammar> tokens)
      : tokens(std::move(tokens)) {}

  uint32_t vocab() const override {
    return uint32_t(tokens->vocabulary().size());
  }
  std::unique_ptr<ConstraintMatcher> begin() const override {
    return std::make_unique<GrammarMatcher>(tokens);
  }

private:
  std::shared_ptr<grammar::TokenGrammar> tokens;
};

/// The place after tokens that were not allowed.
class NoMatcher : public ConstraintMatcher {
public:
  Status accept(int32_t) override {
    return invalidArgument("expected begun tokens that the grammar allows");
  }
  Result<size_t> maskPath(std::span<const int32_t>,
                          std::span<uint32_t>) const override {
    return invalidArgument("expected begun tokens that the grammar allows");
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
                    std::shared_ptr<const grammar::Vocabulary> vocabulary) {
  return std::make_shared<GrammarConstraint>(
      std::make_shared<grammar::TokenGrammar>(std::move(grammar),
                                              std::move(vocabulary)));
}

std::shared_ptr<const TokenConstraint>
mtp::continueConstraint(std::shared_ptr<const TokenConstraint> whole,
                        std::vector<int32_t> tokens) {
  return std::make_shared<RestConstraint>(std::move(whole), std::move(tokens));
}
