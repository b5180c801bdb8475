//===- profile_session_test.cpp - Sessions with a profile -----------------===//
//
// A session records a profile, and other sessions start from it. The fake
// model's clock goes by rounds, so costs are exact.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/ProfileCosts.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "runtime/profile/ThreadChoice.h"
#include "support/FakeLanguage.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

FakeOptions fakeOptions(bool isOther = false) {
  FakeOptions fake;
  fake.hasLimit = true;
  fake.maxContext = 128;
  if (isOther)
    fake.modules = 2;
  return fake;
}

std::vector<Request> someRequests() {
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 6; ++i) {
    Request request;
    for (uint32_t token = 0; token <= 3 * i; ++token)
      request.prompt.push_back(int32_t((5 * i + token * token) % 64));
    request.maxTokens = 50;
    request.sampling.temperature = i % 2 ? 0.9f : 0.0f;
    request.sampling.seed = 10 + i;
    request.kind = i % 3 ? "" : "code";
    requests.push_back(request);
  }
  return requests;
}

/// A round with a draft takes `step` times as long as one without.
SessionClock::Seconds clockOf(double step) {
  return [step](const Statistics &done) {
    double now = 0;
    for (size_t k = 0; k < done.roundsByK.size(); ++k)
      now += double(done.roundsByK[k]) * (k == 0 ? 1 : 1 + step * double(k));
    return now;
  };
}

SessionOptions automatic() {
  SessionOptions options;
  options.automaticK = true;
  options.threads = 1;
  return options;
}

/// Runs the requests, checks their outputs, and returns the rounds by k.
std::vector<uint64_t> run(Session &session) {
  std::vector<SequenceId> ids;
  std::vector<Request> requests = someRequests();
  for (const Request &request : requests)
    ids.push_back(*session.add(request));
  drain(session);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto output = session.output(ids[i]);
    EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
              expectedOutput(requests[i]).tokens)
        << "request " << i;
  }
  return session.statistics().roundsByK;
}

/// Files of one test, which are removed at its end.
class ProfiledSession : public testing::Test {
protected:
  void SetUp() override {
    std::string base =
        testing::TempDir() + "/profiled_session_" + std::to_string(::getpid());
    artifact = base + ".bin";
    path = base + ".profile";
    write(artifact, makeFakeModel(fakeOptions()).finish());
  }
  void TearDown() override {
    std::remove(artifact.c_str());
    std::remove(path.c_str());
  }

  static void write(const std::string &to, const std::vector<uint8_t> &bytes) {
    std::ofstream file(to, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()),
               std::streamsize(bytes.size()));
  }
  void write(const profile::Profile &profile) const {
    write(path, profile::writeProfile(profile));
  }

  /// Records rounds of every k.
  profile::Profile record(double step) const {
    auto model = *Model::load(artifact);
    SessionOptions options = automatic();
    options.automaticK = false;
    options.recordsProfile = true;
    uint32_t next = 0;
    SessionClock clock(clockOf(step));
    SessionSetup setup;
    setup.clock = clock;
    setup.beforeRound = [&next](SequenceId, uint32_t &k, DrafterProgress &) {
      k = next / 4 % 5;
    };
    auto session = openSession(model, options, std::move(setup));
    clock.setSession(*session);
    for (int turn = 0; turn < 4; ++turn)
      for (const Request &request : someRequests())
        EXPECT_TRUE(session->add(request).isOk());
    for (; !session->idle(); ++next)
      EXPECT_TRUE(session->step().isOk());
    return SessionProfile::recorded(*session);
  }

  Result<std::shared_ptr<const Model>> load() const {
    LoadOptions options;
    options.profile = path;
    return Model::load(artifact, options);
  }

  std::string artifact, path;
};

} // namespace

TEST_F(ProfiledSession, RecordsCostsOutcomesAndLoad) {
  profile::Profile recorded = record(0.25);
  ASSERT_EQ(recorded.machines.size(), 1u);
  EXPECT_EQ(recorded.machines[0].threads, 1u);
  EXPECT_FALSE(recorded.machines[0].name.empty());
  uint32_t rounds = 0;
  for (const profile::Cost &cost : recorded.machines[0].costs)
    if (cost.work == profile::Work::Round) {
      EXPECT_NEAR(cost.median, cost.k == 0 ? 1 : 1 + 0.25 * cost.k, 1e-9);
      ++rounds;
    }
  EXPECT_GE(rounds, 5u);
  profile::Outcomes all = recorded.allOutcomes();
  ASSERT_EQ(all.tried.size(), 4u);
  EXPECT_GT(all.tried[0], 100u);
  EXPECT_EQ(std::accumulate(recorded.load.prompts.begin(),
                            recorded.load.prompts.end(), uint64_t(0)),
            24u);
  // The drafts of a chain are nodes of rank 0.
  EXPECT_EQ(recorded.nodes.counts.size(), 4u);
  for (size_t depth = 1; depth <= 4; ++depth) {
    profile::DraftCount count =
        recorded.nodes.counts[profile::NodeOutcomes::Path(depth, 0)];
    EXPECT_EQ(count.tried, all.tried[depth - 1]);
    EXPECT_EQ(count.accepted, all.accepted[depth - 1]);
  }
  // Greedy and sampled sequences are counted apart.
  EXPECT_TRUE(std::ranges::any_of(recorded.outcomes,
                                  [](auto &of) { return of.isSampled; }));
  EXPECT_TRUE(std::ranges::any_of(recorded.outcomes,
                                  [](auto &of) { return !of.isSampled; }));
  ASSERT_EQ(recorded.kinds.size(), 1u);
  EXPECT_EQ(recorded.kinds[0].name, "code");
  EXPECT_GT(recorded.kinds[0].outcomes.tried[0], 20u);
  EXPECT_LT(recorded.kinds[0].outcomes.tried[0], all.tried[0]);
  // The first output token of a sequence is no round's.
  uint64_t output = 0, accepted = 0;
  for (const auto &[token, count] : recorded.tokens.counts) {
    output += count.output;
    accepted += count.accepted;
  }
  EXPECT_LE(output, 24u * 50u);
  EXPECT_GE(output, 24u * 49u);
  EXPECT_EQ(accepted, std::accumulate(all.accepted.begin(), all.accepted.end(),
                                      uint64_t(0)));
  EXPECT_TRUE(profile::readProfile(profile::writeProfile(recorded)).isOk());
}

// Rounds with padding are shapes of their own. A session starts from their
// times if its rounds have padding.
TEST_F(ProfiledSession, RecordsRoundsWithPadding) {
  SessionOptions options = automatic();
  options.captureSizes = {4};
  options.recordsProfile = true;
  auto model = *Model::load(artifact);
  auto session = openClocked(model, options, clockOf(20));
  Request only = someRequests()[0];
  only.maxTokens = 60;
  ASSERT_TRUE(session->add(only).isOk());
  drain(*session);
  Statistics done = session->copyStatistics();
  EXPECT_EQ(done.paddedRounds, done.rounds);
  EXPECT_EQ(done.paddingSlots, 3 * done.rounds);
  profile::Profile recorded = SessionProfile::recorded(*session);
  uint64_t padded = 0;
  for (const profile::Cost &cost : recorded.machines[0].costs)
    if (cost.work == profile::Work::Round) {
      EXPECT_EQ(cost.batch, 1u);
      EXPECT_EQ(cost.padding, 3u);
      EXPECT_FALSE(cost.isPlainRound());
      padded += cost.count;
    }
  EXPECT_GT(padded, 8u);
  EXPECT_TRUE((recorded.load.rounds.contains({1, 0})));
  ProfileCosts costs =
      *matchProfile(recorded, ModelAccess::impl(*model).programKeys(),
                    recorded.machines[0].key());
  EXPECT_TRUE(costs.learned.cost.isMeasured(1, 0, 3));
  EXPECT_FALSE(costs.learned.cost.isMeasured(1, 0));
  EXPECT_TRUE(costs.rounds.empty());
}

// Without a profile, the first round has one draft, and others are tried.
TEST_F(ProfiledSession, StartsFromAProfileWithEqualOutput) {
  write(record(20));
  auto plain = openClocked(*Model::load(artifact), automatic(), clockOf(20));
  EXPECT_GT(run(*plain)[1], 0u);
  auto model = load();
  ASSERT_TRUE(model) << model.status().toString();
  auto profiled = openClocked(*model, automatic(), clockOf(20));
  std::vector<uint64_t> rounds = run(*profiled);
  EXPECT_EQ(rounds[0],
            std::accumulate(rounds.begin(), rounds.end(), uint64_t(0)));
  EXPECT_EQ(SessionProfile::notes(*profiled), std::vector<std::string>());
  // Another profile leads to other rounds and to equal tokens.
  write(record(0.01));
  profiled = openClocked(*load(), automatic(), clockOf(0.01));
  rounds = run(*profiled);
  EXPECT_EQ(rounds[0], 0u);
  EXPECT_EQ(rounds[1], 0u);
}

// More threads than cores may be slower.
TEST(ProfileCosts, UsesFewerThreadsIfTheyWereFaster) {
  profile::Cost cost;
  cost.lower = cost.median = cost.upper = 0.004;
  cost.count = 9;
  profile::Profile of;
  of.machines = {{"a", 8, 1, false, {cost}}, {"a", 4, 1, false, {cost}}};
  auto threadsOf = [&](const char *machine, uint32_t usable) {
    return profile::chooseThreads(of, machine, usable).threads;
  };
  EXPECT_EQ(threadsOf("a", 8), 8u);
  of.machines[1].costs[0].lower = 0.003;
  EXPECT_EQ(threadsOf("a", 8), 4u);
  profile::ThreadChoice choice = profile::chooseThreads(of, "a", 8);
  EXPECT_EQ(choice.usualThreads, 8u);
  EXPECT_NEAR(choice.gain, 4.0 / 3, 1e-12);
  // The times of four threads have quartiles that are a third apart.
  EXPECT_NEAR(choice.doubt, 4.0 / 3 * (0.001 / 0.003 / 2 / 0.6745 * 1.2533 / 3),
              1e-12);
  ASSERT_EQ(choice.options.size(), 1u);
  EXPECT_EQ(choice.options[0].rounds, 1u);
  // Other shapes, numbers of processors and machines do not count.
  EXPECT_EQ(threadsOf("a", 6), 6u);
  EXPECT_EQ(threadsOf("b", 8), 8u);
  of.machines[1].costs[0].batch = 2;
  EXPECT_EQ(threadsOf("a", 8), 8u);
}

// Each program has a key, by which its costs are found.
TEST_F(ProfiledSession, KnowsTheKeysOfItsPrograms) {
  auto model = *Model::load(artifact);
  const Model::Impl &inner = ModelAccess::impl(*model);
  const profile::ProgramKeys &programs = inner.programKeys();
  ASSERT_EQ(programs.all().size(), inner.plan().programs.size());
  for (uint64_t key : programs.all()) {
    EXPECT_TRUE(programs.contains(key));
    EXPECT_FALSE(programs.contains(key ^ 1));
  }
  EXPECT_EQ(&inner.programKeys(), &programs);
}

// A plan's graphs follow from the times of its own programs.
TEST_F(ProfiledSession, PlansGraphsByCostsOfItsPrograms) {
  profile::Profile recorded = record(20);
  auto model = *Model::load(artifact);
  const Model::Impl &inner = ModelAccess::impl(*model);
  const Plan &plan = inner.plan();
  const profile::ProgramKeys &programs = inner.programKeys();
  profile::MachineCosts &machine = recorded.machines[0];
  CaptureLimits limits{4, 4, /*repeats=*/false};
  EXPECT_FALSE(planCaptures(plan, programs, machine, recorded.load, limits)
                   .launches.empty());
  for (profile::Cost &cost : machine.costs)
    cost.program ^= 1;
  EXPECT_TRUE(planCaptures(plan, programs, machine, recorded.load, limits)
                  .launches.empty());
}

TEST(DraftPolicy, TellsHowMuchTextsDiffer) {
  using Kinds = std::vector<DraftPolicy::KindCount>;
  EXPECT_EQ(DraftPolicy::spreadOf({}), 0);
  EXPECT_EQ(DraftPolicy::spreadOf(Kinds{{1000, 500}}), 0);
  EXPECT_EQ(DraftPolicy::spreadOf(Kinds{{1000, 400}, {1000, 400}}), 0);
  // Log odds of 0 and 1.
  EXPECT_NEAR(
      DraftPolicy::spreadOf(Kinds{{1000000, 500000}, {1000000, 731059}}),
      0.7071, 1e-3);
  EXPECT_EQ(DraftPolicy::spreadOf(Kinds{{1000, 10}, {1000, 990}}), 1);
  EXPECT_EQ(DraftPolicy::spreadOf(Kinds{{1000, 0}, {1000, 1000}}), 1);
  // Few drafts may differ by chance.
  EXPECT_EQ(DraftPolicy::spreadOf(Kinds{{20, 12}, {20, 14}}), 0);
}

// A request that names a kind begins with the kind's acceptance.
TEST_F(ProfiledSession, BeginsWithTheAcceptanceOfAKind) {
  profile::Profile recorded = record(0.6);
  recorded.kinds.clear();
  for (const char *name : {"hard", "easy"}) {
    profile::Outcomes of;
    of.tried = {1000};
    of.accepted = {name[0] == 'e' ? 990u : 10u};
    recorded.kinds.push_back({name, of});
  }
  write(recorded);
  auto rounds = [&](const char *kind) {
    auto model = load();
    EXPECT_TRUE(model) << model.status().toString();
    auto session = openClocked(*model, automatic(), clockOf(0.6));
    Request request = someRequests()[0];
    request.kind = kind;
    request.maxTokens = 8;
    EXPECT_TRUE(session->add(request).isOk());
    drain(*session);
    return session->statistics().roundsByK;
  };
  EXPECT_GT(rounds("hard")[0], 0u);
  EXPECT_EQ(rounds("easy")[0], 0u);
}

TEST_F(ProfiledSession, SaysWhatItDoesNotUse) {
  profile::Profile recorded = record(20);
  recorded.machines[0].threads = 3;
  write(recorded);
  auto session = Session::create(*load(), automatic());
  ASSERT_TRUE(session) << session.status().toString();
  std::vector<std::string> notes = SessionProfile::notes(**session);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "machines.threads: expected 1, got 3; costs are not used");
  recorded.machines[0].threads = 1;
  recorded.machines[0].isBusy = true;
  recorded.machines[0].costs[0].program ^= 1;
  recorded.outcomes.clear();
  recorded.outcomes.resize(1);
  recorded.outcomes[0].tried = {30, 19};
  recorded.outcomes[0].accepted = {25, 10};
  write(recorded);
  session = Session::create(*load(), automatic());
  ASSERT_TRUE(session) << session.status().toString();
  notes = SessionProfile::notes(**session);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0].find("machines.costs.program: 1 of "), 0u) << notes[0];
  EXPECT_EQ(notes[1].find("machines.busy: "), 0u) << notes[1];
  EXPECT_EQ(notes[2], "outcomes.tried: expected 20 or more of draft 2, got 19; "
                      "it and later drafts are left out");
  run(**session);
}

// The times of a GPU belong to its driver and clocks.
TEST_F(ProfiledSession, TakesTheCostsOfAGpusSettings) {
  profile::Profile recorded = record(20);
  auto model = *Model::load(artifact);
  const profile::ProgramKeys &programs =
      ModelAccess::impl(*model).programKeys();
  profile::MachineCosts old = recorded.machines[0];
  old.setKey({"a GPU", 0, {}});
  profile::MachineCosts own = old, other = old;
  own.gpu = {13000, 1'980'000, 2'619'000};
  other.gpu = {13010, 1'980'000, 0};
  auto match = [&](std::vector<profile::MachineCosts> machines) {
    recorded.machines = std::move(machines);
    auto costs = matchProfile(recorded, programs, own.key());
    EXPECT_TRUE(costs) << costs.status().toString();
    return *costs;
  };
  ProfileCosts costs = match({other, old, own});
  EXPECT_EQ(costs.machine, &recorded.machines[2]);
  EXPECT_EQ(costs.notes, std::vector<std::string>());
  // A profile of an earlier version names no settings.
  costs = match({other, old});
  EXPECT_EQ(costs.machine, &recorded.machines[1]);
  EXPECT_EQ(costs.notes,
            std::vector<std::string>(
                {"machines.driver: expected costs of driver 13.0, 1980 MHz, "
                 "memory 2619 MHz, found no driver and no clocks; the costs "
                 "may be of other settings"}));
  costs = match({other});
  EXPECT_EQ(costs.machine, nullptr);
  EXPECT_TRUE(costs.rounds.empty());
  EXPECT_EQ(costs.notes,
            std::vector<std::string>(
                {"machines.driver: expected costs of driver 13.0, 1980 MHz, "
                 "memory 2619 MHz, found driver 13.1, 1980 MHz, memory unknown "
                 "clock; costs are not used"}));
}

// Launches of the artifact's own programs decide, within its limits.
TEST_F(ProfiledSession, PlansRoundsByLaunchesOfItsPrograms) {
  profile::Profile recorded = record(20);
  auto model = *Model::load(artifact);
  const profile::ProgramKeys &programs =
      ModelAccess::impl(*model).programKeys();
  profile::MachineCosts &machine = recorded.machines[0];
  profile::LaunchInput limits{4, 4, /*mostRounds=*/32, /*usualRounds=*/16};
  EXPECT_EQ(planRounds(programs, recorded, machine, limits), 16u);
  for (uint32_t rounds : {1u, 2u, 8u, 32u}) {
    profile::LaunchCost &cost = machine.launches.emplace_back();
    cost.program = machine.costs[0].program;
    cost.rounds = rounds;
    cost.lower = cost.median = cost.upper = 0.01 + 0.001 * rounds;
    cost.count = 9;
  }
  EXPECT_EQ(planRounds(programs, recorded, machine, limits), 32u);
  limits.mostRounds = 16;
  EXPECT_EQ(planRounds(programs, recorded, machine, limits), 16u);
  // A device without launches of several rounds.
  limits.usualRounds = 1;
  EXPECT_EQ(planRounds(programs, recorded, machine, limits), 1u);
  limits = {4, 4, 32, 16};
  for (profile::LaunchCost &cost : machine.launches)
    cost.program ^= 1;
  EXPECT_EQ(planRounds(programs, recorded, machine, limits), 16u);
}

namespace {
/// A model whose drafts end by confidence. By its profile each draft takes 0.2
/// of a step and rows take nothing. The drafter is sure of half of its drafts.
class EndingSession : public ProfiledSession {
protected:
  void writeModel(double least, bool hasLimit = true) {
    FakeOptions fake = fakeOptions();
    fake.hasLimit = hasLimit;
    ArtifactBuilder builder = makeFakeModel(fake);
    builder.addState("draft_p_min", {builder.envelope.maxBatch},
                     schema::DType::F32, {.init = least, .input = true});
    ProfiledSession::write(artifact, builder.finish());
    auto model = Model::load(artifact);
    ASSERT_TRUE(model) << model.status().toString();
    made = {};
    made.model = SessionProfile::modelKey(**model);
    made.outcomes.push_back({false, 5, {160'000, 80'000, 40'000, 20'000}, {}});
    for (uint64_t tried : made.outcomes[0].tried)
      made.outcomes[0].accepted.push_back(tried / 2);
    made.confidence.tried[1] = made.confidence.tried[14] = 10'000;
    made.confidence.accepted[1] = 500;
    made.confidence.accepted[14] = 9500;
    addCosts(ModelAccess::file(**model)->artifact().plans[0]);
  }

  /// Returns the confidence by which the drafts of a session end.
  float leastOf(const SessionOptions &options) const {
    ProfiledSession::write(made);
    auto model = load();
    EXPECT_TRUE(model) << model.status().toString();
    if (!model)
      return -1;
    auto session = Session::create(*model, options);
    EXPECT_TRUE(session) << session.status().toString();
    return session ? (*session)->options().draftPMin.value_or(-1) : -1;
  }

  profile::Profile made;

private:
  void addCosts(const Plan &plan) {
    profile::MachineCosts &machine = made.machines.emplace_back();
    machine.setKey({profile::processorName(), 1, {}});
    std::vector<uint64_t> keys = profile::ProgramKeys(plan).all();
    for (size_t i = 0; i < keys.size(); ++i)
      for (uint32_t batch : {1, 2}) {
        const Program &of = plan.programs[i];
        if (of.kind != schema::ProgramKind::Decode || !of.covers(batch))
          continue;
        profile::Cost &cost = machine.costs.emplace_back();
        cost.program = keys[i];
        cost.batch = batch;
        cost.k = of.k;
        cost.rows = batch * (of.k + 1);
        cost.lower = cost.median = cost.upper = 1e-3 * (1 + 0.2 * of.k);
        cost.count = 30;
      }
  }
};
} // namespace

TEST_F(EndingSession, TakesTheConfidenceThatPays) {
  writeModel(0);
  EXPECT_EQ(leastOf(automatic()), 2.0f / 16);
  // The caller's number stays.
  SessionOptions options = automatic();
  options.draftPMin = 0.75f;
  EXPECT_EQ(leastOf(options), 0.75f);
  // A single draft takes its pass in any case.
  options = automatic();
  options.k = 1;
  EXPECT_EQ(leastOf(options), 0);
}

TEST_F(EndingSession, KeepsTheModelsConfidence) {
  writeModel(0.03125);
  SessionOptions fixed = automatic();
  fixed.automaticK = false;
  EXPECT_EQ(leastOf(fixed), 0.03125f);
  EXPECT_EQ(leastOf(automatic()), 2.0f / 16);
  // A confidence that tells nothing.
  profile::Profile before = made;
  made.confidence.accepted[1] = 9500;
  EXPECT_EQ(leastOf(automatic()), 0.03125f);
  made = before;
  for (profile::Cost &cost : made.machines[0].costs)
    cost.program ^= 1;
  EXPECT_EQ(leastOf(automatic()), 0.03125f);
  // The model's number is as good as any other between the two confidences.
  writeModel(0.3125);
  EXPECT_EQ(leastOf(automatic()), 0.3125f);
  // Tokens may depend on drafts.
  writeModel(0.03125, /*hasLimit=*/false);
  EXPECT_EQ(leastOf(automatic()), 0.03125f);
}

TEST_F(ProfiledSession, RefusesCostsOfOtherMachinesOnly) {
  profile::Profile recorded = record(20);
  recorded.machines[0].name = "another processor";
  write(recorded);
  auto session = Session::create(*load(), automatic());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.status().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(session.status().message().find("machines.name: expected '"), 0u);
  EXPECT_NE(session.status().message().find("got 'another processor'"),
            std::string_view::npos);
  // Acceptance belongs to no machine.
  recorded.machines.clear();
  write(recorded);
  EXPECT_TRUE(Session::create(*load(), automatic()).isOk());
}

TEST_F(ProfiledSession, RefusesAProfileOfAnotherModel) {
  profile::Profile recorded = record(20);
  recorded.model.name = "poem";
  recorded.model.weights ^= 1;
  write(recorded);
  auto model = load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.status().code(), StatusCode::FailedPrecondition);
  std::string message(model.status().message());
  EXPECT_EQ(message.find(path + ": model: expected a profile of '"), 0u)
      << message;
  EXPECT_NE(message.find("got one of 'poem'"), std::string::npos) << message;
  std::ofstream(path) << "no profile";
  model = load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.status().code(), StatusCode::DataLoss);
}
