//===- plan_test.cpp - Programs for ranges, plans for machines ------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "test/Runtime/support/FakeLanguage.h"
#include "test/Runtime/support/FakeModel.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

FakeOptions ranges(uint32_t modules = 1, uint32_t maxBatch = 5) {
  FakeOptions fake;
  fake.hasRanges = true;
  fake.modules = modules;
  fake.maxBatch = maxBatch;
  return fake;
}

/// Returns the message with which a spoiled file is refused; empty if it is
/// accepted.
std::string messageFor(const std::function<void(ArtifactBuilder &)> &spoil,
                       const FakeOptions &options = ranges()) {
  ArtifactBuilder a = makeFakeModel(options);
  spoil(a);
  AlignedBytes bytes(a.finish());
  return std::string(ArtifactFile::fromMemory(bytes.span()).status().message());
}

/// Indices of programs: prefill without and with drafts, then decode of k 0 for
/// batches 1 to 2 and 3 to 5, of k 1, and so on; the last is @twice.
constexpr size_t kPlain = 0, kDrafting = 1, kSmall = 2, kLarge = 3;

ArtifactBuilder::Command &command(ArtifactBuilder &a, size_t program,
                                  const char *kernel) {
  for (ArtifactBuilder::Command &c : a.programs[program].commands)
    if (a.kernels[c.kernel].symbol == kernel)
      return c;
  std::abort();
}

std::vector<Request> requests() {
  std::vector<Request> all;
  for (size_t i = 0; i < 7; ++i) {
    Request &r = all.emplace_back();
    for (size_t t = 0; t < 1 + i * 3; ++t)
      r.prompt.push_back(int32_t((i + t * 5) % 64));
    r.maxTokens = uint32_t(9 + i * 4);
    r.sampling.temperature = i % 2 ? 0.9f : 0;
    r.sampling.seed = i;
  }
  return all;
}

/// Runs the requests at once and compares them with the sampler alone.
void expectLossless(Session &session) {
  std::vector<Request> all = requests();
  std::vector<SequenceId> ids;
  for (const Request &r : all)
    ids.push_back(*session.add(r));
  drain(session);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto output = *session.output(ids[i]);
    EXPECT_EQ(std::vector<int32_t>(output.begin(), output.end()),
              expectedOutput(all[i]).tokens)
        << i;
    std::vector<int32_t> tokens = all[i].prompt;
    for (size_t t = 0; t < output.size(); ++t) {
      auto row = *session.logits(ids[i], t);
      EXPECT_EQ(std::vector<float>(row.begin(), row.end()), fakeLogits(tokens));
      tokens.push_back(output[t]);
    }
  }
}

} // namespace

TEST(Plan, RangesGiveWhatSingleProgramsGave) {
  for (uint32_t modules : {1u, 2u})
    for (uint32_t k : {0u, 1u, 4u}) {
      SessionOptions options;
      options.k = k;
      options.threads = 2;
      options.logits = LogitsMode::All;
      auto ranged = Session::create(loadFakeModel(ranges(modules)), options);
      ASSERT_TRUE(ranged.isOk()) << ranged.status().toString();
      expectLossless(**ranged);
      FakeOptions fake;
      fake.modules = modules;
      fake.maxBatch = 5;
      auto single = Session::create(loadFakeModel(fake), options);
      ASSERT_TRUE(single.isOk());
      expectLossless(**single);
      EXPECT_EQ((*ranged)->statistics().accepted,
                (*single)->statistics().accepted);
    }
}

namespace {

/// Adds separate programs for rounds of rows below position 12. Programs for
/// any positions lose their last command, so that they accept nothing.
ArtifactBuilder withShortRounds() {
  ArtifactBuilder a = makeFakeModel(ranges());
  std::vector<ArtifactBuilder::Program> more;
  for (ArtifactBuilder::Program &p : a.programs) {
    if (p.kind != schema::ProgramKind::Decode || p.k != 0)
      continue;
    more.push_back(p);
    more.back().name += "_below12";
    more.back().positions = 12;
    p.commands.pop_back();
    for (ArtifactBuilder::Schedule &schedule : p.schedules)
      schedule.steps.pop_back();
  }
  a.programs.insert(a.programs.end(), more.begin(), more.end());
  return a;
}

} // namespace

TEST(Plan, RoundsOfShortRowsHaveTheProgramForThem) {
  std::string path = writeFile("short.bin", withShortRounds().finish());
  auto model = Model::load(path);
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  SessionOptions options;
  options.k = 0;
  // The last round of the first sequence begins at position 11, below 12. That
  // of the second sequence does not.
  for (auto [tokens, isShort] : {std::pair(9u, true), {10u, false}}) {
    auto session = Session::create(*model, options);
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    Request request;
    request.prompt = {5, 9, 2, 7};
    request.maxTokens = tokens;
    SequenceId id = *(*session)->add(request);
    drain(**session);
    std::span<const int32_t> output = *(*session)->output(id);
    bool isRight = std::ranges::equal(output, expectedOutput(request).tokens);
    EXPECT_EQ(isRight, isShort) << tokens;
  }
}

TEST(Plan, ProgramsForShortRowsCoverNothing) {
  size_t last = makeFakeModel(ranges()).programs.size() - 1;
  auto with = [](auto spoil) { return messageFor(spoil); };
  EXPECT_EQ(with([](auto &a) { a.programs[kSmall].positions = 12; }),
            "plans[0]: programs: expected a decode program for every batch up "
            "to 5 and every k up to 4, got none for batch 1, k 0");
  EXPECT_EQ(with([](auto &a) {
              for (int i = 0; i < 2; ++i) {
                a.programs.push_back(a.programs[kSmall]);
                a.programs.back().name += std::to_string(i);
                a.programs.back().positions = 12;
              }
            }),
            "plans[0].programs[" + std::to_string(last + 2) +
                "]: a second decode program for batch 1, k 0");
  EXPECT_EQ(with([](auto &a) { a.programs[kPlain].positions = 12; }),
            "plans[0].programs[0]: expected positions of a decode program "
            "alone, got 12");
}

TEST(Plan, RoundsWithPromptsHaveTheirOutputs) {
  auto with = [](size_t program, uint32_t prompts) {
    return messageFor([&](auto &a) { a.programs[program].prompts = prompts; });
  };
  EXPECT_EQ(with(kPlain, 4),
            "plans[0].programs[0]: expected rows of prompts beside those of a "
            "decode program alone, got 4");
  std::string where = "plans[0].programs[" + std::to_string(kSmall) + "]: ";
  EXPECT_EQ(with(kSmall, 9), where + "expected at most 8 rows of prompts, as a "
                                     "chunk has, got 9");
  auto withSequences = [](uint32_t sequences) {
    return messageFor([&](auto &a) {
      a.programs[kSmall].prompts = 3;
      a.programs[kSmall].sequences = sequences;
    });
  };
  EXPECT_EQ(withSequences(4), where + "expected 1 to 3 prompts beside a round, "
                                      "each with a row, got 4");
  // Logits of a prompt's last row come after those of the slots' rows.
  std::string message = with(kSmall, 4);
  EXPECT_EQ(message.substr(0, where.size() + 25),
            where + "output 'logits': expected");
}

TEST(Plan, DraftersCatchUpOverAnyNumberOfRows) {
  // A copy of the drafting prefill, which picks nothing.
  auto with = [](uint32_t begin, uint32_t end, auto spoil) {
    return messageFor([&](ArtifactBuilder &a) {
      ArtifactBuilder::Program p = a.programs[kDrafting];
      p.name = "catch_up";
      p.catchUp = 12;
      p.chunk = begin;
      p.end = end;
      p.outputs.clear();
      spoil(a, p);
      a.programs.push_back(p);
    });
  };
  auto nothing = [](auto &, auto &) {};
  EXPECT_EQ(with(1, 9, nothing), "");
  std::string programs = "plans[0]: programs: ";
  EXPECT_EQ(with(1, 8, nothing),
            programs + "expected a prefill program for every number of rows up "
                       "to 8 of drafters that lag, got none for 8");
  size_t last = makeFakeModel(ranges()).programs.size();
  std::string where = "plans[0].programs[" + std::to_string(last) + "]: ";
  EXPECT_EQ(with(1, 9, [](auto &, auto &p) { p.drafts = false; }),
            where + "expected catch_up of a prefill that drafts alone, "
                    "got 12");
  // With several sequences, some may have no rows.
  EXPECT_EQ(with(1, 9, [](auto &, auto &p) { p.sequences = 5; }), "");
  EXPECT_EQ(with(1, 9, [](auto &, auto &p) { p.sequences = 6; }),
            where + "expected a chunk of 1 to 5 sequences, got 6");
  EXPECT_EQ(
      with(1, 9,
           [](auto &a, auto &p) { p.outputs = a.programs[kDrafting].outputs; }),
      where + "expected no outputs of a prefill for drafters that lag, "
              "got 'logits'");
  std::string second = "plans[0].programs[" + std::to_string(last + 1) + "]: ";
  auto twice = [&](uint32_t reach) {
    return with(1, 9, [&](auto &a, auto &p) {
      a.programs.push_back(p);
      p.name = "again";
      p.catchUp = reach;
    });
  };
  EXPECT_EQ(twice(12), second + "a second prefill program for 1 rows of "
                                "drafters that lag");
  EXPECT_EQ(with(1, 9,
                 [](auto &a, auto &p) {
                   a.programs.push_back(p);
                   p.name = "again";
                   p.sequences = 2;
                 }),
            second + "expected catch_up of 1 sequences, as in other programs, "
                     "got 2");
  EXPECT_EQ(twice(13), second + "expected catch_up of 12, as in other "
                                "programs, got 13");
}

TEST(Plan, APromptComputesItsRowsAndNoMore) {
  auto model = loadFakeModel(ranges());
  EXPECT_EQ(model->envelope()->prefillChunks, (std::vector<uint32_t>{8}));
  SessionOptions options;
  options.chunksPerStep = SessionOptions::kUnbounded;
  auto session = Session::create(model, options);
  ASSERT_TRUE(session.isOk());
  Request r;
  r.prompt = {1, 2, 3, 4, 5};
  for (auto [size, chunks] :
       {std::pair(5u, 1u), {8u, 1u}, {9u, 2u}, {19u, 3u}}) {
    r.prompt.assign(size, int32_t(size));
    SequenceId id = *(*session)->add(r);
    drain(**session);
    EXPECT_EQ((*session)->statistics(id)->prefillChunks, chunks);
    EXPECT_EQ((*session)->statistics(id)->prefillTokens, size);
  }
  // Any size of the range may be the largest.
  options.prefillChunk = 5;
  auto small = Session::create(model, options);
  ASSERT_TRUE(small.isOk()) << small.status().toString();
  SequenceId id = *(*small)->add(r);
  drain(**small);
  EXPECT_EQ((*small)->statistics(id)->prefillChunks, 4u);
  options.prefillChunk = 9;
  EXPECT_EQ(Session::create(model, options).status().message(),
            "expected a prefill chunk of 1 to 8, which the artifact was "
            "compiled for, got 9");
}

namespace {

FakeOptions joint(uint32_t modules = 1) {
  FakeOptions fake = ranges(modules);
  fake.hasAudit = true;
  fake.sequences = {1, 2, 4};
  return fake;
}

/// Returns a prompt that begins with `first`.
Request promptOf(size_t size, int32_t first) {
  Request r;
  for (size_t i = 0; i < size; ++i)
    r.prompt.push_back(int32_t((size_t(first) + i * 7) % 64));
  r.maxTokens = 6;
  return r;
}

/// Returns the number of passes until all of `requests` have their first token.
uint64_t passesFor(Session &session, const std::vector<Request> &requests) {
  uint64_t before = session.statistics().prefillChunks;
  for (const Request &r : requests)
    EXPECT_TRUE(session.add(r).isOk());
  drain(session);
  return session.statistics().prefillChunks - before;
}

} // namespace

TEST(Plan, AChunkOfSeveralSequencesGivesWhatEachGivesAlone) {
  for (uint32_t modules : {1u, 2u})
    for (uint32_t k : {0u, 1u, 4u})
      for (uint32_t chunk : {0u, 4u}) {
        SessionOptions options;
        options.k = k;
        options.threads = 2;
        options.prefillChunk = chunk;
        options.logits = LogitsMode::All;
        auto session = Session::create(loadFakeModel(joint(modules)), options);
        ASSERT_TRUE(session.isOk()) << session.status().toString();
        expectLossless(**session);
        EXPECT_LT((*session)->statistics().prefillChunks, chunk ? 20u : 12u);
      }
}

TEST(Plan, PromptsShareTheRowsOfAChunk) {
  auto model = loadFakeModel(joint());
  auto session = Session::create(model, {});
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  // Chunks of 8 rows, for 1, 2 or 4 sequences.
  EXPECT_EQ(passesFor(**session, {promptOf(2, 1), promptOf(2, 2)}), 1u);
  EXPECT_EQ(passesFor(**session, {promptOf(2, 3), promptOf(3, 4),
                                  promptOf(1, 5), promptOf(2, 6)}),
            1u);
  // Three sequences run as four with one absent, if there is a slot for it;
  // otherwise two, then one.
  std::vector<Request> three = {promptOf(2, 7), promptOf(3, 8), promptOf(1, 9)};
  EXPECT_EQ(passesFor(**session, three), 1u);
  auto full = Session::create(model, {.maxSlots = 3});
  ASSERT_TRUE(full.isOk());
  EXPECT_EQ(passesFor(**full, three), 2u);
  // 8, then 2 + 6, then 4.
  EXPECT_EQ(passesFor(**session, {promptOf(10, 10), promptOf(10, 11)}), 3u);
}

TEST(Plan, APromptWaitsForPagesThatItCanShare) {
  auto session = Session::create(loadFakeModel(joint()), {});
  ASSERT_TRUE(session.isOk());
  // The page of 4 tokens and the next one, which drafters read.
  Request first = promptOf(6, 1), second = first;
  second.prompt.back() = 60;
  EXPECT_EQ(passesFor(**session, {first, second}), 2u);
  EXPECT_EQ((*session)->statistics().cachedTokens, 4u);
  // Both reuse the existing pages, and neither fills pages that the other could
  // share.
  EXPECT_EQ(passesFor(**session, {first, second}), 1u);
  EXPECT_EQ((*session)->statistics().cachedTokens, 12u);
  // No sequence waits if nothing is shared.
  SessionOptions options;
  options.prefixCache = false;
  auto plain = Session::create(loadFakeModel(joint()), options);
  ASSERT_TRUE(plain.isOk());
  first.prompt.resize(4);
  EXPECT_EQ(passesFor(**plain, {first, first}), 1u);
}

TEST(Plan, ASequenceOfAChunkIsCancelled) {
  SessionOptions options;
  options.chunksPerStep = 1;
  auto session = Session::create(loadFakeModel(joint()), options);
  ASSERT_TRUE(session.isOk());
  // 6 rows of the first and 2 of the second, then the rest of the second.
  SequenceId first = *(*session)->add(promptOf(6, 1));
  SequenceId second = *(*session)->add(promptOf(9, 2));
  SequenceId third = *(*session)->add(promptOf(10, 3));
  ASSERT_TRUE((*session)->step().isOk());
  EXPECT_EQ((*session)->statistics(second)->prefillTokens, 2u);
  ASSERT_TRUE((*session)->cancel(second).isOk());
  drain(**session);
  for (const auto &[id, request] :
       {std::pair(first, promptOf(6, 1)), {third, promptOf(10, 3)}}) {
    auto output = *(*session)->output(id);
    EXPECT_EQ(std::vector<int32_t>(output.begin(), output.end()),
              expectedOutput(request).tokens);
  }
}

TEST(Plan, RefusesChunksOfOtherSequences) {
  EXPECT_EQ(
      messageFor([](ArtifactBuilder &a) { a.programs[0].sequences = 0; },
                 joint()),
      "plans[0].programs[0]: expected a chunk of 1 to 1 sequences, got 0");
  // The first program for four sequences.
  EXPECT_EQ(
      messageFor([](ArtifactBuilder &a) { a.programs[4].sequences = 5; },
                 joint()),
      "plans[0].programs[4]: expected a chunk of 1 to 4 sequences, got 5");
  EXPECT_EQ(
      messageFor([](ArtifactBuilder &a) { a.programs[4].sequences = 3; },
                 joint()),
      "plans[0].programs[4]: output 'logits': expected 3x64xf32, got 4x64xf32");
  // A prompt that is one list of tokens is a single prompt.
  EXPECT_EQ(
      messageFor([](ArtifactBuilder &a) { a.programs[0].sequences = 2; }),
      "plans[0].programs[0]: expected a chunk of 1 to 1 sequences, got 2");
}

TEST(Plan, AProgramRunsForItsRangeAlone) {
  std::string path = writeFile("ranges", makeFakeModel(ranges()).finish());
  auto file = ArtifactFile::open(path);
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  auto device = createCpuDevice({.threads = 1});
  auto executable = (*device)->load(*file, 0, 20);
  ASSERT_TRUE(executable.isOk());
  EXPECT_TRUE((*executable)->run(kSmall, 2).isOk());
  CommandTimes times;
  EXPECT_TRUE((*executable)->runTimed(kLarge, 5, times).isOk());
  EXPECT_EQ((*executable)->run(kSmall, 3).toString(),
            "InvalidArgument: expected 1 to 2 slots or rows for program "
            "decode_b1_k0, got 3");
}

TEST(Plan, PlacesAreCheckedAtBothEnds) {
  auto growth = [](ArtifactBuilder::Growth value) {
    return messageFor([&](auto &a) {
      command(a, kLarge, "append").bindingGrowth[0] = value;
    });
  };
  const std::string where = "plans[0].programs[3].commands[1].bindings[0]: ";
  EXPECT_EQ(growth({0, 4}), "");
  EXPECT_EQ(growth({64, 4}), "") << "the places overlap, which is allowed";
  EXPECT_EQ(growth({2, 4}), where + "offset grows by 2, no multiple of 4");
  // Batch 5 is two more than the smallest.
  EXPECT_EQ(growth({0, 4096}),
            where + "offset 192 + 8204 bytes is past the arena's 3840");
  EXPECT_EQ(growth({-128, 4}), where + "offset 576 + n * -128 is no offset");
  EXPECT_EQ(growth({INT64_MAX / 2, 4}),
            where + "offset 4611686018427388099 + n * 4611686018427387903 is "
                    "no offset")
      << "it does not fit 64 bits";
  EXPECT_EQ(messageFor([](auto &a) { a.programs[kLarge].arenaGrowth = -256; }),
            "plans[0].programs[3].commands[2].bindings[4]: offset 1920 + 1280 "
            "bytes is past the arena's 1792");
  EXPECT_EQ(
      messageFor([](auto &a) { a.programs[kLarge].arenaGrowth = 1 << 20; }),
      "plans[0].programs[3]: needs 2099456 bytes of an arena of " +
          std::to_string(makeFakeModel(ranges()).arenaBytes));
}

TEST(Plan, ContractsHoldForAllOfARange) {
  auto with = [](std::vector<schema::Term> terms) {
    return messageFor([&](auto &a) {
      for (ArtifactBuilder::Kernel &kernel : a.kernels)
        if (kernel.symbol == "append")
          kernel.bytes[0] = terms;
    });
  };
  // Its logits begin later by their growth.
  auto aligned = [](uint8_t alignment, int64_t growth) {
    return messageFor([&](auto &a) {
      for (ArtifactBuilder::Kernel &kernel : a.kernels)
        if (kernel.symbol == "target")
          kernel.alignment = alignment;
      command(a, kPlain, "target").bindingGrowth[4].offset += growth;
    });
  };
  using schema::Term;
  EXPECT_EQ(with({Term(4, 0, 255)}), "") << "four bytes a row";
  EXPECT_EQ(
      with({Term(8, 0, 255)}),
      "plans[0].programs[0].commands[0].bindings[0]: the kernel may touch "
      "8 bytes, got 4");
  // It fits at the smallest n, not at the largest.
  EXPECT_EQ(
      with({Term(8, 0, 255), Term(-4, 255, 255)}),
      "plans[0].programs[0].commands[0].bindings[0]: the kernel may touch "
      "60 bytes, got 32");
  EXPECT_EQ(
      with({Term(4, 0, 0)}),
      "plans[0].programs[0].commands[0].bindings[0]: the kernel may touch "
      "256 bytes, got 32");
  EXPECT_EQ(with({Term(-4, 0, 0), Term(9, 0, 255)}),
            "plans[0].programs[0].commands[0].bindings[0]: the bytes that the "
            "kernel may touch grow slower than n: expected a program of one n");
  EXPECT_EQ(with({Term(INT64_MAX, 0, 0)}),
            "plans[0].programs[0].commands[0].bindings[0]: the bytes that the "
            "kernel may touch do not fit 64 bits");
  EXPECT_EQ(aligned(64, 0), "");
  EXPECT_EQ(aligned(64, -4),
            "plans[0].programs[0].commands[1].bindings[4]: expected a start "
            "that grows by multiples of 64, got 60");
  EXPECT_EQ(messageFor([](auto &a) {
              command(a, kLarge, "append").paramGrowth[0] = INT64_MAX / 2;
            }),
            "plans[0].programs[3].commands[1].params[0]: append takes "
            "-9223372036854775808 to 9223372036854775807, got "
            "4611686018427387910 + n * 4611686018427387903 for n of 3 to 5")
      << "the sum does not fit";
}

TEST(Plan, BuiltinsAreCheckedForAllOfARange) {
  auto grow = [](size_t param, int64_t by) {
    return messageFor([&](auto &a) {
      command(a, kSmall, "mtp.sample_parts").paramGrowth[param] = by;
    });
  };
  const std::string where = "plans[0].programs[2].commands[4]";
  EXPECT_EQ(grow(0, 1), "");
  EXPECT_EQ(grow(0, 2), where + ".bindings[0]: expected at least 24 bytes, got "
                                "16");
  EXPECT_EQ(grow(0, -1), where + ".params[0]: expected a row count, got 1");
  EXPECT_EQ(grow(1, 1),
            where + ".params[1]: expected a vocabulary of at most 64, got 64");
  EXPECT_EQ(grow(2, 1), where + ".params[2]: expected the same for all n");
  EXPECT_NE(grow(0, INT64_MAX).find(" does not fit 64 bits"), std::string::npos)
      << grow(0, INT64_MAX);
}

TEST(Plan, PortsGrowWithThePrograms) {
  EXPECT_EQ(messageFor([](auto &a) {
              a.programs[kLarge].outputs[0].shapeGrowth[1] = 64;
            }),
            "plans[0].programs[3].outputs[0]: expected one dimension at most "
            "that grows with n, got 2");
  EXPECT_EQ(messageFor([](auto &a) {
              a.programs[kLarge].outputs[0].shapeGrowth[0] = 0;
            }),
            "plans[0].programs[3].outputs[0]: expected 768 bytes for 3x64xf32, "
            "got 1280");
  EXPECT_EQ(messageFor([](auto &a) {
              auto &port = a.programs[kLarge].outputs[1];
              port.shapeGrowth[0] = 0;
              port.bindingGrowth.bytes = 0;
            }),
            "plans[0].programs[3]: output 'picks': expected 5xi32, got 3xi32");
}

TEST(Plan, EveryBatchIsCovered) {
  EXPECT_EQ(messageFor([](auto &a) {
              a.programs[kLarge].end = 5;
              a.programs[kLarge].schedules.pop_back();
            }),
            "plans[0]: programs: expected a decode program for every batch up "
            "to 5 and every k up to 4, got none for batch 5, k 0");
  EXPECT_EQ(messageFor([](auto &a) { a.programs[kSmall].end = 4; }),
            "plans[0].programs[3]: a second decode program for batch 3, k 0");
  EXPECT_EQ(messageFor(
                [](auto &a) { a.programs.erase(a.programs.begin() + kSmall); }),
            "plans[0]: programs: expected a decode program for every batch up "
            "to 5 and every k up to 4, got none for batch 1, k 0");
  EXPECT_EQ(
      messageFor([](auto &a) { a.programs[kLarge].end = 7; }).substr(0, 20),
      "plans[0].programs[3]");
  EXPECT_EQ(
      messageFor([](auto &a) { a.programs[kDrafting].end = 8; }),
      "plans[0]: programs: expected prefill programs for chunk 8 with and "
      "without drafts, got one of them");
  EXPECT_EQ(
      messageFor([](auto &a) { a.programs[kPlain].end = 8; }),
      "plans[0]: programs: expected a prefill program for chunk 8 without "
      "drafts");
  EXPECT_EQ(messageFor([](auto &a) { a.programs[kSmall].end = 1; }),
            "plans[0].programs[2]: expected a range, got 1 to 1");
}

TEST(Plan, SchedulesStandBesideTheCommands) {
  auto with = [](auto spoil) {
    return messageFor([&](auto &a) { spoil(a.programs[kLarge].schedules); });
  };
  const std::string where = "plans[0].programs[3].";
  EXPECT_EQ(with([](auto &s) { s.clear(); }), "") << "nothing is solo";
  EXPECT_EQ(with([](auto &s) { s[0].begin = 1; }),
            where + "cpu[0]: expected one that begins with the program at 3, "
                    "got 1");
  EXPECT_EQ(with([](auto &s) { s[1].begin = 6; }),
            where + "cpu[1]: expected one that begins within the program, "
                    "after 3, got 6");
  EXPECT_EQ(with([](auto &s) { s[1].begin = 3; }),
            where + "cpu[1]: expected one that begins within the program, "
                    "after 3, got 3");
  EXPECT_EQ(with([](auto &s) { s[0].steps.pop_back(); }),
            where + "cpu[0]: expected 6 steps, got 5");
  EXPECT_EQ(with([](auto &s) { s[0].steps[1] = 4; }),
            where + "cpu[0]: unknown step 4");
}

TEST(Plan, OneAtLeastIsThere) {
  EXPECT_EQ(messageFor([](auto &a) { a.hasCpuPlan = false; }),
            "plans: expected 1 to 16, got 0");
  EXPECT_EQ(messageFor([](auto &a) { a.otherPlans.resize(16, {"test", 0}); }),
            "plans: expected 1 to 16, got 17");
  EXPECT_EQ(messageFor([](auto &a) { a.kernels[0].image = 9; }),
            "plans[0].kernels[0]: image 9 is past the 1 images");
}

TEST(Plan, TheCpuTakesItsOwn) {
  ArtifactBuilder a = makeFakeModel(ranges());
  // Code for the other machine is not checked.
  uint32_t code = a.addSegment(schema::SegmentKind::Image, {1, 2, 3, 4});
  a.otherPlans = {{"test", code}};
  auto model = Model::load(writeFile("two_targets", a.finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  SessionOptions options;
  options.logits = LogitsMode::All;
  auto session = Session::create(*model, options);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  expectLossless(**session);

  a.hasCpuPlan = false;
  auto other = Model::load(writeFile("other_target", a.finish()));
  ASSERT_TRUE(other.isOk()) << other.status().toString();
  EXPECT_EQ(Session::create(*other, {}).status().toString(),
            "FailedPrecondition: expected an artifact compiled for x86_64, got "
            "test");
}

/// Returns the message for a spoiled plan for a GPU.
std::string gpuMessageFor(const std::function<void(ArtifactBuilder &)> &spoil,
                          bool isSimulated = true) {
  return messageFor([&](ArtifactBuilder &a) {
    planForGpu(a, isSimulated);
    spoil(a);
  });
}

TEST(Plan, AGpuHasImagesOfItsOwn) {
  using Format = schema::ImageFormat;
  const std::string image = "plans[0].images[0]: ";
  EXPECT_EQ(gpuMessageFor([](auto &) {}), "");
  EXPECT_EQ(gpuMessageFor([](auto &) {}, false), "");
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.ptx = -1; }, false), "");
  EXPECT_EQ(gpuMessageFor(
                [](auto &a) {
                  a.imageFormat = Format::Ptx;
                  a.ptx = -1;
                },
                false),
            "");
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.imageFormat = Format::Cubin; }),
            image + "format Cubin is not for nvptx and its gpu-sim");
  EXPECT_EQ(
      gpuMessageFor([](auto &a) { a.imageFormat = Format::Hosted; }, false),
      image + "format Hosted is not for nvptx and its sm_90");
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.imageFormat = Format(4); }),
            image + "unknown format 4");
  EXPECT_EQ(messageFor([](auto &a) { a.imageFormat = Format::Ptx; }),
            image + "format Ptx is not for x86_64");
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.ptx = 0; }),
            image + "expected PTX beside a Cubin only, got a Hosted");
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.ptx = 7; }, false),
            image + "ptx: segment 7 is past the 1 segments");
  for (const char *chip :
       {"sm_", "sm_9", "sm_090", "sm_90b", "sm_90aa", "sm_1000", "znver4"})
    EXPECT_EQ(gpuMessageFor([&](auto &a) { a.cpu = chip; }, false),
              image + "format Cubin is not for nvptx and its " + chip);
  EXPECT_EQ(gpuMessageFor([&](auto &a) { a.cpu = ""; }, false),
            "plans[0]: target: expected a chip like sm_90, or the driver of "
            "hosted images, for nvptx, got none");
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.cpu = "sm_100a"; }, false), "");
}

TEST(Plan, AGpuStartsEveryKernel) {
  using Launch = ArtifactBuilder::Launch;
  auto with = [](Launch launch) {
    return gpuMessageFor([&](auto &a) { a.kernels[1].launch = launch; });
  };
  const std::string kernel = "plans[0].kernels[1]: ";
  EXPECT_EQ(with({1024, 227 << 10}), "");
  for (uint32_t threads : {0u, 33u, 1056u, ~0u})
    EXPECT_EQ(with({threads, 0}),
              kernel +
                  "launch: expected a multiple of 32 threads up to 1024, "
                  "got " +
                  std::to_string(threads));
  EXPECT_EQ(with({32, (227 << 10) + 1}),
            kernel + "launch: expected at most 232448 bytes of shared memory, "
                     "got 232449");
  std::string message =
      gpuMessageFor([](auto &a) { a.kernels[1].launch.reset(); });
  EXPECT_EQ(message.rfind(kernel + "expected a contract and a launch of ", 0),
            0u)
      << message;
  message = gpuMessageFor([](auto &a) { a.kernels[1].image = -1; });
  EXPECT_EQ(message.rfind(kernel + "expected an image of '", 0), 0u) << message;
  EXPECT_EQ(messageFor([](auto &a) { a.kernels[1].launch = {32, 0}; }),
            kernel + "expected no launch in a plan for a CPU");
  // A command with a number of active rows needs a kernel that takes it.
  for (bool takesActive : {false, true})
    EXPECT_EQ(gpuMessageFor([&](auto &a) {
                ArtifactBuilder::Command &append = command(a, kLarge, "append");
                append.live = Binding(schema::Space::Arena, 0, 0, 4);
                a.kernels[append.kernel].launch->takesActive = takesActive;
              }),
              takesActive
                  ? ""
                  : "plans[0].programs[3].commands[1]: live: expected a "
                    "kernel that takes how many rows live "
                    "(launch.takes_live), got one that computes all");
  for (int32_t image : {-1, 1})
    EXPECT_EQ(gpuMessageFor([&](auto &a) { a.deviceLoop = image; }),
              "plans[0]: device_loop: expected one of 1 images, got " +
                  std::to_string(image));
  EXPECT_EQ(gpuMessageFor([](auto &a) { a.scratchBytes = 64; }),
            "plans[0]: expected no scratch in a plan for a GPU, got 64 bytes");
  EXPECT_EQ(gpuMessageFor([](auto &a) {
              size_t commands = a.programs[kLarge].commands.size();
              a.programs[kLarge].schedules = {
                  {3, std::vector<uint8_t>(commands)}};
            }),
            "plans[0].programs[3]: cpu: expected no schedule in a plan for a "
            "GPU");
  EXPECT_EQ(gpuMessageFor([](auto &a) {
              command(a, kLarge, "append").params[0] = int64_t(1) << 31;
            }),
            "plans[0].programs[3].commands[1]: tasks: expected at most "
            "2147483647 blocks, got 2147483648");
}

TEST(Plan, WorkIsBounded) {
  // A thousand programs with one vector of ten thousand commands.
  flatbuffers::FlatBufferBuilder fbb;
  auto name = fbb.CreateString("none");
  auto target = schema::CreateTarget(fbb, fbb.CreateString("x86_64"));
  std::vector<flatbuffers::Offset<schema::Contract>> none;
  auto contract = schema::CreateContract(fbb, 0, 0, 1, 0);
  std::vector<flatbuffers::Offset<schema::Kernel>> kernel = {
      schema::CreateKernel(fbb, name, name, 0, 0, 0, 0, contract)};
  std::vector<flatbuffers::Offset<schema::Image>> image = {
      schema::CreateImage(fbb, schema::ImageFormat::ElfShared, 0)};
  std::vector<flatbuffers::Offset<void>> many(
      10000, schema::CreateDispatch(fbb, uint32_t(0)).Union());
  auto commands = fbb.CreateVector(many);
  std::vector<uint8_t> types(many.size(), uint8_t(schema::Action::Dispatch));
  auto actions =
      fbb.CreateVectorScalarCast<schema::Action>(types.data(), types.size());
  std::vector<flatbuffers::Offset<schema::PlanProgram>> programs;
  for (int i = 0; i < 500; ++i)
    programs.push_back(schema::CreatePlanProgram(
        fbb, fbb.CreateString("p" + std::to_string(i)),
        schema::ProgramKind::Function, 0, 1, 0, 0, false, nullptr, 0, actions,
        commands));
  auto kernelVector = fbb.CreateVector(kernel);
  auto imageVector = fbb.CreateVector(image);
  auto programVector = fbb.CreateVector(programs);
  std::vector<flatbuffers::Offset<schema::Plan>> plans = {schema::CreatePlan(
      fbb, target, imageVector, kernelVector, 0, 0, 0, 0, 0, 0, programVector)};
  auto planVector = fbb.CreateVector(plans);
  std::vector<flatbuffers::Offset<schema::Segment>> segments = {
      schema::CreateSegment(fbb, schema::SegmentKind::Image, 0, 0, 0)};
  auto segmentVector = fbb.CreateVector(segments);
  schema::ArtifactBuilder root(fbb);
  root.add_producer(name);
  root.add_segments(segmentVector);
  root.add_plans(planVector);
  schema::FinishArtifactBuffer(fbb, root.Finish());
  AlignedBytes file(makeFileFront(fbb.GetBufferPointer(), fbb.GetSize(), 0));
  std::string message(ArtifactFile::fromMemory(file.span()).status().message());
  EXPECT_NE(message.find("the tables name the same vectors again and again"),
            std::string::npos)
      << message;
}
