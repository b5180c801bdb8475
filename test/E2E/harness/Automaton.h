//===- Automaton.h - A constraint of few states -----------------*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_AUTOMATON_H
#define MTP_TEST_E2E_HARNESS_AUTOMATON_H

#include "mtp/constraint.h"
#include "mtp/status.h"

#include <algorithm>

namespace mtp::test {

/// The texts of an Automaton.
struct AutomatonTexts {
  uint32_t vocab = 0;
  int32_t first = 0;
  /// Each text ends with `end` after this number of tokens; 0: without end.
  size_t length = 0;
  int32_t end = 0;
  /// Whether each place allows one token only.
  bool isForced = false;
};

/// The place of a text in an Automaton. In each of 7 states 4 of 7 tokens are
/// allowed, but in state 3 only one token. Each token leads to another state.
class AutomatonMatcher : public ConstraintMatcher {
public:
  static constexpr int32_t kStates = 7;

  explicit AutomatonMatcher(const AutomatonTexts &texts)
      : texts(texts), state(texts.first) {}

  Status accept(int32_t token) override {
    if (!allows(token))
      return Status(StatusCode::InvalidArgument, "a token is not allowed");
    state = (state + token) % kStates;
    ++count;
    return Status();
  }
  Status mask(std::span<uint32_t> words) override {
    std::ranges::fill(words, 0);
    for (uint32_t token = 0; token < texts.vocab; ++token)
      if (allows(int32_t(token)))
        words[token / 32] |= 1u << token % 32;
    return Status();
  }
  std::unique_ptr<ConstraintMatcher> fork() const override {
    return std::make_unique<AutomatonMatcher>(*this);
  }

private:
  bool allows(int32_t token) const {
    if (texts.length > 0 && count >= texts.length)
      return token == texts.end;
    if (texts.isForced || state == 3)
      return token == int32_t((count * 5 + 11) % texts.vocab);
    return token >= 0 && (token * 3 + state) % kStates < 4 &&
           (texts.length == 0 || token != texts.end);
  }

  AutomatonTexts texts;
  int32_t state;
  size_t count = 0;
};

class Automaton : public TokenConstraint {
public:
  explicit Automaton(const AutomatonTexts &texts) : texts(texts) {}
  Automaton(uint32_t vocab, int32_t first) : texts{vocab, first} {}

  uint32_t vocab() const override { return texts.vocab; }
  std::unique_ptr<ConstraintMatcher> begin() const override {
    return std::make_unique<AutomatonMatcher>(texts);
  }

private:
  AutomatonTexts texts;
};

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_AUTOMATON_H
