//===- draft_confidence_test.cpp - The confidence that ends drafts --------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/program/RequestPorts.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint64_t kSlots = 4;

/// Returns the fake model with the state of the confidence.
ArtifactBuilder endingModel(ArtifactBuilder::Upkeep upkeep = {.init = 0.25,
                                                              .input = true},
                            std::vector<uint64_t> shape = {kSlots},
                            schema::DType type = schema::DType::F32) {
  FakeOptions fake;
  fake.hasLimit = true;
  ArtifactBuilder builder = makeFakeModel(fake);
  builder.addState("draft_p_min", std::move(shape), type, upkeep);
  return builder;
}

bool endsDrafts(const ArtifactBuilder &builder) {
  AlignedBytes bytes(builder.finish());
  auto file = ArtifactFile::fromMemory(bytes.span());
  EXPECT_TRUE(file) << file.status().toString();
  return file && findDraftPMin((*file)->artifact()).has_value();
}

/// Runs a step of requests, and returns the confidences of their slots.
std::vector<float> confidencesOf(const std::vector<Request> &requests,
                                 std::optional<float> sessions) {
  auto model = *Model::load(writeFile("ending.bin", endingModel().finish()));
  SessionOptions options;
  options.threads = 1;
  options.draftPMin = sessions;
  Executable *device = nullptr;
  auto session = openSession(model, options, device);
  for (const Request &request : requests)
    EXPECT_TRUE(session->add(request).isOk());
  EXPECT_TRUE(session->step().isOk());
  uint32_t state =
      *ModelAccess::file(*model)->artifact().findState("draft_p_min");
  std::vector<float> values(requests.size());
  Binding place = {schema::Space::State, state, 0,
                   values.size() * sizeof(float)};
  EXPECT_TRUE(device->read(place, values.data(), place.bytes).isOk());
  return values;
}

Request requestWith(std::optional<float> own, std::optional<float> input) {
  Request request;
  request.prompt = {1, 2, 3};
  request.maxTokens = 20;
  request.draftPMin = own;
  if (input) {
    Tensor tensor{{ElementType::F32, {}}, {}};
    tensor.bytes.resize(sizeof(float));
    std::memcpy(tensor.bytes.data(), &*input, sizeof(float));
    request.inputs = {{"draft_p_min", tensor}};
  }
  return request;
}

} // namespace

// A request's own number comes before its input, and both before the session's.
TEST(DraftConfidence, ReachesTheSlots) {
  std::vector<Request> requests = {requestWith({}, {}), requestWith(0.5f, {}),
                                   requestWith({}, 0.125f),
                                   requestWith(0.5f, 0.125f)};
  EXPECT_EQ(confidencesOf(requests, {}),
            (std::vector<float>{0.25f, 0.5f, 0.125f, 0.5f}));
  EXPECT_EQ(confidencesOf(requests, 0.75f),
            (std::vector<float>{0.75f, 0.5f, 0.125f, 0.5f}));
}

// A user's method may have another state of this name.
TEST(DraftConfidence, IsAnInputOfOneNumber) {
  EXPECT_TRUE(endsDrafts(endingModel()));
  EXPECT_TRUE(endsDrafts(endingModel({.init = 1, .input = true})));
  EXPECT_FALSE(endsDrafts(endingModel({.init = 0.25, .input = false})));
  EXPECT_FALSE(endsDrafts(endingModel({.init = 1.5, .input = true})));
  EXPECT_FALSE(endsDrafts(endingModel({.init = -0.5, .input = true})));
  EXPECT_FALSE(
      endsDrafts(endingModel({.init = 0.25, .input = true}, {kSlots, 2})));
  EXPECT_FALSE(endsDrafts(
      endingModel({.init = 1, .input = true}, {kSlots}, schema::DType::I32)));
}
