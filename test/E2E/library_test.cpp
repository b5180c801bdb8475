//===- library_test.cpp - Prompts through the vendor's library ------------===//
//
// On gpu-sim. Its library adds in an order that depends on the number of rows
// and on a row's place among them. Rows that go through it in another chunk or
// at another place have other bits, and a test here fails. Chunks have 32 rows,
// two pages.
//
//===----------------------------------------------------------------------===//

#include "harness/Generation.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint32_t kChunk = 32, kPage = 16;

Request makeRequest(uint32_t text, uint32_t promptTokens, uint32_t maxTokens,
                    uint32_t vocab) {
  Request request;
  for (uint32_t i = 0; i < promptTokens; ++i)
    request.prompt.push_back(textToken(text, i, vocab));
  request.maxTokens = maxTokens;
  request.ignoreEos = true;
  return request;
}

class Library : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    gpu = loadArtifact(GetParam(), DeviceKind::Cuda);
    ASSERT_TRUE(gpu);
    envelope = *gpu->envelope();
    ASSERT_EQ(envelope.prefillChunk, kChunk);
    ASSERT_EQ(envelope.pageTokens, kPage);
  }

  Request request(uint32_t text, uint32_t promptTokens,
                  uint32_t maxTokens = 4) const {
    return makeRequest(text, promptTokens, maxTokens, envelope.vocab);
  }
  /// Returns prompts of more than two chunks, more than one chunk, and less
  /// than a chunk.
  std::vector<Request> requests(float temperature = 0) const {
    std::vector<Request> all = {request(1, 66, 3), request(3, 32, 3),
                                request(2, 18, 4)};
    for (Request &one : all)
      if (temperature > 0)
        one.sampling = {temperature, 20, 0.9f, 0.02f, 77};
    return all;
  }

  std::shared_ptr<const Model> gpu;
  EnvelopeInfo envelope;
};

/// A session, and the state that one request leaves in it.
class Service {
public:
  Service(std::shared_ptr<const Model> model, SessionOptions options) {
    options.logits = LogitsMode::All;
    auto created = Session::create(std::move(model), options);
    EXPECT_TRUE(created.isOk()) << created.status().toString();
    session = std::move(*created);
  }
  Generated run(const Request &request) {
    SequenceId id = *session->add(request);
    finishLike(*session, {}, {});
    statistics = *session->statistics(id);
    return collect(*session, id);
  }

  std::unique_ptr<Session> session;
  Statistics statistics;
};

} // namespace

TEST_P(Library, MultipliesWholeChunks) {
  Outcome run = generate(gpu, single(/*k=*/0, /*slots=*/1), requests());
  EXPECT_EQ(run.statistics.libraryTokens, 64u + 32 + 0);
  EXPECT_EQ(run.statistics.prefillTokens, 66u + 32 + 18);
  Service service(gpu, single(0, 1));
  EXPECT_EQ(service.session->promptKernels().rfind("cuBLASLt 13.", 0), 0u)
      << service.session->promptKernels();
}

TEST_P(Library, LogitsAreTheCpus) {
  auto cpu = loadArtifact(GetParam(), DeviceKind::Cpu);
  ASSERT_TRUE(cpu);
  std::vector<Request> all = requests();
  Outcome run = generate(gpu, single(0, 1), all);
  Outcome expected = generate(cpu, single(0, 1), all);
  for (size_t i = 0; i < all.size(); ++i) {
    // Logits of the first token, which depend on the whole prompt.
    size_t vocab = envelope.vocab;
    const std::vector<float> &x = run.sequences[i].logits,
                             &y = expected.sequences[i].logits;
    ASSERT_GE(std::min(x.size(), y.size()), vocab);
    float best = *std::max_element(y.begin(), y.begin() + long(vocab));
    for (size_t j = 0; j < vocab; ++j)
      ASSERT_NEAR(x[j], y[j], 0.03f * std::max(1.0f, std::abs(best)))
          << "request " << i;
  }
}

TEST_P(Library, DraftsAndBatchesChangeNoBit) {
  for (float temperature : {0.0f, 0.8f}) {
    Outcome expected = generate(gpu, single(0, 1), requests(temperature));
    for (uint32_t k = 0; k <= envelope.maxK; ++k) {
      SessionOptions options = single(k, envelope.maxBatch);
      Outcome run = generate(gpu, options, requests(temperature));
      expectSame(run, expected, options);
      EXPECT_EQ(run.statistics.libraryTokens, 96u);
    }
  }
}

// After preemption the plan's kernels compute generated tokens again, and the
// library the prompt, whatever is left of either.
TEST_P(Library, PreemptionChangesNoBit) {
  std::vector<Request> all = {request(1, 40, 20), request(2, 34, 18)};
  Outcome expected = generate(gpu, single(0, 1), all);
  for (bool reuses : {false, true}) {
    SessionOptions options = single(envelope.maxK, 2);
    options.prefixCache = reuses;
    options.kvPages = 8;
    Outcome run = generate(gpu, options, all);
    expectSame(run, expected, options);
    EXPECT_GT(run.statistics.preemptions, 0u);
  }
}

TEST_P(Library, PartOfAChunkHasTheBitsOfAll) {
  // The second prompt shares the first one's pages up to the middle of a chunk.
  // If drafters read ahead, a page depends on the token after it.
  for (uint32_t pages : {1u, 3u}) {
    Request first = request(1, 66), second = request(2, 66);
    std::copy_n(first.prompt.begin(), pages * kPage + 2, second.prompt.begin());
    Generated expected = Service(gpu, single(0, 1)).run(second);
    SessionOptions options = single(envelope.maxK, 1);
    options.prefixCache = true;
    Service service(gpu, options);
    service.run(first);
    Generated run = service.run(second);
    EXPECT_EQ(service.statistics.cachedTokens, pages * kPage);
    EXPECT_EQ(service.statistics.libraryTokens, 2 * kChunk - pages * kPage);
    EXPECT_EQ(run.tokens, expected.tokens);
    EXPECT_TRUE(bitEqual(run.logits, expected.logits));
  }
}

/// Returns options of a session with two slots that shares pages.
static SessionOptions sharing(uint32_t pages) {
  SessionOptions options = single(/*k=*/0, 2);
  options.prefixCache = true;
  options.kvPages = pages;
  return options;
}

// Pages made by rounds are reused for a prompt, as the README says, and a
// preemption makes them again in the same way.
TEST_P(Library, GeneratedPagesArePartOfPrompts) {
  auto talk = [&](uint32_t pages, bool isPressed) {
    Service service(gpu, sharing(pages));
    Request next = request(1, 20, 30);
    Generated turn = service.run(next);
    next.prompt.insert(next.prompt.end(), turn.tokens.begin(),
                       turn.tokens.end());
    next.prompt.resize(66, 5);
    next.maxTokens = 20;
    // An older sequence, which takes all pages in the end.
    if (isPressed)
      EXPECT_TRUE(service.session->add(request(3, 30, 90)).isOk());
    Generated result = service.run(next);
    return std::pair(result, service.statistics);
  };
  auto [expected, calm] = talk(40, false);
  EXPECT_EQ(calm.cachedTokens, 48u);
  EXPECT_EQ(calm.libraryTokens, 16u);
  auto [run, pressed] = talk(9, true);
  EXPECT_EQ(pressed.preemptions, 1u);
  EXPECT_EQ(pressed.cachedTokens, 48u);
  EXPECT_EQ(pressed.libraryTokens, 32u);
  EXPECT_EQ(run.tokens, expected.tokens);
  EXPECT_TRUE(bitEqual(run.logits, expected.logits));
}

// An older sequence generates the text of the prompt. The prompt shares its
// first page. It does not share pages that come later, although they exist when
// the prompt is prefilled again.
TEST_P(Library, LaterPagesAreNotPartOfPrompts) {
  Request older = request(1, 20, 90), next = older;
  Generated text = Service(gpu, single(0, 1)).run(request(1, 20, 30));
  next.prompt.insert(next.prompt.end(), text.tokens.begin(), text.tokens.end());
  next.prompt.resize(66, 5);
  next.maxTokens = 20;
  auto talk = [&](uint32_t pages) {
    Service service(gpu, sharing(pages));
    EXPECT_TRUE(service.session->add(older).isOk());
    Generated result = service.run(next);
    return std::pair(result, service.statistics);
  };
  auto [run, pressed] = talk(8);
  EXPECT_EQ(pressed.preemptions, 1u);
  EXPECT_EQ(pressed.cachedTokens, 2u * kPage);
  EXPECT_EQ(pressed.libraryTokens, 2u * 48);
  older.maxTokens = 1;
  auto [expected, calm] = talk(40);
  EXPECT_EQ(calm.preemptions, 0u);
  EXPECT_EQ(calm.cachedTokens, kPage);
  EXPECT_EQ(calm.libraryTokens, 48u);
  EXPECT_EQ(run.tokens, expected.tokens);
  EXPECT_TRUE(bitEqual(run.logits, expected.logits));
}

TEST_P(Library, DeterministicSessionsDoWithoutIt) {
  std::vector<Request> all = requests();
  SessionOptions options = single(0, 1);
  options.deterministic = true;
  Outcome expected = generate(gpu, options, all);
  EXPECT_EQ(expected.statistics.libraryTokens, 0u);
  // The library's bits must differ, or the tests here would prove nothing.
  // Nothing is guaranteed about a GPU's bits.
  Outcome other = generate(gpu, single(0, 1), all);
  if (!isKit())
    EXPECT_FALSE(
        bitEqual(other.sequences[0].logits, expected.sequences[0].logits));
  EXPECT_TRUE(
      bitEqual(other.sequences[2].logits, expected.sequences[2].logits));
  for (uint32_t chunk : {7u, kChunk}) {
    options = single(envelope.maxK, envelope.maxBatch);
    options.deterministic = true;
    options.prefillChunk = chunk;
    options.prefixCache = true;
    expectSame(generate(gpu, options, all), expected, options);
  }
  // So has a session whose chunks are shorter than the library's.
  options.deterministic = false;
  options.prefillChunk = kPage;
  Outcome shorter = generate(gpu, options, all);
  expectSame(shorter, expected, options);
}

// Calls that session.h does not permit.
TEST_P(Library, ProgramsWaitUntilItIsAskedFor) {
  auto file = ArtifactFile::open(artifactPath(GetParam()));
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  const std::vector<Plan> &plans = (*file)->artifact().plans;
  auto plan = std::find_if(plans.begin(), plans.end(),
                           [](const Plan &p) { return p.isGpu(); });
  ASSERT_NE(plan, plans.end());
  auto program = std::find_if(plan->programs.begin(), plan->programs.end(),
                              [](const Program &p) { return p.callsLibrary; });
  ASSERT_NE(program, plan->programs.end());
  auto executable = (*createCudaDevice())
                        ->load(*file, uint32_t(plan - plans.begin()),
                               /*kvPages=*/8, /*watchedStates=*/{});
  ASSERT_TRUE(executable.isOk()) << executable.status().toString();
  uint32_t index = uint32_t(program - plan->programs.begin());
  const std::string refusal = "FailedPrecondition: program " +
                              std::string(program->name) +
                              " has products of a library that was not "
                              "asked for";
  CommandTimes times;
  EXPECT_EQ((*executable)->run(index, kChunk).toString(), refusal);
  EXPECT_EQ((*executable)->runTimed(index, kChunk, times).toString(), refusal);
}

/// With prompts merged into rounds.
using LibraryBeside = Library;

// Whole chunks of prompts that arrive while others run go through the library.
// Only the rest shares rounds.
TEST_P(LibraryBeside, OnlyThePlansRowsMix) {
  std::vector<Request> all = {request(2, 18, 12), request(1, 66, 3),
                              request(4, 20, 3)};
  auto talk = [&](bool isApart, bool isDeterministic) {
    SessionOptions options = single(envelope.maxK, envelope.maxBatch);
    options.separatePrompts = isApart;
    options.deterministic = isDeterministic;
    return generate(gpu, options, all);
  };
  Outcome expected = talk(true, false), run = talk(false, false);
  expectSame(run, expected, single(envelope.maxK, envelope.maxBatch));
  EXPECT_EQ(expected.statistics.mixedTokens, 0u);
  EXPECT_EQ(run.statistics.libraryTokens, 64u);
  EXPECT_GE(run.statistics.mixedTokens, 2u);
  EXPECT_LE(run.statistics.mixedTokens, 2u + 20);
  // Either kernels compute the whole prompt, or no part of it. Its bits equal a
  // prompt that only kernels compute.
  Outcome plain = talk(true, true), mixed = talk(false, true);
  expectSame(mixed, plain, single(envelope.maxK, envelope.maxBatch));
  EXPECT_EQ(mixed.statistics.libraryTokens, 0u);
  EXPECT_GE(mixed.statistics.mixedTokens, 66u);
  if (!isKit())
    EXPECT_FALSE(bitEqual(run.sequences[1].logits, mixed.sequences[1].logits));
}

INSTANTIATE_TEST_SUITE_P(Models, LibraryBeside,
                         testing::Values("mimo-mtp1.mixedlibrary"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return testName(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(Models, Library,
                         testing::Values("llama-gqa.library",
                                         "mimo-mtp1.library"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return testName(info.param);
                         });
