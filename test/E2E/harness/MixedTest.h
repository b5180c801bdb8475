//===- MixedTest.h - Tests of prompts in rounds -----------------*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_MIXEDTEST_H
#define MTP_TEST_E2E_HARNESS_MIXEDTEST_H

#include "OnDevice.h"

namespace mtp::test {

class Mixed : public OnDeviceTest {
protected:
  bool isSimulated() const { return GetParam().device == DeviceKind::Cuda; }

  /// Returns prompts that are shorter and longer than the prompt rows of a
  /// round, one with the beginning of another, and one that ends at the rows'
  /// end. The simulator takes 100 ms for a round, so it runs fewer tokens.
  std::vector<Request> requests(float temperature) const {
    std::vector<Request> all;
    std::vector<uint32_t> lengths = {5, 41, 1, 41, 24, 30};
    if (isSimulated())
      lengths.resize(4);
    for (uint32_t length : lengths) {
      Request request;
      uint32_t index = uint32_t(all.size());
      uint32_t text = length == 41 ? 21 : index + 20;
      for (uint32_t i = 0; i < length; ++i)
        request.prompt.push_back(textToken(text, i, envelope.vocab));
      if (index == 3)
        request.prompt.back() = (request.prompt.back() + 1) % 100;
      request.maxTokens = isSimulated() ? 13 - 2 * index : 24 - 3 * index;
      request.ignoreEos = true;
      request.sampling = {temperature, 20, 0.9f, 0.02f, 7 + index};
      all.push_back(request);
    }
    return all;
  }

  /// Runs requests, one of which arrives each third step.
  Outcome run(const SessionOptions &options,
              const std::vector<Request> &requests,
              LogitsMode logits = LogitsMode::All) const {
    return generate(model, options, requests, logits, /*stepsApart=*/3);
  }
};

/// Compares with `expected`, the outcome of a session that differs only in
/// `mixed`.
inline void expectLikeApart(const Outcome &outcome, const Outcome &expected,
                            const SessionOptions &mixed) {
  expectSame(outcome, expected, mixed);
  // Drafters have read the prompts as in separate passes.
  EXPECT_EQ(outcome.statistics.accepted, expected.statistics.accepted);
  EXPECT_EQ(expected.statistics.mixedTokens, 0u);
  EXPECT_EQ(outcome.statistics.prefillTokens,
            expected.statistics.prefillTokens);
}

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_MIXEDTEST_H
