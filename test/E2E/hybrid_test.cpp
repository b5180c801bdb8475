//===- hybrid_test.cpp - Recurrent states that no page holds --------------===//
//
// A recurrent state belongs to one position of the text. These tests cover
// errors that only such a model can have. lossless_test, gpu_test and
// mixed_test check that k, batch, chunks, threads and preemption change no bit.
//
//===----------------------------------------------------------------------===//

#include "harness/HybridTest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mtp;
using namespace mtp::test;

using HybridMemory = Hybrid;
using HybridPrefix = Hybrid;

/// Returns the largest difference between rows of logits.
static float distance(const std::vector<float> &a,
                      const std::vector<float> &b) {
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// The attention of this model sees 32 positions. So an effect of the first
// token a thousand positions later went through the recurrent states, chunk by
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
  // The result does not depend on the chunks.
  for (uint32_t chunk : {7u, 32u})
    for (uint32_t k : {1u, envelope.maxK}) {
      options.k = k;
      options.prefillChunk = chunk;
      options.maxSlots = 2;
      expectSame(generate(model, options, {one, other}), expected, options);
    }
}

// Each number of drafts is accepted and rejected, so that rounds fold each
// number of rows into the states.
TEST_P(Hybrid, FoldsWhatStays) {
  std::vector<Request> all;
  for (uint32_t i = 0; i < (isCpu() ? 4u : 2u); ++i)
    all.push_back(request(i, 3 + 9 * i, isCpu() ? 60 : 12, i % 2 ? 0.9f : 0));
  SessionOptions options = single(/*k=*/0, /*slots=*/1);
  Outcome expected = generate(model, options, all);
  options = single(envelope.maxK, envelope.maxBatch);
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  for (uint32_t draft = 0; draft < (isCpu() ? envelope.maxK : 1); ++draft) {
    EXPECT_GT(run.statistics.accepted[draft], 0u) << draft;
    EXPECT_GT(run.statistics.drafted[draft], run.statistics.accepted[draft])
        << draft;
  }
}

// A reused slot begins with a zero state, and so does a preempted sequence if
// the session has no memory for snapshots.
TEST_P(Hybrid, SlotsBeginFromNothing) {
  std::vector<Request> all;
  uint32_t prompt = isCpu() ? 33 : 14;
  for (uint32_t i = 0; i < (isCpu() ? 5u : 2u); ++i)
    all.push_back(request(/*text=*/i / 2, prompt, isCpu() ? 40 : 22));
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  SessionOptions options = single(envelope.maxK, /*slots=*/2);
  options.prefixCache = true;
  options.snapshotBytes = 0;
  // Two sequences at a time, with the pages that one of them needs in the end,
  // and a few more.
  uint32_t pages = uint32_t(prompt + all[0].maxTokens + envelope.maxK) /
                       envelope.pageTokens +
                   1;
  options.kvPages = 1 + pages + (isCpu() ? 1 : 2);
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  EXPECT_GT(run.statistics.preemptions, 0u);
  EXPECT_EQ(run.statistics.cachedTokens, 0u);
  EXPECT_EQ(run.statistics.snapshots, 0u);
}

// A prefix can be shared up to a snapshot. Snapshots are taken after each
// snapshotTokens tokens, and after the last whole page of a prompt.
TEST_P(HybridPrefix, PrefixesEndWithSnapshots) {
  uint32_t page = envelope.pageTokens, tokens = isCpu() ? 12 : 2;
  Request first = request(0, 6 * page + 5, tokens);
  // An equal prompt, one that differs after five pages, and one that differs
  // before the first snapshot.
  Request fork = first, early = first;
  fork.prompt[5 * page + 3] = (fork.prompt[5 * page + 3] + 1) % 90;
  early.prompt[page + 3] = (early.prompt[page + 3] + 1) % 90;
  std::vector<Request> all = {first, first, fork, early};
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  for (uint32_t k : {0u, envelope.maxK}) {
    if (!isCpu() && k == 0)
      continue;
    SessionOptions options = single(k, /*slots=*/1);
    options.prefixCache = true;
    options.snapshotTokens = 2 * page - 1; // rounded up
    Outcome run = generate(model, options, all);
    expectSame(run, expected, options);
    // Six pages, and four of the fork's five.
    EXPECT_EQ(run.statistics.cachedTokens, (6 + 4) * page);
    EXPECT_EQ(run.statistics.restoredSnapshots, 2u);
    // After 2, 4 and 6 pages; then after 6 of the fork's, and 2, 4 and 6; and
    // at the end of each of the four.
    EXPECT_EQ(run.statistics.snapshots, 3u + 1u + 3u + 4u);
    // The second sequence ended where the first did.
    EXPECT_EQ(run.statistics.droppedSnapshots, 1u);
    EXPECT_GE(run.statistics.snapshotBytes, 10 * bytesOfSnapshot());
  }
}

// Turns of a chat. Each resumes where the preceding one ended, up to the rows
// that its last round kept. A turn that was changed is found again, too.
TEST_P(HybridPrefix, TurnsGoOnFromTheOneBefore) {
  uint32_t page = envelope.pageTokens, tokens = isCpu() ? page + 4 : 2;
  std::vector<Request> all = {request(0, 6 * page + 5, tokens)};
  SessionOptions plain = single(/*k=*/0, /*slots=*/1);
  for (uint32_t turn = 1; turn < 3; ++turn) {
    Request next = all.back();
    const std::vector<int32_t> answer =
        generate(model, plain, {next}).sequences[0].tokens;
    next.prompt.insert(next.prompt.end(), answer.begin(), answer.end());
    for (uint32_t i = 0; next.prompt.size() % page != 5 || i < page; ++i)
      next.prompt.push_back(textToken(turn, i, envelope.vocab));
    all.push_back(next);
  }
  Request fork = all[0];
  fork.prompt[5 * page + 3] = (fork.prompt[5 * page + 3] + 1) % 90;
  all.push_back(fork);
  all.push_back(fork);
  Outcome expected = generate(model, plain, all);
  for (uint32_t k : {0u, envelope.maxK}) {
    if (!isCpu() && k == 0)
      continue;
    SessionOptions options = single(k, /*slots=*/1);
    options.prefixCache = true;
    options.snapshotTokens = 2 * page;
    Outcome run = generate(model, options, all);
    expectSame(run, expected, options);
    // The last round began with a token of the answer, at most k + 1 tokens
    // before its end. The fork shares four pages and then six.
    uint64_t most = (4 + 6) * page, least = most;
    for (uint32_t turn : {0, 1}) {
      uint64_t prompt = all[turn].prompt.size();
      most += prompt + tokens - 2;
      least += std::max(prompt, prompt + tokens - 2 - std::min(k, tokens - 2));
    }
    EXPECT_GE(run.statistics.cachedTokens, least) << k;
    EXPECT_LE(run.statistics.cachedTokens, most) << k;
    EXPECT_EQ(run.statistics.restoredSnapshots, 4u) << k;
    EXPECT_EQ(run.statistics.restoredPreemptions, 0u) << k;
  }
}

// An answer shorter than a page after a short prompt: no page is whole.
TEST_P(HybridPrefix, AShortTurnGoesOn) {
  SessionOptions options = single(envelope.maxK, /*slots=*/1);
  Request first = request(0, 5, 4);
  std::vector<int32_t> answer =
      generate(model, options, {first}).sequences[0].tokens;
  Request next = first;
  next.prompt.insert(next.prompt.end(), answer.begin(), answer.end());
  next.prompt.push_back(7);
  // Another text, which shares no prefix.
  Request other = next;
  other.prompt[0] = (other.prompt[0] + 1) % 90;
  Request salted = next;
  salted.cacheSalt = "other";
  std::vector<Request> all = {first, next, other, salted};
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  options.prefixCache = true;
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  EXPECT_EQ(run.statistics.restoredSnapshots, 1u);
  EXPECT_GE(run.statistics.cachedTokens, 5u);
  EXPECT_LE(run.statistics.cachedTokens, 7u);
}

// Rounds follow each other on the device. Each sequence of a launch leaves a
// snapshot for the next turn, although other sequences continue.
TEST_P(HybridPrefix, TurnsGoOnBehindLaunchesOfSeveralRounds) {
  uint32_t page = envelope.pageTokens;
  std::vector<Request> all = {request(0, page + 2, isCpu() ? 30 : 14),
                              request(1, page + 5, isCpu() ? 17 : 5)};
  SessionOptions plain = single(/*k=*/0, /*slots=*/1);
  Outcome first = generate(model, plain, all, LogitsMode::None);
  for (uint32_t i : {0, 1}) {
    Request next = all[i];
    const std::vector<int32_t> &answer = first.sequences[i].tokens;
    next.prompt.insert(next.prompt.end(), answer.begin(), answer.end());
    next.prompt.push_back(int32_t(3 + i));
    next.maxTokens = 4;
    all.push_back(next);
  }
  Outcome expected = generate(model, plain, all, LogitsMode::None);
  SessionOptions options = single(/*k=*/1, /*slots=*/2);
  options.prefixCache = true;
  options.roundsPerLaunch = 4;
  auto session = Session::create(model, options);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  for (uint32_t turn : {0, 2}) {
    std::vector<SequenceId> ids = {*(*session)->add(all[turn]),
                                   *(*session)->add(all[turn + 1])};
    finishLike(**session, ids,
               std::span<const Generated>(expected.sequences).subspan(turn),
               "turn " + std::to_string(turn));
  }
  EXPECT_EQ((*session)->statistics().restoredSnapshots, 2u);
}

/// Continues the answer of `id` to `first` with a new turn. The result must
/// equal a session that reads the whole text again. `id` becomes the new
/// sequence.
static void takeNextTurn(const std::shared_ptr<const Model> &model,
                         Session &session, const Request &first,
                         SequenceId &id) {
  Request next = first;
  std::span<const int32_t> answer = *session.output(id);
  next.prompt.insert(next.prompt.end(), answer.begin(), answer.end());
  next.prompt.push_back(9);
  next.maxTokens = 6;
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), {next});
  id = *session.add(next);
  finishLike(session, {id}, expected.sequences);
}

// The device would continue for a cancelled sequence. There is no round that no
// sequence needs, and the other sequence's snapshot exists.
TEST_P(HybridPrefix, TheLastOneLeavesACopyBesideACancelledOne) {
  uint32_t page = envelope.pageTokens;
  Request cancelled = request(1, page + 5, isCpu() ? 40 : 12);
  SessionOptions options = single(/*k=*/1, /*slots=*/2);
  options.prefixCache = true;
  options.roundsPerLaunch = 4;
  for (uint32_t tokens = 5; tokens < (isCpu() ? 12u : 6u); ++tokens) {
    Request first = request(0, page + 5, tokens);
    auto session = Session::create(model, options);
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    SequenceId id = *(*session)->add(first),
               other = *(*session)->add(cancelled);
    while ((*session)->output(id)->size() + 2 < tokens)
      ASSERT_TRUE((*session)->step().isOk());
    ASSERT_TRUE((*session)->cancel(other).isOk());
    while (!(*session)->idle())
      ASSERT_TRUE((*session)->step().isOk());
    takeNextTurn(model, **session, first, id);
    // A GPU may have begun another round before.
    if (isCpu())
      EXPECT_EQ((*session)->statistics().restoredSnapshots, 1u) << tokens;
  }
}

// A cancelled sequence's text can be continued in the next turn.
TEST_P(HybridPrefix, ACancelledTurnGoesOn) {
  uint32_t page = envelope.pageTokens;
  Request first = request(0, page + 5, 20);
  SessionOptions options = single(envelope.maxK, /*slots=*/1);
  options.prefixCache = true;
  options.roundsPerLaunch = 1;
  auto session = Session::create(model, options);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  SequenceId id = *(*session)->add(first);
  while ((*session)->output(id)->size() < 4)
    ASSERT_TRUE((*session)->step().isOk());
  ASSERT_TRUE((*session)->cancel(id).isOk());
  takeNextTurn(model, **session, first, id);
  EXPECT_EQ((*session)->statistics().restoredSnapshots, 1u);
  EXPECT_GE((*session)->statistics(id)->cachedTokens, page + 5);
}

// Memory for two snapshots. A snapshot at the end of a sequence includes a
// page's entries. The snapshots of the last prompt stay.
TEST_P(HybridPrefix, SnapshotsThatNobodyUsedGoFirst) {
  uint32_t page = envelope.pageTokens, tokens = isCpu() ? 4 : 1;
  std::vector<Request> all = {
      request(0, 2 * page + 1, tokens), request(1, 2 * page + 1, tokens),
      request(2, 2 * page + 1, tokens), request(2, 2 * page + 1, tokens),
      request(0, 2 * page + 1, tokens)};
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  SessionOptions options = single(envelope.maxK, /*slots=*/1);
  options.prefixCache = true;
  options.snapshotBytes = bytesOfSnapshot() * 5 / 2;
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  EXPECT_EQ(run.statistics.restoredSnapshots, 1u);
  EXPECT_GT(run.statistics.droppedSnapshots, 0u);
  EXPECT_LE(run.statistics.snapshotBytes, options.snapshotBytes);
  // Memory for less than one snapshot holds none.
  options.snapshotBytes = bytesOfSnapshot() - 1;
  run = generate(model, options, all);
  expectSame(run, expected, options);
  EXPECT_EQ(run.statistics.cachedTokens, 0u);
}

// A preempted sequence resumes at its state although its pages are gone. Only
// the tokens of its last round run again, whether prefixes are shared or not.
TEST_P(HybridPrefix, PreemptionKeepsTheState) {
  std::vector<Request> all;
  uint32_t prompt = isCpu() ? 33 : 14, promptTokens = 0;
  for (uint32_t i = 0; i < (isCpu() ? 5u : 2u); ++i) {
    all.push_back(request(/*text=*/i, prompt + i, isCpu() ? 40 : 22));
    promptTokens += prompt + i;
  }
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  uint32_t whole =
      uint32_t(prompt + all.size() + all[0].maxTokens + envelope.maxK) /
          envelope.pageTokens +
      1;
  for (uint32_t k : {0u, envelope.maxK})
    for (bool shares : {false, true}) {
      if (!isCpu() && (k == 0 || shares))
        continue;
      SessionOptions options = single(k, /*slots=*/2);
      options.prefixCache = shares;
      options.kvPages = 1 + whole + (isCpu() ? 1 : 2);
      Outcome run = generate(model, options, all);
      expectSame(run, expected, options);
      const Statistics &s = run.statistics;
      EXPECT_GT(s.preemptions, 0u) << describe(options);
      EXPECT_EQ(s.restoredPreemptions, s.preemptions) << describe(options);
      EXPECT_LE(s.prefillTokens, promptTokens + s.preemptions * (k + 1))
          << describe(options);
      // Snapshots of ended sequences have no owner.
      if (!shares)
        EXPECT_EQ(s.snapshotBytes, 0u) << describe(options);
    }
}

// With memory for all entries, and with less. Then the snapshot holds only the
// entries of the last page, and the prefix index has the others.
TEST_P(HybridPrefix, PausedSequencesGoOnWhereTheyStood) {
  uint32_t page = envelope.pageTokens;
  Request own = request(0, 2 * page + 3, isCpu() ? 40 : 12);
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), {own});
  for (uint32_t k : {0u, envelope.maxK})
    for (uint64_t percent : {400, 150, 100}) {
      if (!isCpu() && (k == 0 || percent != 150))
        continue;
      SessionOptions options = single(k, /*slots=*/1);
      options.prefixCache = true;
      options.roundsPerLaunch = 1;
      options.snapshotBytes = bytesOfSnapshot() * percent / 100;
      auto session = Session::create(model, options);
      ASSERT_TRUE(session.isOk()) << session.status().toString();
      SequenceId id = *(*session)->add(own);
      for (bool isPaused = false; !(*session)->idle();) {
        auto updates = (*session)->step();
        ASSERT_TRUE(updates.isOk()) << updates.status().toString();
        for (const SequenceUpdate &update : *updates)
          EXPECT_TRUE(update.error.isOk()) << update.error.toString();
        Status invariants = (*session)->checkInvariants();
        ASSERT_TRUE(invariants.isOk()) << invariants.toString();
        if (isPaused || (*session)->output(id)->size() < own.maxTokens / 2)
          continue;
        isPaused = true;
        ASSERT_TRUE((*session)->pause(id).isOk());
        // If rounds are in flight, the sequence is paused after them.
        while (*(*session)->state(id) == SequenceState::Running)
          ASSERT_TRUE((*session)->step().isOk());
        ASSERT_EQ(*(*session)->state(id), SequenceState::Paused);
        ASSERT_TRUE((*session)->resume(id).isOk());
      }
      const Statistics &s = (*session)->statistics();
      std::span<const int32_t> output = *(*session)->output(id);
      EXPECT_TRUE(std::ranges::equal(output, expected.sequences[0].tokens))
          << describe(options);
      EXPECT_EQ(s.restoredPreemptions, 1u) << percent << describe(options);
      // A snapshot without entries belongs to the prompt.
      if (percent > 100)
        EXPECT_LE(s.prefillTokens, own.prompt.size() + k + 1)
            << percent << describe(options);
      else
        EXPECT_GT(s.prefillTokens, own.prompt.size() + own.maxTokens / 2 - 4)
            << describe(options);
    }
}

// Logits of a text's rows, by a function that writes per-slot states. It
// requires a session without sequences, and leaves nothing to the next
// sequence.
TEST_P(Hybrid, PromptsAreScoredWhereNobodyHasASlot) {
  uint32_t rows = 32, vocab = envelope.vocab;
  Request text = request(0, 40, 4);
  SessionOptions options = single(/*k=*/0, /*slots=*/1);
  Outcome expected = generate(model, options, {text});
  options.roundsPerLaunch = 1;
  // It has the pages of all slots.
  options.kvPages =
      1 + envelope.maxBatch * envelope.maxContext / envelope.pageTokens;
  auto opened = Session::create(model, options);
  ASSERT_TRUE(opened.isOk()) << opened.status().toString();
  Session &session = **opened;
  auto score = [&](uint32_t begin, uint32_t count) {
    std::vector<int32_t> columns[3];
    for (uint32_t i = 0; i < rows; ++i) {
      columns[0].push_back(i < count ? text.prompt[begin + i] : 0);
      columns[1].push_back(0);
      columns[2].push_back(i < count ? int32_t(begin + i) : -1);
    }
    std::vector<Tensor> inputs;
    for (const std::vector<int32_t> &column : columns) {
      auto *bytes = reinterpret_cast<const uint8_t *>(column.data());
      inputs.push_back({{ElementType::I32, {rows}}, {bytes, bytes + 4 * rows}});
    }
    return session.runFunction("prompt_logits", inputs);
  };
  auto first = score(0, rows);
  ASSERT_TRUE(first.isOk()) << first.status().toString();
  auto last = score(rows, 8);
  ASSERT_TRUE(last.isOk()) << last.status().toString();
  EXPECT_EQ(std::memcmp((*last)[0].bytes.data() + 7 * vocab * sizeof(float),
                        expected.sequences[0].logits.data(),
                        vocab * sizeof(float)),
            0);
  SequenceId id = *session.add(text);
  ASSERT_TRUE(session.step().isOk());
  std::string refused = score(0, rows).status().toString();
  EXPECT_NE(refused.find("FailedPrecondition: @prompt_logits: expected a "),
            std::string::npos)
      << refused;
  finishLike(session, {id}, expected.sequences);
}

// Sequences arrive and are cancelled during their prompts and rounds. Other
// sequences get their slots at once.
TEST_P(Hybrid, CancelledSequencesLeaveNothing) {
  uint32_t tokens = isCpu() ? 24 : 4;
  std::vector<Request> all;
  for (uint32_t i = 0; i < (isCpu() ? 9u : 4u); ++i)
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
    // Of each three the middle one is cancelled, a step or two after its
    // arrival.
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
INSTANTIATE_TEST_SUITE_P(Cpu, HybridPrefix,
                         testing::Values(OnDevice{"hybrid", kCpu},
                                         OnDevice{"hybrid.int4", kCpu},
                                         OnDevice{"hybrid.mixed", kCpu}),
                         nameOf);
#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, Hybrid,
                         testing::Values(OnDevice{"hybrid", DeviceKind::Cuda}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Gpu, HybridPrefix,
                         testing::Values(OnDevice{"hybrid", DeviceKind::Cuda}),
                         nameOf);
#endif
