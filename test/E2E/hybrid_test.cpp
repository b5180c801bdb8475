//===- hybrid_test.cpp - Recurrent states that no page holds --------------===//
//
// What a recurrent layer carries has one place in the text. These tests are of
// what only such a model can get wrong; that k, batch, chunks, threads and
// preemption change no bit is lossless_test's, gpu_test's and mixed_test's.
//
//===----------------------------------------------------------------------===//

#include "OnDevice.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::test;

namespace {

class Hybrid : public OnDeviceTest {
protected:
  bool isCpu() const { return GetParam().device == DeviceKind::Cpu; }

  Request request(uint32_t text, uint32_t prompt, uint32_t tokens,
                  float temperature = 0.8f) const {
    Request request;
    for (uint32_t i = 0; i < prompt; ++i)
      request.prompt.push_back(textToken(text + 51, i, envelope.vocab));
    request.maxTokens = tokens;
    request.ignoreEos = true;
    request.sampling = {temperature, 20, 0.9f, 0.02f, 5 + text};
    return request;
  }
};

using HybridMemory = Hybrid;

} // namespace

/// The largest difference between rows of logits.
static float distance(const std::vector<float> &a,
                      const std::vector<float> &b) {
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// The attention of this model sees 32 positions: what the first token still
// changes a thousand further on has gone through the recurrent states, chunk by
// chunk. Gates that forget would hide a broken state from all other tests.
TEST_P(HybridMemory, TheFirstTokenIsStillThere) {
  Request one = request(0, 1024, 12, /*temperature=*/0);
  Request other = one;
  other.prompt[0] = (one.prompt[0] + 1) % 90;
  SessionOptions options = single(/*k=*/0, /*slots=*/1);
  Outcome expected = generate(model, options, {one, other});
  size_t vocab = envelope.vocab;
  for (Generated &each : expected.sequences)
    ASSERT_EQ(each.logits.size(), 12 * vocab);
  auto firstRow = [&](const Generated &of) {
    return std::vector<float>(of.logits.begin(),
                              of.logits.begin() + long(vocab));
  };
  EXPECT_GT(distance(firstRow(expected.sequences[0]),
                     firstRow(expected.sequences[1])),
            1e-3f);
  // And it is the same however the text is cut.
  for (uint32_t chunk : {7u, 32u})
    for (uint32_t k : {1u, envelope.maxK}) {
      options.k = k;
      options.prefillChunk = chunk;
      options.maxSlots = 2;
      expectSame(generate(model, options, {one, other}), expected, options);
    }
}

// Drafts of every number are accepted and rejected, so that rounds fold every
// number of rows.
TEST_P(Hybrid, FoldsWhatStays) {
  std::vector<Request> all;
  for (uint32_t i = 0; i < 4; ++i)
    all.push_back(request(i, 3 + 9 * i, isCpu() ? 60 : 16, i % 2 ? 0.9f : 0));
  SessionOptions options = single(/*k=*/0, /*slots=*/1);
  Outcome expected = generate(model, options, all);
  options = single(envelope.maxK, envelope.maxBatch);
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  for (uint32_t draft = 0; draft < (isCpu() ? envelope.maxK : 2); ++draft) {
    EXPECT_GT(run.statistics.accepted[draft], 0u) << draft;
    EXPECT_GT(run.statistics.drafted[draft], run.statistics.accepted[draft])
        << draft;
  }
}

// A slot that another sequence had begins from nothing, and so does one that
// was preempted: nothing is shared, whatever the session asks for.
TEST_P(Hybrid, SlotsBeginFromNothing) {
  std::vector<Request> all;
  for (uint32_t i = 0; i < 5; ++i)
    all.push_back(request(/*text=*/i / 2, 33, isCpu() ? 40 : 18));
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  SessionOptions options = single(envelope.maxK, /*slots=*/2);
  options.prefixCache = true;
  // Two at a time of as many pages as one of them needs in the end, and one.
  uint32_t pages =
      uint32_t(33 + all[0].maxTokens + envelope.maxK) / envelope.pageTokens + 1;
  options.kvPages = 1 + pages + 1;
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  EXPECT_GT(run.statistics.preemptions, 0u);
  EXPECT_EQ(run.statistics.cachedTokens, 0u);
}

// Sequences come, are cancelled in their prompts and in their rounds, and their
// slots are others' at once.
TEST_P(Hybrid, CancelledSequencesLeaveNothing) {
  uint32_t tokens = isCpu() ? 24 : 8;
  std::vector<Request> all;
  for (uint32_t i = 0; i < 9; ++i)
    all.push_back(request(i, 1 + 13 * (i % 4), tokens));
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  options.prefillChunk = 9;
  options.roundsPerLaunch = 1;
  auto opened = Session::create(model, options);
  ASSERT_TRUE(opened.isOk()) << opened.status().toString();
  Session &session = **opened;
  std::vector<SequenceId> ids;
  size_t cancelled = 0;
  for (size_t step = 0; !session.idle() || ids.size() < all.size(); ++step) {
    if (ids.size() < all.size())
      ids.push_back(*session.add(all[ids.size()]));
    // Of every three the middle one goes, a step or two after it came.
    size_t last = ids.size() - 1;
    if (step < all.size() + 2 && last % 3 == 2 && step % 2 == 0)
      cancelled += session.cancel(ids[last - 1]).isOk();
    auto updates = session.step();
    ASSERT_TRUE(updates.isOk()) << updates.status().toString();
    ASSERT_TRUE(session.checkInvariants().isOk());
  }
  EXPECT_GT(cancelled, 0u);
  for (size_t i = 0; i < all.size(); ++i) {
    auto output = session.output(ids[i]);
    ASSERT_TRUE(output.isOk());
    const std::vector<int32_t> &whole = expected.sequences[i].tokens;
    ASSERT_LE(output->size(), whole.size());
    EXPECT_TRUE(std::equal(output->begin(), output->end(), whole.begin())) << i;
    if (i % 3 != 1)
      EXPECT_EQ(output->size(), whole.size()) << i;
  }
}

static constexpr DeviceKind kCpu = DeviceKind::Cpu;

INSTANTIATE_TEST_SUITE_P(Cpu, HybridMemory,
                         testing::Values(OnDevice{"hybrid", kCpu},
                                         OnDevice{"hybrid.int4", kCpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, Hybrid,
                         testing::Values(OnDevice{"hybrid", kCpu},
                                         OnDevice{"hybrid.int8", kCpu},
                                         OnDevice{"hybrid.mixed", kCpu}),
                         nameOf);
#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, Hybrid,
                         testing::Values(OnDevice{"hybrid", DeviceKind::Cuda},
                                         OnDevice{"hybrid.mixed",
                                                  DeviceKind::Cuda}),
                         nameOf);
#endif
