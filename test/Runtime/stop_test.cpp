//===- stop_test.cpp - Rounds that stop for their host --------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/ModelImpl.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

using namespace mtp;
using namespace mtp::test;

namespace {

FakeOptions stopping() {
  FakeOptions options;
  options.showsDrafts = true;
  options.hasLimit = true;
  return options;
}

/// Runs the programs of the session that was opened last.
Executable *device = nullptr;

std::unique_ptr<Session> open(SessionOptions options = {}) {
  options.threads = 1;
  return openSession(loadFakeModel(stopping()), options, device);
}

Request request(int32_t first, bool seesDrafts, float temperature = 0) {
  Request r;
  for (int32_t i = 0; i < 9; ++i)
    r.prompt.push_back((first + i * 5) % 64);
  r.maxTokens = 14;
  r.sampling.temperature = temperature;
  r.sampling.seed = 3;
  r.seesDrafts = seesDrafts;
  return r;
}

RequestInput allowed(std::vector<int32_t> values) {
  Tensor tensor{{ElementType::I32, {values.size()}}, {}};
  tensor.bytes.resize(values.size() * sizeof(int32_t));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return {"allowed", std::move(tensor)};
}

/// Returns the state's part of a slot.
std::vector<int32_t> allowedIn(Session &session, uint32_t slot) {
  const Artifact &artifact = ModelAccess::file(*session.model())->artifact();
  std::vector<int32_t> values(3);
  Binding place = {schema::Space::State, *artifact.findState("allowed"),
                   slot * 12, 12};
  EXPECT_TRUE(device->read(place, values.data(), 12).isOk());
  return values;
}

/// Steps until a round has stopped.
std::vector<SequenceUpdate> stepToStop(Session &session) {
  while (!session.awaitsHost()) {
    EXPECT_FALSE(session.idle());
    auto updates = session.step();
    EXPECT_TRUE(updates.isOk());
    if (session.awaitsHost())
      return *updates;
  }
  return {};
}

std::string messageOf(const Status &status) {
  return std::string(status.message());
}

} // namespace

TEST(StoppedRounds, GiveTheirDraftsAndThenTheSameTokens) {
  for (uint32_t k : {0u, 1u, 4u})
    for (float temperature : {0.0f, 1.0f}) {
      SessionOptions options;
      options.k = k;
      auto session = open(options);
      std::map<SequenceId, Request> requests;
      for (int32_t i = 0; i < 4; ++i) {
        Request r = request(i * 11, i % 2 == 0, temperature);
        requests[*session->add(r)] = r;
      }
      std::map<SequenceId, SeenDrafts> seen;
      std::map<SequenceId, size_t> stops;
      while (!session->idle()) {
        bool hadStopped = session->awaitsHost();
        for (const SequenceUpdate &update : *session->step()) {
          EXPECT_EQ(update.seen.has_value(),
                    session->awaitsHost() && requests[update.id].seesDrafts);
          if (hadStopped && requests[update.id].seesDrafts)
            for (size_t i = 0; i + 1 < update.tokens.size(); ++i)
              EXPECT_EQ(update.tokens[i], seen[update.id].tokens[i]);
          if (!update.seen)
            continue;
          seen[update.id] = *update.seen;
          EXPECT_EQ(update.seen->tokens.size(), k ? 4u : 0u);
          EXPECT_TRUE(update.seen->parents.empty());
          for (size_t i = 0; i < update.seen->tokens.size(); ++i)
            EXPECT_EQ(update.seen->tokens[i] >= 0, i < k);
          ++stops[update.id];
        }
        ASSERT_TRUE(session->checkInvariants().isOk());
      }
      for (auto &[id, r] : requests) {
        std::span<const int32_t> output = *session->output(id);
        EXPECT_EQ(std::vector(output.begin(), output.end()),
                  expectedOutput(r).tokens);
        EXPECT_EQ(stops[id],
                  r.seesDrafts ? session->statistics(id)->rounds : 0);
      }
      // The number of rounds is the same as without a request that sees drafts.
      auto plain = open(options);
      for (auto &[id, r] : requests) {
        r.seesDrafts = false;
        ASSERT_TRUE(plain->add(r).isOk());
      }
      drain(*plain);
      EXPECT_EQ(plain->statistics().rounds, session->statistics().rounds);
      EXPECT_EQ(plain->statistics().accepted, session->statistics().accepted);
    }
}

TEST(StoppedRounds, ADraftBehindItsSequencesNumberIsNone) {
  auto session = open();
  Request few = request(3, true);
  few.k = 1;
  SequenceId id = *session->add(few);
  ASSERT_TRUE(session->add(request(9, false)).isOk());
  for (const SequenceUpdate &update : stepToStop(*session))
    if (update.id == id) {
      EXPECT_GE(update.seen->tokens[0], 0);
      EXPECT_EQ(update.seen->tokens[1], -1);
    }
}

TEST(StoppedRounds, InputsAreWrittenForWhatRunsNext) {
  auto session = open();
  SequenceId id = *session->add(request(3, true));
  ASSERT_TRUE(session->setInput(id, allowed({7, 7, 7})).isOk());
  stepToStop(*session);
  EXPECT_EQ(allowedIn(*session, 0), (std::vector<int32_t>{7, 7, 7}));
  ASSERT_TRUE(session->setInput(id, allowed({1, 2, 3})).isOk());
  EXPECT_EQ(allowedIn(*session, 0), (std::vector<int32_t>{1, 2, 3}));
  // The slot has not been used.
  EXPECT_EQ(allowedIn(*session, 1), (std::vector<int32_t>{0, 0, 0}));
  EXPECT_EQ(drain(*session).back().finish, FinishReason::Length);
}

TEST(StoppedRounds, AnInputOutlivesAPreemption) {
  SessionOptions options;
  options.kvPages = 17;
  auto session = open(options);
  auto longRequest = [](int32_t number) {
    Request r = request(number * 11, true);
    r.maxTokens = 40;
    return r;
  };
  for (int32_t i = 1; i <= 4; ++i)
    ASSERT_TRUE(session->add(longRequest(i)).isOk());
  while (!session->idle()) {
    auto updates = session->step();
    ASSERT_TRUE(updates.isOk());
    for (const SequenceUpdate &update : *updates)
      if (update.seen) {
        int32_t own = int32_t(update.id) * 100;
        ASSERT_TRUE(
            session->setInput(update.id, allowed({own, own, own})).isOk());
      }
    // A sequence in any slot has the value that was written for it.
    for (const SequenceUpdate &update : *updates)
      if (update.seen) {
        std::set<std::vector<int32_t>> all;
        for (uint32_t slot = 0; slot < 4; ++slot)
          all.insert(allowedIn(*session, slot));
        int32_t own = int32_t(update.id) * 100;
        EXPECT_TRUE(all.count({own, own, own}));
      }
  }
  EXPECT_GT(session->statistics().preemptions, 0u);
  for (SequenceId id = 1; id <= 4; ++id) {
    std::span<const int32_t> output = *session->output(id);
    EXPECT_EQ(std::vector(output.begin(), output.end()),
              expectedOutput(longRequest(int32_t(id))).tokens);
  }
}

TEST(StoppedRounds, PagesOfNewInputsAreNotShared) {
  for (bool writes : {false, true}) {
    auto session = open();
    SequenceId id = *session->add(request(3, true));
    stepToStop(*session);
    if (writes)
      ASSERT_TRUE(session->setInput(id, allowed({1, 2, 3})).isOk());
    drain(*session);
    Request next = request(3, false);
    std::span<const int32_t> output = *session->output(id);
    next.prompt.insert(next.prompt.end(), output.begin(), output.end());
    SequenceId second = *session->add(next);
    drain(*session);
    // The prompt's pages were filled before the write.
    uint64_t cached = session->statistics(second)->cachedTokens;
    EXPECT_EQ(cached, writes ? 8u : 20u);
  }
}

TEST(StoppedRounds, WhatIsDoneBetweenTheHalves) {
  auto session = open();
  SequenceId one = *session->add(request(3, true));
  SequenceId two = *session->add(request(9, false));
  while (session->statistics(two)->rounds == 0)
    ASSERT_TRUE(session->step().isOk());
  stepToStop(*session);
  ASSERT_TRUE(session->awaitsHost());
  Tensor x{{ElementType::F32, {4}}, std::vector<uint8_t>(16)};
  Status refused = session->runFunction("twice", std::span(&x, 1)).status();
  EXPECT_EQ(refused.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(messageOf(refused), "a round has stopped for its host; call step() "
                                "first, which runs the rest");
  // A new sequence waits, and a cancelled one is gone.
  SequenceId three = *session->add(request(20, true));
  ASSERT_TRUE(session->cancel(one).isOk());
  ASSERT_TRUE(session->release(one).isOk());
  EXPECT_TRUE(session->awaitsHost());
  auto updates = *session->step();
  EXPECT_FALSE(session->awaitsHost());
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].id, two);
  drain(*session);
  for (auto [id, first] : {std::pair(two, 9), {three, 20}}) {
    std::span<const int32_t> output = *session->output(id);
    EXPECT_EQ(std::vector(output.begin(), output.end()),
              expectedOutput(request(first, false)).tokens);
  }
  EXPECT_TRUE(session->runFunction("twice", std::span(&x, 1)).isOk());
}

TEST(StoppedRounds, EndWithTheLastSequence) {
  auto session = open();
  SequenceId id = *session->add(request(3, true));
  stepToStop(*session);
  ASSERT_TRUE(session->cancel(id).isOk());
  EXPECT_FALSE(session->awaitsHost());
  EXPECT_TRUE(session->idle());
  EXPECT_TRUE(session->step()->empty());
  Request next = request(9, true);
  SequenceId second = *session->add(next);
  drain(*session);
  std::span<const int32_t> output = *session->output(second);
  EXPECT_EQ(std::vector(output.begin(), output.end()),
            expectedOutput(next).tokens);
}

TEST(StoppedRounds, ErrorsSayWhatWasExpected) {
  EXPECT_TRUE(loadFakeModel(stopping())->showsDrafts());
  EXPECT_FALSE(loadFakeModel()->showsDrafts());
  auto plain = *Session::create(loadFakeModel());
  EXPECT_EQ(messageOf(plain->add(request(3, true)).status()),
            "expected no request that sees drafts, as the model's rounds do "
            "not stop after these (mtp.await_host)");
  auto session = open();
  SequenceId id = *session->add(request(3, true));
  SequenceId other = *session->add(request(3, false));
  EXPECT_EQ(messageOf(session->setInput(9, allowed({1, 2, 3}))),
            "no sequence has the id 9");
  Status status = session->setInput(other, allowed({1, 2, 3}));
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(messageOf(status), "expected a sequence that sees drafts, which 2 "
                               "does not: its inputs stay as they are");
  EXPECT_EQ(messageOf(session->setInput(id, allowed({1, 2}))),
            "input 'allowed': expected 3xi32, got 2xi32");
  RequestInput unknown = allowed({1, 2, 3});
  unknown.name = "bias";
  EXPECT_EQ(messageOf(session->setInput(id, unknown)),
            "expected an input named 'allowed', got 'bias'");
  drain(*session);
  status = session->setInput(id, allowed({1, 2, 3}));
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(messageOf(status), "sequence 1 has finished");
}

TEST(StoppedRounds, TheHostsTimeIsNoCost) {
  double now = 0;
  SessionSetup setup;
  setup.clock = [&] { return now += 0.001; };
  auto session =
      openSession(loadFakeModel(stopping()), {.threads = 1}, std::move(setup));
  ASSERT_TRUE(session->add(request(3, true)).isOk());
  while (!session->idle()) {
    ASSERT_TRUE(session->step().isOk());
    if (session->awaitsHost())
      now += 100;
  }
  EXPECT_LT(session->statistics().decodeSeconds, 1);
}

TEST(StoppedRounds, FilesAreChecked) {
  auto errorOf = [](auto spoil) {
    ArtifactBuilder a = makeFakeModel(stopping());
    for (ArtifactBuilder::Program &program : a.programs)
      if (spoil(program))
        break;
    AlignedBytes bytes(a.finish());
    return messageOf(ArtifactFile::fromMemory(bytes.span()).status());
  };
  auto endsWith = [&](auto spoil, const std::string &text) {
    std::string got = errorOf(spoil);
    EXPECT_TRUE(got.ends_with(text)) << got;
  };
  EXPECT_EQ(errorOf([](auto &) { return true; }), "");
  endsWith(
      [](auto &program) {
        if (program.cut)
          program.cut = uint32_t(program.commands.size());
        return program.cut != 0;
      },
      "commands, got 12");
  endsWith(
      [](auto &program) {
        program.cut = 1;
        return program.kind == schema::ProgramKind::Prefill;
      },
      "expected a cut of a decode program alone, below its 6 commands, got 1");
  endsWith([](auto &program) { return std::exchange(program.cut, 0) != 0; },
           "expected no cut, as in other programs with drafts, got 9");
  endsWith(
      [](auto &program) {
        for (auto &port : program.outputs)
          if (port.name == "drafts")
            return port.name = "tokens", true;
        return false;
      },
      "expected an output named 'drafts'");
  endsWith(
      [](auto &program) {
        for (auto &port : program.outputs)
          if (port.name == "drafts")
            return port.dtype = schema::DType::F32, true;
        return false;
      },
      "output 'drafts': expected 1x4xi32, got 1x4xf32");
  // No thread may begin the second half before all threads have ended the
  // first.
  endsWith(
      [](auto &program) {
        if (!program.cut)
          return false;
        std::vector<uint8_t> steps(program.commands.size(), 0);
        steps[program.cut] = uint8_t(schema::CpuStep::Joined);
        program.schedules = {{program.begin(), steps}};
        return true;
      },
      "expected a barrier at the cut, got command 5 joined for n from 1 on");
}

TEST(StoppedRounds, AProgramWithoutACutHasNoHalves) {
  auto session = open();
  const Artifact &artifact = ModelAccess::file(*session->model())->artifact();
  const std::vector<Program> &programs = artifact.plans[0].programs;
  bool hasWhole = false;
  for (uint32_t i = 0; i < programs.size(); ++i) {
    if (programs[i].cut != 0 || programs[i].kind != schema::ProgramKind::Decode)
      continue;
    hasWhole = true;
    for (Part part : {Part::FirstHalf, Part::SecondHalf})
      EXPECT_EQ(device->runPart(i, programs[i].begin, part).toString(),
                strCat("InvalidArgument: expected a program that may stop, "
                       "which ",
                       programs[i].name, " may not"));
  }
  EXPECT_TRUE(hasWhole);
}
