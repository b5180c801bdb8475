//===- pause_test.cpp - Sequences that are paused at any round ------------===//
//
// A sequence that is paused and resumed has the tokens and logits of an
// uninterrupted one. The tests pause it at each step, with rounds that follow
// each other on the device, mixed batches, short pages, and other sequences
// that use its pages in the meantime.
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"
#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::test;

namespace {

class Pause : public OnDeviceTest {
protected:
  bool isSimulated() const { return GetParam().device == DeviceKind::Cuda; }

  std::vector<Request> requests() const {
    std::vector<Request> all;
    for (uint32_t length : {7u, 29u, 3u}) {
      Request request;
      uint32_t index = uint32_t(all.size());
      for (uint32_t i = 0; i < length; ++i)
        request.prompt.push_back(textToken(index + 3, i, envelope.vocab));
      request.maxTokens = isSimulated() ? 9 : 26;
      request.ignoreEos = true;
      request.sampling = {index == 1 ? 0 : 0.8f, 20, 0.9f, 0.02f, 5 + index};
      all.push_back(request);
    }
    return all;
  }

  void pauseAtEach(const SessionOptions &options, LogitsMode logits,
                   int stride);
};

} // namespace

/// Pauses each sequence after each multiple of `stride` steps, runs the others
/// to their ends, and resumes it. Compares with a session without pauses. The
/// simulator takes 100 ms for a round, so it pauses only one sequence.
void Pause::pauseAtEach(const SessionOptions &given, LogitsMode logits,
                        int stride) {
  SessionOptions options = given;
  options.logits = logits;
  std::vector<Request> all = requests();
  Outcome expected = generate(model, single(options.k, options.maxSlots), all);
  size_t most = 0;
  for (size_t which = isSimulated() ? 2 : 0; which < all.size(); ++which)
    for (int steps = 0;; steps += stride) {
      auto session = *Session::create(model, options);
      std::vector<SequenceId> ids;
      for (const Request &request : all)
        ids.push_back(*session->add(request));
      for (int i = 0; i < steps; ++i)
        ASSERT_TRUE(session->step().isOk());
      if (*session->state(ids[which]) == SequenceState::Finished)
        break;
      most = std::max(most, session->output(ids[which])->size());
      ASSERT_TRUE(session->pause(ids[which]).isOk());
      for (int turn = 0; turn < 2; ++turn) {
        finishLike(*session, {}, {},
                   strCat(which, " after ", steps, ", k ", options.k));
        EXPECT_EQ(session->kvUsage().heldPages, 0u);
        ASSERT_TRUE(session->resume(ids[which]).isOk());
      }
      for (size_t i = 0; i < all.size(); ++i) {
        Generated found = collect(*session, ids[i]);
        EXPECT_EQ(found.tokens, expected.sequences[i].tokens)
            << i << ", paused " << which << " after " << steps;
        if (logits == LogitsMode::All)
          EXPECT_TRUE(bitEqual(found.logits, expected.sequences[i].logits));
      }
    }
  EXPECT_GT(most, 3u);
}

TEST_P(Pause, AtAnyRoundChangesNoBit) {
  for (uint32_t k : {0u, envelope.maxK}) {
    if (isSimulated() && k == 0)
      continue;
    SessionOptions options = single(k, envelope.maxBatch);
    options.prefixCache = k > 0;
    pauseAtEach(options, LogitsMode::All, isSimulated() ? 2 : 1);
  }
}

TEST_P(Pause, OfLaunchesAndShortPagesChangesNoToken) {
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  options.roundsPerLaunch = 2;
  // The longest sequence needs all pages except one.
  uint64_t longest = 29 + requests()[1].maxTokens + envelope.maxK;
  options.kvPages = uint32_t(longest / envelope.pageTokens + 3);
  options.prefixCache = true;
  pauseAtEach(options, LogitsMode::None, isSimulated() ? 3 : 2);
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, Pause,
    testing::Values(OnDevice{"dsv3-chain-mtp2.mixed", DeviceKind::Cpu},
                    OnDevice{"mimo-tree.mixed", DeviceKind::Cpu},
                    OnDevice{"llama-gqa.mixed", DeviceKind::Cpu}),
    nameOf);

#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, Pause,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.mixedsim",
                                                  DeviceKind::Cuda}),
                         nameOf);
#endif
