//===- catch_up_test.cpp - Drafters that catch up after a pause -----------===//
//
// Rounds without drafts, or with fewer drafts than modules, leave gaps in the
// drafters' caches. Later drafts must equal, token by token, the drafts without
// a pause. The reference is a sequence that shares its rounds with a sequence
// that drafts all the time. Its drafters run although it has no drafts.
//
// Entries that stay missing are never read. So drafts after a gap depend only
// on the tokens after it, for any tokens before it. The simulated GPU knows
// which entries were never written, and reports no read of them.
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"
#include "runtime/exec/ModelImpl.h"
#include "test/Runtime/support/ForwardingExecutable.h"
#include "test/Runtime/support/OpenSession.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Runs an executable, and records what the first slot verifies in each round.
class Watch : public ForwardingExecutable {
public:
  struct Round {
    uint32_t k;
    std::vector<int32_t> window;
    friend bool operator==(const Round &, const Round &) = default;
    friend void PrintTo(const Round &round, std::ostream *stream) {
      *stream << "k " << round.k << ":";
      for (int32_t token : round.window)
        *stream << " " << token;
    }
  };

  Watch(std::unique_ptr<Executable> inner, const Plan &plan)
      : ForwardingExecutable(std::move(inner)), plan(plan) {}

  Status run(uint32_t program, uint32_t n) override {
    MTP_RETURN_IF_ERROR(inner->run(program, n));
    const Program &ran = plan.programs[program];
    catchUps += ran.catchUp != 0;
    if (ran.kind != schema::ProgramKind::Decode) {
      seconds += 1e-4 * n;
      return okStatus();
    }
    // A draft costs almost nothing, or sometimes more than a round.
    seconds += 1e-2 * (1 + (rowsAreDear ? 3 : 0.001) * ran.k);
    Binding tokens = ran.output("tokens")->place.at(n);
    Round round{ran.k, std::vector<int32_t>(ran.windowRows())};
    MTP_RETURN_IF_ERROR(inner->read(tokens, round.window.data(),
                                    round.window.size() * sizeof(int32_t)));
    rounds.push_back(std::move(round));
    return okStatus();
  }

  std::vector<Round> rounds;
  uint32_t catchUps = 0;
  double seconds = 0;
  bool rowsAreDear = false;

private:
  const Plan &plan;
};

/// Limits that a test sets for a sequence's drafts before each round, and what
/// the test observes.
struct DraftOrders {
  /// The limit on the sequence's drafts, if it is not the request's.
  std::optional<uint32_t> k;
  /// By k, the positions up to which the sequence's drafters count as valid in
  /// the next round, whatever they have seen; empty: unchanged.
  std::vector<uint64_t> drafterValidUpTo;
  /// The sequence's drafters before the last round, and before the first round
  /// since this was reset.
  DrafterProgress last;
  std::optional<DrafterProgress> first;

  void apply(uint32_t &limit, DrafterProgress &drafters) {
    if (!drafterValidUpTo.empty())
      drafters.drafterValidUpTo = std::exchange(drafterValidUpTo, {});
    last = drafters;
    if (!first)
      first = drafters;
    limit = k.value_or(limit);
  }
};

/// The other sequence of the rounds: none, one that drafts all the time, or one
/// that pauses too.
enum class Company { None, Drafts, Pauses };

/// A sequence's tokens before the pause, and its tokens and drafts in the
/// pause.
struct Pause {
  uint32_t before = 6, gap = 0, k = 0;
  Company company = Company::None;
  bool isPreempted = false;
  uint32_t text = 31;
  /// Positions up to which drafters are valid during the pause, by k.
  std::vector<uint64_t> drafterValidUpTo = {};
};

class CatchUp : public OnDeviceTest {
protected:
  Request request(uint32_t text, uint32_t length, float temperature) const {
    Request request;
    for (uint32_t i = 0; i < length; ++i)
      request.prompt.push_back(textToken(text, i, envelope.vocab));
    request.maxTokens = envelope.maxContext - length;
    request.ignoreEos = true;
    request.sampling = {temperature, 20, 0.9f, 0.02f, 7};
    return request;
  }

  /// A session whose rounds are recorded.
  struct Watched {
    /// Orders of each sequence. The session calls back into this map.
    std::unique_ptr<std::map<SequenceId, DraftOrders>> orders;
    std::unique_ptr<Session> session;
    Watch *watch = nullptr;

    /// Steps until a sequence has `tokens` tokens.
    void runTo(SequenceId id, size_t tokens) {
      while (session->output(id)->size() < tokens) {
        auto updates = session->step();
        ASSERT_TRUE(updates.isOk()) << updates.status().toString();
        ASSERT_EQ(*session->finishReason(id), FinishReason::None);
        ASSERT_TRUE(session->checkInvariants().isOk());
      }
    }
    void setK(SequenceId id, uint32_t k) { (*orders)[id].k = k; }
  };
  Watched open(SessionOptions options) const;
  const Plan &plan() const {
    return ModelAccess::file(*model)
        ->artifact()
        .plans[ModelAccess::plan(*model)];
  }

  /// A record of the rounds after the pause.
  struct Seen {
    std::vector<Watch::Round> rounds;
    std::vector<int32_t> tokens;
    uint64_t caughtUp = 0;
    bool hasDrafterGap = false;
    std::vector<uint64_t> drafterValidUpTo;
    uint64_t skipped = 0;
    /// Mean tokens per round over all rounds after the pause.
    double tokensPerRound = 0;
  };
  Seen run(const Pause &pause, float temperature) const;
  /// Returns the gap that a slot's hidden states cover in any case.
  uint32_t leastReach() const { return isLong() ? 64 : 20; }
  bool isLong() const { return envelope.maxContext >= 256; }
};

} // namespace

CatchUp::Watched CatchUp::open(SessionOptions options) const {
  options.roundsPerLaunch = 1;
  Watched opened;
  opened.orders = std::make_unique<std::map<SequenceId, DraftOrders>>();
  // It is the test's alone once the session is there.
  auto seconds = std::make_shared<Watch *>(nullptr);
  SessionSetup setup;
  setup.device = [&](std::unique_ptr<Executable> loaded) {
    auto watch = std::make_unique<Watch>(std::move(loaded), plan());
    opened.watch = *seconds = watch.get();
    return watch;
  };
  if (options.automaticK)
    setup.clock = [seconds] { return *seconds ? (*seconds)->seconds : 0; };
  setup.beforeRound = [orders = opened.orders.get()](SequenceId id, uint32_t &k,
                                                     DrafterProgress &of) {
    (*orders)[id].apply(k, of);
  };
  opened.session = openSession(model, options, std::move(setup));
  return opened;
}

CatchUp::Seen CatchUp::run(const Pause &pause, float temperature) const {
  constexpr uint32_t kRoundsBehind = 8;
  Seen seen;
  Watched on =
      open(single(envelope.maxK, pause.company == Company::None ? 1 : 2));
  if (!on.session)
    return seen;
  SequenceId id = *on.session->add(request(pause.text, 11, temperature));
  std::optional<SequenceId> other;
  if (pause.company != Company::None)
    other = *on.session->add(request(/*text=*/32, 5, temperature));
  auto setK = [&](uint32_t k) {
    on.setK(id, k);
    if (pause.company == Company::Pauses)
      on.setK(*other, k);
  };
  if (on.runTo(id, pause.before); testing::Test::HasFatalFailure())
    return seen;
  size_t begin = on.session->output(id)->size();
  setK(pause.k);
  if (on.runTo(id, begin + pause.gap); testing::Test::HasFatalFailure())
    return seen;
  // As a preemption does, a pause takes slot and pages.
  if (pause.isPreempted)
    EXPECT_TRUE(on.session->pause(id).isOk() && on.session->resume(id).isOk());
  DraftOrders &orders = (*on.orders)[id];
  orders.drafterValidUpTo = pause.drafterValidUpTo;
  orders.first.reset();
  setK(envelope.maxK);
  on.watch->rounds.clear();
  size_t paused = on.session->output(id)->size();
  while (on.watch->rounds.size() < kRoundsBehind && !on.session->idle())
    if (auto updates = on.session->step(); !updates.isOk()) {
      ADD_FAILURE() << updates.status().toString();
      return seen;
    }
  seen.rounds = on.watch->rounds;
  auto tokens = *on.session->output(id);
  seen.tokens.assign(tokens.begin(), tokens.end());
  seen.tokensPerRound =
      double(seen.tokens.size() - paused) / double(seen.rounds.size());
  seen.caughtUp = on.session->statistics(id)->caughtUpTokens;
  seen.drafterValidUpTo = orders.first->drafterValidUpTo;
  seen.hasDrafterGap = orders.last.hasDrafterGap;
  seen.skipped = orders.last.places.empty() ? 0 : orders.last.places[0].skipped;
  return seen;
}

TEST_P(CatchUp, DraftsAreThoseOfNoPause) {
  uint32_t reach = leastReach();
  for (float temperature : {0.0f, 0.8f})
    for (uint32_t before : {1u, 6u})
      for (uint32_t gap : {1u, 5u, reach - 1, reach}) {
        SCOPED_TRACE(testing::Message() << "gap " << gap << " after " << before
                                        << ", temperature " << temperature);
        Seen expected = run({before, gap, 0, Company::Drafts}, temperature);
        EXPECT_EQ(expected.caughtUp, 0u);
        for (Company company : {Company::None, Company::Pauses}) {
          Seen seen = run({before, gap, 0, company}, temperature);
          EXPECT_EQ(seen.rounds, expected.rounds);
          EXPECT_EQ(seen.tokens, expected.tokens);
          EXPECT_GE(seen.caughtUp, gap);
          EXPECT_FALSE(seen.hasDrafterGap);
        }
      }
}

// In a chain of modules the deeper ones miss entries.
TEST_P(CatchUp, DraftsAreThoseOfNoPauseBehindFewerDrafts) {
  for (uint32_t gap : {1u, 7u, 18u}) {
    SCOPED_TRACE(gap);
    Seen expected = run({6, gap, 1, Company::Drafts}, 0.0f);
    Seen seen = run({6, gap, 1, Company::None}, 0.0f);
    EXPECT_EQ(seen.rounds, expected.rounds);
    EXPECT_EQ(seen.tokens, expected.tokens);
    EXPECT_FALSE(seen.hasDrafterGap);
  }
}

// Hidden states do not reach back far enough: missing entries stay missing.
TEST_P(CatchUp, LongPausesChangeNoToken) {
  for (uint32_t gap : {leastReach() + 1, isLong() ? 200u : 40u}) {
    SCOPED_TRACE(gap);
    Seen expected = run({6, gap, 0, Company::Drafts}, 0.0f);
    Seen seen = run({6, gap, 0, Company::None}, 0.0f);
    size_t both = std::min(seen.tokens.size(), expected.tokens.size());
    EXPECT_GT(both, gap);
    EXPECT_TRUE(std::equal(seen.tokens.begin(), seen.tokens.begin() + both,
                           expected.tokens.begin()));
    EXPECT_GE(seen.caughtUp, leastReach());
    EXPECT_LE(seen.caughtUp, gap + envelope.maxK);
    // The last accepted drafts have additional room.
    if (gap > leastReach() + envelope.maxK)
      EXPECT_TRUE(seen.hasDrafterGap);
  }
}

TEST_P(CatchUp, PreemptionInAPauseLeavesNothingBehind) {
  Seen expected = run({6, 9, 0, Company::Drafts}, 0.8f);
  Pause pause{6, 9, 0, Company::None, /*isPreempted=*/true};
  Seen seen = run(pause, 0.8f);
  EXPECT_EQ(seen.rounds, expected.rounds);
  EXPECT_EQ(seen.tokens, expected.tokens);
  EXPECT_EQ(seen.caughtUp, 0u);
}

// A sequence that never changes k never needs a catch-up pass.
TEST_P(CatchUp, CostsNothingWhereKStays) {
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    SessionOptions options = single(envelope.maxK, 2);
    Request one = request(33, 7, 0.0f), two = request(34, 3, 0.0f);
    one.maxTokens = two.maxTokens = 40;
    one.k = two.k = k;
    Outcome outcome = generate(model, options, {one, two}, LogitsMode::None);
    EXPECT_EQ(outcome.statistics.caughtUpTokens, 0u);
  }
}

// Pages that were filled in a pause are shared once drafters have caught up.
TEST_P(CatchUp, PagesArePublishedBehindAPause) {
  SessionOptions options = single(envelope.maxK, 1);
  options.prefixCache = true;
  for (bool drafts : {false, true}) {
    Watched on = open(options);
    ASSERT_TRUE(on.session);
    SequenceId id = *on.session->add(request(35, 5, 0.0f));
    on.setK(id, 0);
    on.runTo(id, 20);
    if (drafts) {
      on.setK(id, envelope.maxK);
      on.runTo(id, 21);
    }
    Request next = request(35, 5, 0.0f);
    auto said = *on.session->output(id);
    next.prompt.insert(next.prompt.end(), said.begin(), said.end());
    next.maxTokens = 12;
    ASSERT_TRUE(on.session->cancel(id).isOk());
    SequenceId second = *on.session->add(next);
    // The drafts must equal those of a session that read the whole text itself.
    SessionOptions alone = single(envelope.maxK, 1);
    Outcome expected = generate(model, alone, {next}, LogitsMode::None);
    finishLike(*on.session, {second}, expected.sequences);
    const Statistics shared = *on.session->statistics(second);
    EXPECT_EQ(shared.cachedTokens > 0, drafts);
    EXPECT_EQ(shared.accepted, expected.statistics.accepted);
  }
}

// The policy's own choices, with a clock on which drafts are cheap and
// expensive in turn.
TEST_P(CatchUp, AutomaticKChangesNoToken) {
  Request wanted = request(36, 5, 0.0f);
  SessionOptions plain = single(0, 1);
  Outcome expected = generate(model, plain, {wanted}, LogitsMode::None);
  SessionOptions options = single(envelope.maxK, 1);
  options.automaticK = true;
  Watched on = open(options);
  ASSERT_TRUE(on.session);
  SequenceId id = *on.session->add(wanted);
  for (size_t step = 0; !on.session->idle(); ++step) {
    on.watch->rowsAreDear = step / 24 % 2 == 0;
    ASSERT_TRUE(on.session->step().isOk());
    ASSERT_TRUE(on.session->checkInvariants().isOk());
  }
  auto tokens = *on.session->output(id);
  EXPECT_TRUE(std::ranges::equal(tokens, expected.sequences[0].tokens));
  EXPECT_GT(on.session->statistics().caughtUpTokens, 0u);
  const std::vector<uint64_t> &byK = on.session->statistics().roundsByK;
  EXPECT_GT(byK[0], 0u);
  EXPECT_GT(*std::max_element(byK.begin() + 1, byK.end()), 0u);
}

// Sequences with equal gaps catch up in one pass, which reads the drafters'
// weights once.
TEST_P(CatchUp, SeveralShareAPass) {
  Watched on = open(single(envelope.maxK, envelope.maxBatch));
  ASSERT_TRUE(on.session);
  std::vector<SequenceId> ids;
  for (uint32_t i = 0; i < envelope.maxBatch; ++i) {
    ids.push_back(*on.session->add(request(41 + i, 5 + i, 0.0f)));
    on.setK(ids.back(), 0);
  }
  on.runTo(ids.back(), 5);
  for (SequenceId id : ids)
    on.setK(id, envelope.maxK);
  on.runTo(ids.back(), 6);
  EXPECT_LE(on.watch->catchUps, (envelope.maxBatch + 1) / 2);
  for (SequenceId id : ids)
    EXPECT_GE(on.session->statistics(id)->caughtUpTokens, 4u);
}

/// Drafters with missing entries never read them, whether they can catch up or
/// not.
class Gaps : public CatchUp {
protected:
  /// Returns a gap that is too large to catch up.
  uint32_t tornGap() const {
    uint32_t reach = ProgramTable(plan()).catchUpReach();
    return reach > 0 ? reach + 2 : 9;
  }
};

// The contents of a gap do not affect the drafts after it.
TEST_P(Gaps, DraftsFollowFromWhatIsAround) {
  for (float temperature : {0.0f, 0.8f}) {
    Pause pause{6, tornGap(), 0, Company::None};
    Seen seen = run(pause, temperature);
    EXPECT_TRUE(seen.hasDrafterGap);
    EXPECT_GT(seen.skipped, 0u);
    // These drafters have all entries, and drop the entries of the gap.
    pause.company = Company::Drafts;
    pause.drafterValidUpTo = seen.drafterValidUpTo;
    Seen expected = run(pause, temperature);
    EXPECT_EQ(seen.skipped, expected.skipped);
    EXPECT_EQ(seen.rounds, expected.rounds);
    EXPECT_EQ(seen.tokens, expected.tokens);
  }
}

// In turn a sequence drafts nothing alone, nothing beside one that drafts, all
// drafts, and fewer.
TEST_P(Gaps, NothingThatIsMissingIsRead) {
  Request wanted = request(/*text=*/37, 11, 0.8f);
  Outcome expected = generate(model, single(0, 1), {wanted}, LogitsMode::None);
  Watched on = open(single(envelope.maxK, 2));
  ASSERT_TRUE(on.session);
  SequenceId id = *on.session->add(wanted);
  on.setK(id, 0);
  on.runTo(id, 8);
  SequenceId other = *on.session->add(request(/*text=*/38, 5, 0.0f));
  on.runTo(id, 16);
  for (uint32_t k : {envelope.maxK, 1u, 0u, envelope.maxK}) {
    on.setK(id, k);
    on.setK(other, k == 1 ? 1 : envelope.maxK);
    on.runTo(id, on.session->output(id)->size() + 6);
  }
  auto tokens = *on.session->output(id);
  ASSERT_LE(tokens.size(), expected.sequences[0].tokens.size());
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(),
                         expected.sequences[0].tokens.begin()));
}

/// Artifacts that keep no hidden states.
using CannotCatchUp = CatchUp;

// The comparison above detects drafters with missing entries.
TEST_P(CannotCatchUp, DraftsAreOthersBehindAPause) {
  Seen expected = run({6, 30, 0, Company::Drafts}, 0.0f);
  Seen seen = run({6, 30, 0, Company::None}, 0.0f);
  EXPECT_NE(seen.rounds, expected.rounds);
  EXPECT_EQ(seen.caughtUp, 0u);
}

/// The simulator is slow. So it runs one pause, and compares it with tokens
/// that are read again.
using OnGpu = CatchUp;

TEST_P(OnGpu, DraftsAreThoseOfAPrefill) {
  Pause pause{6, leastReach(), 0, Company::None};
  Seen seen = run(pause, 0.8f);
  EXPECT_GE(seen.caughtUp, pause.gap);
  pause.isPreempted = true;
  Seen expected = run(pause, 0.8f);
  EXPECT_EQ(expected.caughtUp, 0u);
  EXPECT_EQ(seen.rounds, expected.rounds);
  EXPECT_EQ(seen.tokens, expected.tokens);
}

/// A trained model, and its artifact without hidden states.
using OfBundled = CatchUp;

// The purpose of catching up: acceptance in the rounds after a pause.
TEST_P(OfBundled, AcceptanceIsThatOfNoPause) {
  constexpr uint32_t kTexts = 6;
  auto with = model, without = loadArtifact("bundled.gap", DeviceKind::Cpu);
  ASSERT_TRUE(without);
  envelope = *without->envelope();
  for (uint32_t gap : {8u, 60u}) {
    double never = 0, behind = 0, refreshed = 0;
    for (uint32_t text = 0; text < kTexts; ++text) {
      Pause pause{6, gap, 0, Company::Drafts, /*isPreempted=*/false, 40 + text};
      model = with;
      never += run(pause, 0.0f).tokensPerRound / kTexts;
      pause.company = Company::None;
      refreshed += run(pause, 0.0f).tokensPerRound / kTexts;
      model = without;
      behind += run(pause, 0.0f).tokensPerRound / kTexts;
    }
    EXPECT_EQ(refreshed, never);
    EXPECT_LT(behind, never);
    std::printf("tokens of a round behind %u without drafts: %.2f, left behind "
                "%.2f, had they never paused %.2f\n",
                gap, refreshed, behind, never);
  }
}

static constexpr DeviceKind kCpu = DeviceKind::Cpu;

INSTANTIATE_TEST_SUITE_P(
    Cpu, CatchUp,
    testing::Values(
        OnDevice{"dsv3-chain-mtp2.behind", kCpu},
        OnDevice{"mimo-mtp1.behind", kCpu}, OnDevice{"mimo-tree.behind", kCpu},
        OnDevice{"mtp-static.behind", kCpu}, OnDevice{"mtp-beam.behind", kCpu},
        OnDevice{"bundled.behind", kCpu}, OnDevice{"eagle.behind", kCpu},
        OnDevice{"dspark.behind", kCpu}, OnDevice{"wide.behind", kCpu}),
    nameOf);
// Drafters in folders that draft all positions at once, from the target's
// states.
INSTANTIATE_TEST_SUITE_P(Parallel, CatchUp,
                         testing::Values(OnDevice{"heads.behind", kCpu},
                                         OnDevice{"p-eagle.behind", kCpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, CannotCatchUp,
                         testing::Values(OnDevice{"bundled.gap", kCpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(
    Cpu, Gaps,
    testing::Values(
        OnDevice{"dsv3-chain.gap", kCpu}, OnDevice{"mimo-tree.gap", kCpu},
        OnDevice{"dsv3-chain-mtp2.surebehind", kCpu},
        OnDevice{"bundled.gap", kCpu}, OnDevice{"dsv3-chain-mtp2.behind", kCpu},
        OnDevice{"mimo-tree.behind", kCpu}, OnDevice{"eagle.behind", kCpu},
        OnDevice{"dspark.behind", kCpu}, OnDevice{"wide.behind", kCpu},
        OnDevice{"mtp-static.behind", kCpu}, OnDevice{"mtp-beam.behind", kCpu},
        OnDevice{"mtp-static.gap", kCpu}, OnDevice{"mtp-beam.gap", kCpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, OfBundled,
                         testing::Values(OnDevice{"bundled.behind", kCpu}),
                         nameOf);
#ifdef MTP_E2E_CUDASIM
static constexpr DeviceKind kGpu = DeviceKind::Cuda;

INSTANTIATE_TEST_SUITE_P(
    Gpu, Gaps,
    testing::Values(OnDevice{"dsv3-chain.gap", kGpu},
                    OnDevice{"mimo-tree.gap", kGpu},
                    OnDevice{"dsv3-chain.behindsim", kGpu}),
    [](const auto &info) { return nameOf(info) + "_gpu"; });

INSTANTIATE_TEST_SUITE_P(Gpu, OnGpu,
                         testing::Values(OnDevice{"dsv3-chain.behindsim", kGpu},
                                         OnDevice{"mimo-tree.behindsim", kGpu},
                                         OnDevice{"wide.behind", kGpu}),
                         [](const auto &info) {
                           return nameOf(info) + "_gpu";
                         });
#endif
