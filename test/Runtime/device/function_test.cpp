//===- function_test.cpp - Exported functions -----------------------------===//

#include "test/Runtime/support/FakeModel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

Tensor floats(const std::vector<float> &values) {
  Tensor tensor;
  tensor.type.shape = {values.size()};
  tensor.bytes.resize(values.size() * 4);
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

} // namespace

TEST(Function, RunsAndLeavesSequencesAlone) {
  auto session = Session::create(loadFakeModel());
  ASSERT_TRUE(session.isOk());
  Request r;
  r.prompt = {1, 2, 3};
  r.maxTokens = 30;
  auto id = (*session)->add(r);
  while (!(*session)->idle()) {
    ASSERT_TRUE((*session)->step().isOk());
    auto result = (*session)->runFunction("twice", {{floats({1, 2, 3, 4})}});
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ((*result)[0].bytes, floats({2, 4, 6, 8}).bytes);
    EXPECT_EQ(toString((*result)[0].type), "4xf32");
  }
  auto output = (*session)->output(*id);
  EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
            expectedOutput(r).tokens);
}

TEST(Function, WorksWithoutAnEnvelope) {
  ArtifactBuilder a = makeFakeModel();
  a.hasEnvelope = false;
  a.states.clear();
  a.programs.erase(a.programs.begin(), a.programs.end() - 1);
  std::string path = writeFile("functions.bin", a.finish());
  auto model = Model::load(path);
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  EXPECT_EQ((*model)->functions(), std::vector<std::string>{"twice"});
  auto session = Session::create(*model);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  EXPECT_TRUE(
      (*session)->runFunction("twice", {{floats({1, 2, 3, 4})}}).isOk());
  Request r;
  r.prompt = {1};
  EXPECT_EQ((*session)->add(r).status().message(),
            "the artifact has functions only, no model");
  EXPECT_TRUE((*session)->step()->empty());
}

TEST(Function, TakesDistributionsWhereItsInputIsNamedSo) {
  ArtifactBuilder a = makeFakeModel();
  ASSERT_EQ(a.programs.back().name, "twice");
  a.programs.back().inputs[0].name = "q.distributions";
  auto model = Model::load(writeFile("distributions.bin", a.finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  auto session = Session::create(*model);
  ASSERT_TRUE(session.isOk());
  auto message = [&](const std::vector<float> &values) {
    return (*session)->runFunction("twice", {{floats(values)}}).status();
  };
  EXPECT_TRUE(message({0.25f, 0, 0.5f, 0.25f}).isOk());
  EXPECT_TRUE(message({0.25f, 0, 0.5f, 0.2539f}).isOk());
  const std::string where =
      "InvalidArgument: @twice: input 0 (q.distributions): row []: ";
  EXPECT_EQ(message({0.25f, 0, 0.5f, 0.255f}).toString(),
            where + "expected a sum of 1 (0.004 off at most), got 1.005");
  const std::string numbers = where + "expected finite numbers of 0 or more, ";
  EXPECT_EQ(message({1.5f, 0, 0, -0.5f}).toString(),
            numbers + "got -0.5 in column 3");
  EXPECT_EQ(message({0, NAN, 0, 1}).toString(),
            numbers + "got nan in column 1");
  EXPECT_EQ(message({0, 0, INFINITY, 0}).toString(),
            numbers + "got inf in column 2");
}

TEST(Function, NamesWhatIsWrongWithTheInputs) {
  auto session = Session::create(loadFakeModel());
  ASSERT_TRUE(session.isOk());
  auto message = [&](std::string_view name, std::vector<Tensor> inputs) {
    return (*session)->runFunction(name, inputs).status().toString();
  };
  EXPECT_EQ(message("half", {}),
            "NotFound: the artifact exports no function 'half'");
  EXPECT_EQ(message("twice", {}),
            "InvalidArgument: @twice: expected 1 inputs, got 0");
  EXPECT_EQ(message("twice", {floats({1})}),
            "InvalidArgument: @twice: input 0: expected 4xf32, got 1xf32");
  Tensor shortOne = floats({1, 2, 3, 4});
  shortOne.bytes.pop_back();
  EXPECT_EQ(message("twice", {shortOne}),
            "InvalidArgument: @twice: input 0: expected 16 bytes, got 15");
}
