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

  Outcome run(const SessionOptions &options,
              const std::vector<Request> &requests,
              LogitsMode logits = LogitsMode::All) const;
};

/// Runs requests, one of which arrives each third step.
inline Outcome Mixed::run(const SessionOptions &given,
                          const std::vector<Request> &requests,
                          LogitsMode logits) const {
  Outcome outcome;
  SessionOptions options = given;
  options.logits = logits;
  auto opened = Session::create(model, options);
  EXPECT_TRUE(opened.isOk()) << opened.status().toString();
  if (!opened.isOk())
    return outcome;
  Session &session = **opened;
  std::vector<SequenceId> ids;
  for (size_t step = 0; !session.idle() || ids.size() < requests.size();
       ++step) {
    if (step % 3 == 0 && ids.size() < requests.size())
      ids.push_back(*session.add(requests[ids.size()]));
    auto updates = session.step();
    EXPECT_TRUE(updates.isOk()) << updates.status().toString();
    if (!updates.isOk())
      return outcome;
    for (const SequenceUpdate &update : *updates)
      EXPECT_TRUE(update.error.isOk()) << update.error.toString();
    EXPECT_TRUE(session.checkInvariants().isOk());
  }
  for (SequenceId id : ids) {
    Generated result;
    auto tokens = *session.output(id);
    result.tokens.assign(tokens.begin(), tokens.end());
    for (size_t i = 0; logits == LogitsMode::All && i < tokens.size(); ++i) {
      auto row = *session.logits(id, i);
      result.logits.insert(result.logits.end(), row.begin(), row.end());
    }
    outcome.sequences.push_back(std::move(result));
  }
  outcome.statistics = session.statistics();
  return outcome;
}

/// Compares with `expected`, the outcome of a session that differs only in
/// `mixed`.
inline void expectLikeApart(const Outcome &outcome, const Outcome &expected,
                            const SessionOptions &mixed) {
  expectSame(outcome, expected, mixed);
  // Drafters have read the prompts as in separate passes.
  EXPECT_EQ(outcome.statistics.accepted, expected.statistics.accepted);
  EXPECT_EQ(expected.statistics.besideTokens, 0u);
  EXPECT_EQ(outcome.statistics.prefillTokens,
            expected.statistics.prefillTokens);
}

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_MIXEDTEST_H
