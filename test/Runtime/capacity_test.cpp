//===- capacity_test.cpp - Requests that do not fit, or not yet -----------===//

#include "support/FakeModel.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

Request request(std::vector<int32_t> prompt, uint32_t maxTokens) {
  Request r;
  r.prompt = std::move(prompt);
  r.maxTokens = maxTokens;
  return r;
}

std::unique_ptr<Session> open(const SessionOptions &options = {},
                              const FakeOptions &fake = {}) {
  auto session = Session::create(loadFakeModel(fake), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

std::vector<int32_t> outputOf(Session &session, SequenceId id) {
  auto output = session.output(id);
  EXPECT_TRUE(output.isOk());
  return {output->begin(), output->end()};
}

/// A refused request, and the name of its test.
struct Refused {
  const char *name;
  Request request;
  StatusCode code;
  const char *message;
};

std::vector<Refused> refused() {
  Request nan = request({1}, 4), cold = request({1}, 4), flat = request({1}, 4);
  Request stop = request({1}, 4);
  stop.stopTokens = {5, 64};
  nan.sampling.temperature = NAN;
  cold.sampling.temperature = -1;
  flat.sampling.topP = 0;
  return {
      Refused{"NoPrompt", request({}, 4), StatusCode::InvalidArgument,
              "expected a prompt of at least 1 token"},
      Refused{"NoTokens", request({1}, 0), StatusCode::InvalidArgument,
              "expected max tokens of at least 1"},
      Refused{"PromptPastTheVocabulary", request({1, 64}, 4),
              StatusCode::InvalidArgument,
              "prompt token 1 is 64, outside the vocabulary of 64"},
      Refused{"PromptNegative", request({-1}, 4), StatusCode::InvalidArgument,
              "prompt token 0 is -1, outside the vocabulary of 64"},
      Refused{
          "PromptPastTheContext", request({1, 2}, 95), StatusCode::OutOfRange,
          "the prompt's 2 tokens and 95 max tokens exceed the context of 96, "
          "which the artifact was compiled for"},
      Refused{"TokensPastTheContext", request({1}, UINT32_MAX),
              StatusCode::OutOfRange, "exceed the context"},
      Refused{"TemperatureNan", nan, StatusCode::InvalidArgument,
              "expected a temperature of 0 or more"},
      Refused{"TemperatureNegative", cold, StatusCode::InvalidArgument,
              "expected a temperature of 0 or more"},
      Refused{"TopPZero", flat, StatusCode::InvalidArgument,
              "expected top-p above 0 and up to 1"},
      Refused{"StopPastTheVocabulary", stop, StatusCode::InvalidArgument,
              "stop token 1 is 64, outside the vocabulary of 64"},
  };
}

class CapacityRefuses : public testing::TestWithParam<Refused> {};

} // namespace

TEST_P(CapacityRefuses, WhatCanNeverFit) {
  auto session = open();
  const Refused &c = GetParam();
  auto id = session->add(c.request);
  EXPECT_EQ(id.status().code(), c.code);
  EXPECT_NE(id.status().message().find(c.message), std::string::npos)
      << id.status().toString();
  EXPECT_TRUE(session->idle());
}

INSTANTIATE_TEST_SUITE_P(Requests, CapacityRefuses,
                         testing::ValuesIn(refused()),
                         [](const testing::TestParamInfo<Refused> &info) {
                           return std::string(info.param.name);
                         });

namespace {
class CapacityOfDrafts : public testing::TestWithParam<uint32_t> {};
} // namespace

TEST_P(CapacityOfDrafts, FillsTheContextToTheLastToken) {
  SessionOptions options;
  options.k = GetParam();
  auto session = open(options);
  Request r = request({1, 2}, 94);
  auto id = session->add(r);
  ASSERT_TRUE(id.isOk()) << id.status().toString();
  drain(*session);
  EXPECT_EQ(outputOf(*session, *id), expectedOutput(r).tokens);
}

INSTANTIATE_TEST_SUITE_P(All, CapacityOfDrafts, testing::Values(0u, 4u),
                         [](const testing::TestParamInfo<uint32_t> &info) {
                           return "k" + std::to_string(info.param);
                         });

TEST(Capacity, RefusesWhatThePagesCanNeverHold) {
  SessionOptions options;
  options.kvPages = 6; // 5 pages of 4 tokens
  options.k = 2;
  auto session = open(options);
  EXPECT_TRUE(session->add(request({1, 2, 3}, 15)).isOk());
  auto id = session->add(request({1, 2, 3}, 16));
  EXPECT_EQ(id.status().toString(),
            "ResourceExhausted: the prompt's 3 tokens and 16 max tokens need 6 "
            "KV pages, but the session has 5");
}

namespace {
/// Modules, k, pages, and whether prefixes are kept.
using Pool = std::tuple<uint32_t, uint32_t, uint32_t, bool>;
class SmallPool : public testing::TestWithParam<Pool> {};
} // namespace

TEST_P(SmallPool, PreemptsAndGoesOnWithTheSameTokens) {
  auto [modules, k, pages, prefix] = GetParam();
  SessionOptions options;
  options.k = k;
  options.kvPages = pages;
  options.prefixCache = prefix;
  options.threads = 1;
  FakeOptions fake;
  fake.modules = modules;
  auto session = open(options, fake);
  std::vector<SequenceId> ids;
  std::vector<Request> requests;
  for (int32_t i = 0; i < 7; ++i) {
    requests.push_back(request({i, 2, i, 4, 5, i}, 38 + uint32_t(i)));
    auto id = session->add(requests.back());
    ASSERT_TRUE(id.isOk()) << id.status().toString();
    ids.push_back(*id);
  }
  drain(*session);
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(outputOf(*session, ids[i]), expectedOutput(requests[i]).tokens);
  if (pages < 30)
    EXPECT_GT(session->statistics().preemptions, 0u);
  EXPECT_EQ(session->kvUsage().heldPages, 0u);
}

static std::string nameOfPool(const testing::TestParamInfo<Pool> &info) {
  auto [modules, k, pages, prefix] = info.param;
  return "modules" + std::to_string(modules) + "_k" + std::to_string(k) +
         "_pages" + std::to_string(pages) + (prefix ? "_prefixes" : "");
}

INSTANTIATE_TEST_SUITE_P(All, SmallPool,
                         testing::Combine(testing::Values(1u, 2u),
                                          testing::Values(0u, 1u, 4u),
                                          testing::Values(15u, 17u, 23u, 30u),
                                          testing::Bool()),
                         nameOfPool);

TEST(Capacity, WaitsForASlotInOrderOfArrival) {
  SessionOptions options;
  options.maxSlots = 1;
  auto session = open(options);
  std::vector<SequenceId> finished;
  for (int32_t i = 0; i < 4; ++i)
    ASSERT_TRUE(session->add(request({i}, 6)).isOk());
  for (const SequenceUpdate &update : drain(*session))
    if (update.finish != FinishReason::None)
      finished.push_back(update.id);
  EXPECT_EQ(finished, (std::vector<SequenceId>{1, 2, 3, 4}));
}

namespace {
/// A refused option, and the name of its test.
struct RefusedOption {
  const char *name;
  void (*set)(SessionOptions &);
  const char *message;
};

class CapacityRefusesOption : public testing::TestWithParam<RefusedOption> {};
} // namespace

TEST_P(CapacityRefusesOption, OutsideTheEnvelope) {
  SessionOptions options;
  GetParam().set(options);
  EXPECT_EQ(Session::create(loadFakeModel(), options).status().toString(),
            std::string("InvalidArgument: expected ") + GetParam().message);
}

static const RefusedOption kRefusedOptions[] = {
    {"K", [](SessionOptions &o) { o.k = 5; },
     "k of at most 4, which the artifact was compiled for, got 5"},
    {"Slots", [](SessionOptions &o) { o.maxSlots = 5; },
     "at most 4 slots, which the artifact was compiled for, got 5"},
    {"PrefillChunk", [](SessionOptions &o) { o.prefillChunk = 4; },
     "a prefill chunk of 3, 8, which the artifact was compiled for, got 4"},
    {"PagesTooFew", [](SessionOptions &o) { o.kvPages = 1; },
     "kv_pages of 2 to 2147483647 (0: the default), got 1"},
    {"PagesTooMany", [](SessionOptions &o) { o.kvPages = UINT32_MAX; },
     "kv_pages of 2 to 2147483647 (0: the default), got 4294967295"},
    {"Threads", [](SessionOptions &o) { o.threads = 5000; },
     "1 to 1024 threads, got 5000"},
};

INSTANTIATE_TEST_SUITE_P(Options, CapacityRefusesOption,
                         testing::ValuesIn(kRefusedOptions),
                         [](const testing::TestParamInfo<RefusedOption> &info) {
                           return std::string(info.param.name);
                         });

TEST(Capacity, RefusesMoreMemoryThanThereIs) {
  FakeOptions fake;
  fake.page = 1024;
  ArtifactBuilder a = makeFakeModel(fake);
  // Megabytes per page: the largest pools are petabytes on every machine.
  a.caches[0].layers = 4096;
  auto model = Model::load(writeFile("large_pages.bin", a.finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  for (uint32_t pages : {100000000u, uint32_t(INT32_MAX)}) {
    SessionOptions options;
    options.kvPages = pages;
    Status status = Session::create(*model, options).status();
    EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
    std::string message(status.message());
    EXPECT_EQ(message.find(std::to_string(pages) + " KV pages and "), 0u)
        << message;
    EXPECT_NE(message.find("more than the "), std::string::npos) << message;
    EXPECT_NE(message.find("; lower kv_pages to "), std::string::npos)
        << message;
  }
}
