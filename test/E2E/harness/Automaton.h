//===- Automaton.h - A constraint of few states -----------------*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_AUTOMATON_H
#define MTP_TEST_E2E_HARNESS_AUTOMATON_H

#include "mtp/constraint.h"
#include "mtp/status.h"

#include <algorithm>

namespace mtp::test {

/// The place of a text in an Automaton. In each of 7 states 4 of 7 tokens are
/// allowed, and each token leads to another state.
class AutomatonMatcher : public ConstraintMatcher {
public:
  static constexpr int32_t kStates = 7;

  AutomatonMatcher(uint32_t vocab, int32_t state)
      : vocab(vocab), state(state) {}

  static bool allows(int32_t state, int32_t token) {
    return token >= 0 && (token * 3 + state) % kStates < 4;
  }
  static int32_t after(int32_t state, int32_t token) {
    return (state + token) % kStates;
  }

  Status accept(int32_t token) override {
    if (!allows(state, token))
      return Status(StatusCode::InvalidArgument, "a token is not allowed");
    state = after(state, token);
    return Status();
  }
  Result<size_t> maskPath(std::span<const int32_t> drafts,
                          std::span<uint32_t> words) const override {
    size_t width = (vocab + 31) / 32;
    int32_t at = state;
    for (size_t row = 0;; ++row) {
      std::span<uint32_t> mask = words.subspan(row * width, width);
      std::ranges::fill(mask, 0);
      for (uint32_t token = 0; token < vocab; ++token)
        if (allows(at, int32_t(token)))
          mask[token / 32] |= 1u << token % 32;
      if (row == drafts.size() || !allows(at, drafts[row]))
        return row + 1;
      at = after(at, drafts[row]);
    }
  }

private:
  uint32_t vocab;
  int32_t state;
};

class Automaton : public TokenConstraint {
public:
  Automaton(uint32_t tokens, int32_t first) : tokens(tokens), first(first) {}

  uint32_t vocab() const override { return tokens; }
  std::unique_ptr<ConstraintMatcher> begin() const override {
    return std::make_unique<AutomatonMatcher>(tokens, first);
  }

private:
  uint32_t tokens;
  int32_t first;
};

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_AUTOMATON_H
