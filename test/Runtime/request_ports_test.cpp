//===- request_ports_test.cpp - Inputs and outputs of requests ------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/ModelImpl.h"
#include "support/FakeModel.h"
#include "support/ForwardingExecutable.h"
#include "support/OpenSession.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint64_t kSlots = 4;

/// Counts runs, and runs of parts that only requested outputs need.
class CountingExecutable : public ForwardingExecutable {
public:
  CountingExecutable(std::unique_ptr<Executable> inner, uint32_t &runs,
                     uint32_t &asked)
      : ForwardingExecutable(std::move(inner)), runs(runs), asked(asked) {}

  Status run(uint32_t program, uint32_t n) override {
    ++runs;
    return inner->run(program, n);
  }
  Status runPart(uint32_t program, uint32_t n, Part part) override {
    asked += part == Part::OnRequest;
    return inner->runPart(program, n, part);
  }

private:
  uint32_t &runs, &asked;
};

/// Returns the fake model with an input that no kernel reads, and with its
/// picks as an output for requests; in a chain the picks are the tokens.
ArtifactBuilder channelModel() {
  ArtifactBuilder a = makeFakeModel();
  a.addState("bias", {kSlots, 3}, schema::DType::F32,
             ArtifactBuilder::Upkeep{.init = 0.5, .input = true});
  for (ArtifactBuilder::Program &program : a.programs)
    for (size_t i = 0; i < program.outputs.size(); ++i)
      if (program.outputs[i].name == "picks") {
        ArtifactBuilder::Port own = program.outputs[i];
        own.name = "own";
        own.of = schema::PortRows::Tokens;
        program.outputs.push_back(own);
      }
  return a;
}

std::shared_ptr<const Model> loadChannelModel() {
  return *Model::load(writeFile("channel.bin", channelModel().finish()));
}

/// Runs the programs of the session that was opened last.
Executable *device = nullptr;

std::unique_ptr<Session> open(uint32_t slots = 0) {
  SessionOptions options;
  options.threads = 1;
  options.maxSlots = slots;
  return openSession(loadChannelModel(), options, device);
}

Tensor floats(std::vector<float> values) {
  Tensor tensor{{ElementType::F32, {values.size()}}, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

Request request(std::vector<RequestInput> inputs, uint32_t maxTokens = 12) {
  Request r;
  for (int32_t i = 0; i < 17; ++i)
    r.prompt.push_back(i * 7 % 64);
  r.maxTokens = maxTokens;
  r.inputs = std::move(inputs);
  return r;
}

/// Returns the state's part of a slot.
std::vector<float> biasOf(Session &session, uint32_t slot) {
  const Artifact &artifact = ModelAccess::file(*session.model())->artifact();
  std::vector<float> values(3);
  Binding place = {schema::Space::State, *artifact.findState("bias"), slot * 12,
                   12};
  EXPECT_TRUE(device->read(place, values.data(), 12).isOk());
  return values;
}

std::string addError(Session &session, const Request &r) {
  return std::string(session.add(r).status().message());
}

std::string openError(const ArtifactBuilder &artifact) {
  AlignedBytes bytes(artifact.finish());
  return std::string(ArtifactFile::fromMemory(bytes.span()).status().message());
}

} // namespace

TEST(RequestPorts, ModelsSayWhatTheyHave) {
  auto model = loadChannelModel();
  std::vector<PortType> inputs = model->requestInputs();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "bias");
  EXPECT_EQ(toString(inputs[0].type), "3xf32");
  std::vector<RequestOutputType> outputs = model->requestOutputs();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].name, "own");
  EXPECT_EQ(toString(outputs[0].row), "i32");
  EXPECT_TRUE(outputs[0].isPerToken);
  EXPECT_TRUE(loadFakeModel()->requestInputs().empty());
  EXPECT_TRUE(loadFakeModel()->requestOutputs().empty());
}

TEST(RequestPorts, AnInputStandsInItsSlotAndInNoLaterOnes) {
  auto session = open(2);
  ASSERT_TRUE(session->add(request({{"bias", floats({1, 2, 3})}})).isOk());
  ASSERT_TRUE(session->add(request({})).isOk());
  ASSERT_TRUE(session->step().isOk());
  EXPECT_EQ(biasOf(*session, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(biasOf(*session, 1), (std::vector<float>{0.5, 0.5, 0.5}));
  drain(*session);
  ASSERT_TRUE(session->add(request({})).isOk());
  ASSERT_TRUE(session->step().isOk());
  EXPECT_EQ(biasOf(*session, 0), (std::vector<float>{0.5, 0.5, 0.5}));
}

TEST(RequestPorts, AnInputIsWrittenAgainAfterAPreemption) {
  SessionOptions options;
  options.threads = 1;
  options.kvPages = 17;
  auto session = openSession(loadChannelModel(), options, device);
  for (int i = 1; i <= 4; ++i) {
    float bias = i;
    ASSERT_TRUE(
        session->add(request({{"bias", floats({bias, bias, bias})}}, 30))
            .isOk());
  }
  // A running sequence has its own request's value.
  std::set<std::vector<float>> seen;
  while (!session->idle()) {
    ASSERT_TRUE(session->step().isOk());
    if (session->unfinished() == std::vector<SequenceId>{4})
      for (uint32_t slot = 0; slot < kSlots; ++slot)
        seen.insert(biasOf(*session, slot));
  }
  EXPECT_GT(session->statistics().preemptions, 0u);
  EXPECT_TRUE(seen.count({4, 4, 4}));
}

TEST(RequestPorts, PagesAreSharedByRequestsThatBringTheSame) {
  auto session = open(1);
  RequestInput one{"bias", floats({1, 2, 3})}, other{"bias", floats({1, 2, 4})};
  std::vector<uint64_t> cached;
  for (const std::vector<RequestInput> &inputs :
       {std::vector{one}, {other}, {}, {one}, {other}, {}}) {
    SequenceId id = *session->add(request(inputs));
    drain(*session);
    cached.push_back(session->statistics(id)->cachedTokens);
  }
  EXPECT_EQ(cached, (std::vector<uint64_t>{0, 0, 0, 16, 16, 16}));
}

TEST(RequestPorts, ErrorsSayWhatWasExpected) {
  auto session = open();
  EXPECT_EQ(addError(*session, request({{"tilt", floats({1, 2, 3})}})),
            "expected an input named 'bias', got 'tilt'");
  EXPECT_EQ(addError(*session, request({{"length", floats({1})}})),
            "expected an input named 'bias', got 'length'");
  EXPECT_EQ(addError(*session, request({{"bias", floats({1, 2})}})),
            "input 'bias': expected 3xf32, got 2xf32");
  Tensor few = floats({1, 2, 3});
  few.bytes.pop_back();
  EXPECT_EQ(addError(*session, request({{"bias", few}})),
            "input 'bias': expected 12 bytes, got 11");
  RequestInput one{"bias", floats({1, 2, 3})};
  EXPECT_EQ(addError(*session, request({one, one})),
            "input 'bias': expected it once, got it twice");
  Request asks = request({});
  asks.outputs = {"mine"};
  EXPECT_EQ(addError(*session, asks),
            "expected an output named 'own', got 'mine'");
  asks.outputs = {"own", "own"};
  EXPECT_EQ(addError(*session, asks),
            "output 'own': expected it once, got it twice");
  auto plain = *Session::create(loadFakeModel());
  EXPECT_EQ(addError(*plain, request({one})),
            "expected no input, as the model declares none, got 'bias'");
  asks.outputs = {"own"};
  EXPECT_EQ(addError(*plain, asks), "expected no output to ask for, as the "
                                    "model declares none, got 'own'");
  EXPECT_TRUE(session->idle());
}

TEST(RequestPorts, OutputsComeWithTheirTokens) {
  for (uint32_t k : {0u, 1u, 4u}) {
    SessionOptions options;
    options.threads = 1;
    options.k = k;
    auto session = *Session::create(loadChannelModel(), options);
    Request asks = request({});
    asks.outputs = {"own"};
    SequenceId id = *session->add(asks);
    SequenceId other = *session->add(request({}));
    size_t tokens = 0;
    for (const SequenceUpdate &update : drain(*session)) {
      if (update.id == other) {
        EXPECT_TRUE(update.outputs.empty());
        continue;
      }
      EXPECT_EQ(update.id, id);
      ASSERT_EQ(update.outputs.size(), 1u);
      const OutputRows &own = update.outputs[0];
      EXPECT_EQ(own.name, "own");
      EXPECT_TRUE(own.tokens.empty());
      EXPECT_EQ(own.rows.type.shape,
                std::vector<uint64_t>{update.tokens.size()});
      ASSERT_EQ(own.rows.bytes.size(), update.tokens.size() * sizeof(int32_t));
      EXPECT_EQ(std::memcmp(own.rows.bytes.data(), update.tokens.data(),
                            own.rows.bytes.size()),
                0);
      tokens += update.tokens.size();
    }
    EXPECT_EQ(tokens, 12u);
  }
}

TEST(RequestPorts, WhatNobodyAsksForDoesNotRun) {
  // Repeats the last command of each program, which changes nothing.
  ArtifactBuilder a = channelModel();
  for (ArtifactBuilder::Program &program : a.programs)
    if (program.kind != schema::ProgramKind::Function) {
      program.onRequest = uint32_t(program.commands.size());
      program.commands.push_back(program.commands.back());
      for (ArtifactBuilder::Schedule &schedule : program.schedules)
        schedule.steps.push_back(0);
    }
  auto model = *Model::load(writeFile("asked.bin", a.finish()));
  for (int askers : {0, 1, 2}) {
    SessionOptions options;
    options.threads = 1;
    options.k = 2;
    options.roundsPerLaunch = 1;
    uint32_t runs = 0, asked = 0;
    SessionSetup setup;
    setup.device = [&](std::unique_ptr<Executable> loaded) {
      return std::make_unique<CountingExecutable>(std::move(loaded), runs,
                                                  asked);
    };
    auto session = openSession(model, options, std::move(setup));
    Request one = request({}), other = request({});
    if (askers > 0)
      one.outputs = {"own"};
    if (askers > 1)
      other.outputs = {"own"};
    ASSERT_TRUE(session->add(one).isOk());
    ASSERT_TRUE(session->add(other).isOk());
    drain(*session);
    EXPECT_GT(runs, 3u);
    if (askers == 1) {
      // The part does not run with chunks of the other sequence's prompt.
      EXPECT_GT(asked, 1u);
      EXPECT_LT(asked, runs);
    } else {
      EXPECT_EQ(asked, askers == 0 ? 0u : runs);
    }
  }
}

TEST(RequestPorts, WhatRequestsAskForIsBehindAllElse) {
  auto errorOf = [](auto spoil) {
    ArtifactBuilder a = channelModel();
    for (ArtifactBuilder::Program &program : a.programs)
      if (spoil(program))
        break;
    return openError(a);
  };
  auto isDecode = [](const ArtifactBuilder::Program &program) {
    return program.kind == schema::ProgramKind::Decode;
  };
  std::string error = errorOf([&](auto &program) {
    program.onRequest = uint32_t(program.commands.size());
    return true;
  });
  EXPECT_NE(error.find("expected on_request of a decode or prefill "
                       "program alone, above its cut 0 and below its "),
            error.npos)
      << error;
  error = errorOf([&](auto &program) {
    if (!isDecode(program))
      return false;
    program.cut = program.onRequest = 1;
    return true;
  });
  EXPECT_NE(error.find("above its cut 1"), error.npos) << error;
  error = errorOf([&](auto &program) {
    if (!isDecode(program))
      return false;
    std::vector<uint8_t> steps(program.commands.size(), 0);
    program.onRequest = 1;
    steps[1] = uint8_t(schema::CpuStep::Joined);
    program.schedules = {{program.begin(), steps}};
    return true;
  });
  EXPECT_NE(error.find("expected a barrier at on_request, got command 1 "
                       "joined"),
            error.npos)
      << error;
}

TEST(RequestPorts, DeclaredOutputsAreChecked) {
  auto message = [](auto spoil) {
    ArtifactBuilder a = channelModel();
    for (ArtifactBuilder::Program &program : a.programs)
      for (ArtifactBuilder::Port &port : program.outputs)
        if (port.name == "own" && spoil(port))
          return openError(a);
    return std::string("nothing spoilt");
  };
  auto endsWith = [&](auto spoil, const std::string &text) {
    std::string got = message(spoil);
    EXPECT_TRUE(got.ends_with(text)) << got;
  };
  endsWith([](auto &port) { return port.of = schema::PortRows(3), true; },
           "output 'own': expected no rows of slots or tokens, got 3");
  endsWith(
      [](auto &port) {
        port.shape.push_back(2);
        return port.dtype = schema::DType::I16, true;
      },
      "output 'own': expected i32 or f32, got i16");
  // An output for slots with more than one row per slot.
  endsWith(
      [](auto &port) {
        return port.of = schema::PortRows::Slots, port.shape[0] > 4;
      },
      "output 'own': expected 1xi32, got 2xi32");
  endsWith([](auto &port) { return port.dtype = schema::DType::F32, true; },
           "output 'own': expected rows of f32 for tokens, as in other "
           "programs, got "
           "i32 for tokens");
  for (const char *name : {"places", "again", "drafted"})
    endsWith([&](auto &port) { return port.name = name, true; },
             strCat("output '", name,
                    "': expected no rows of slots or tokens, got 2"));
}

TEST(RequestPorts, FunctionsDeclareNone) {
  // Without an envelope there are only functions, and no outputs for requests.
  ArtifactBuilder a = makeFakeModel();
  a.hasEnvelope = false;
  a.states.clear();
  a.programs.erase(a.programs.begin(), a.programs.end() - 1);
  ArtifactBuilder::Port &port = a.programs.back().outputs.front();
  port.of = schema::PortRows::Slots;
  std::string message = openError(a);
  EXPECT_TRUE(message.ends_with("expected no rows of slots or tokens, got 1"))
      << message;
}
