//===- artifact_test.cpp - Invalid artifacts ------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "test/Runtime/support/FakeModel.h"

#include <functional>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns the message with which a spoiled fake model is refused; empty if it
/// is accepted.
std::string messageFor(const std::function<void(ArtifactBuilder &)> &spoil) {
  ArtifactBuilder a = makeFakeModel();
  spoil(a);
  AlignedBytes bytes(a.finish());
  auto artifact = ArtifactFile::fromMemory(bytes.span());
  return std::string(artifact.status().message());
}

ArtifactBuilder::Program &program(ArtifactBuilder &a, const char *name) {
  for (ArtifactBuilder::Program &p : a.programs)
    if (p.name == name)
      return p;
  std::abort();
}

size_t stateIndex(ArtifactBuilder &a, const char *name) {
  for (size_t i = 0; i < a.states.size(); ++i)
    if (a.states[i].name == name)
      return i;
  std::abort();
}

/// Returns a command of decode_b1_k0, program 4, after 4 prefills.
ArtifactBuilder::Command &command(ArtifactBuilder &a) {
  return program(a, "decode_b1_k0").commands[1];
}

constexpr uint64_t kHuge = ~uint64_t(0) - 63;

} // namespace

TEST(Artifact, AcceptsTheFakeModel) {
  EXPECT_EQ(messageFor([](auto &) {}), "");
}

TEST(Artifact, ChecksCommands) {
  EXPECT_EQ(
      messageFor([](auto &a) { command(a).kernel = 99; }),
      "plans[0].programs[4].commands[1]: kernel 99 is past the 16 kernels");
  EXPECT_EQ(
      messageFor([](auto &a) { command(a).bindings.pop_back(); }),
      "plans[0].programs[4].commands[1]: expected 5 bindings and 3 params for "
      "append, got 4 and 3");
  EXPECT_EQ(
      messageFor([](auto &a) { command(a).params.push_back(1); }),
      "plans[0].programs[4].commands[1]: expected 5 bindings and 3 params for "
      "append, got 5 and 4");
}

TEST(Artifact, ChecksWhereActiveRowsAreCounted) {
  using S = schema::Space;
  using Term = schema::Term;
  auto with = [](Binding live, std::vector<Term> terms = {}) {
    return messageFor([&](auto &a) {
      command(a).live = live;
      for (ArtifactBuilder::Kernel &kernel : a.kernels)
        if (kernel.symbol == "append")
          kernel.bytes[0] = terms;
    });
  };
  const std::string where = "plans[0].programs[4].commands[1]: live: ";
  const Binding good(S::Arena, 0, 0, 4);
  EXPECT_EQ(with(good), "");
  EXPECT_EQ(with(Binding(S::State, 0, 0, 4)), "");
  EXPECT_EQ(with(Binding(S::Weight, 0, 0, 4)),
            where + "expected a place in the arena or a state, got space 2");
  EXPECT_EQ(with(Binding(S::Kv, 0, 0, 0)),
            where + "expected a place in the arena or a state, got space 3");
  EXPECT_EQ(with(Binding(S::Arena, 0, 0, 2)),
            where + "expected at least 4 bytes, got 2");
  EXPECT_EQ(with(Binding(S::Arena, 0, 768, 4)),
            where + "offset 768 + 4 bytes is past the arena's 768");
  EXPECT_EQ(with(Binding(S::Arena, 0, 2, 4)),
            where + "offset 2 is no multiple of 4");
  EXPECT_EQ(with(good, {Term(4, 255, 255), Term(-2, 0, 255)}),
            where + "the kernel may touch more of buffer 0 where it has fewer "
                    "rows");
  EXPECT_EQ(with(good, {Term(2, 0, 255), Term(-2, 1, 255)}), "");
}

TEST(Artifact, ChecksBindings) {
  auto with = [](Binding binding, size_t index = 2) {
    return messageFor([&](auto &a) { command(a).bindings[index] = binding; });
  };
  const std::string where = "plans[0].programs[4].commands[1].bindings[2]: ";
  using S = schema::Space;
  EXPECT_EQ(with(Binding(S::Arena, 0, 4096, 512)),
            where + "offset 4096 + 512 bytes is past the arena's 768");
  EXPECT_EQ(with(Binding(S::Arena, 0, kHuge, 128)),
            where + "offset -64 + n * 0 is no offset");
  EXPECT_EQ(with(Binding(S::Arena, 0, 64, kHuge)),
            where + "bytes -64 + n * 0 is no size");
  EXPECT_EQ(with(Binding(S::Arena, 1, 0, 4)),
            where + "expected index 0 in the arena, got 1");
  EXPECT_EQ(with(Binding(S::Arena, 0, 2, 4)),
            where + "offset 2 is no multiple of 4");
  EXPECT_EQ(with(Binding(S::State, 14, 0, 4)),
            where + "state 14 is past the 14");
  EXPECT_EQ(with(Binding(S::State, 0, 16, 4)),
            where + "offset 16 + 4 bytes is past the state's 16");
  EXPECT_EQ(with(Binding(S::Weight, 0, 0, 4)),
            where + "weight 0 is past the 0");
  EXPECT_EQ(with(Binding(S::Constant, 3, 0, 4)),
            where + "constant 3 is past the 0");
  EXPECT_EQ(with(Binding(S::Kv, 2, 0, 0)), where + "cache 2 is past the 2");
  const std::string cache = "plans[0].programs[4].commands[1].bindings[4]: ";
  EXPECT_EQ(with(Binding(S::Kv, 0, 1, 0), 4),
            cache + "layer 1 is past the cache's 1");
  EXPECT_EQ(with(Binding(S::Kv, 0, 0, 4), 4),
            cache + "expected 0 bytes for a whole layer, got 4");
  EXPECT_EQ(with(Binding(S(9), 0, 0, 4)), where + "unknown space 9");
}

TEST(Artifact, ChecksPorts) {
  auto with = [](auto spoil) {
    return messageFor([&](auto &a) { spoil(program(a, "twice")); });
  };
  const std::string where = "plans[0].programs[24].";
  EXPECT_EQ(with([](auto &p) { p.inputs[0].shape = {5}; }),
            where + "inputs[0]: expected 20 bytes for 5xf32, got 16");
  EXPECT_EQ(
      with([](auto &p) { p.outputs[0].shape = {1ull << 60, 1ull << 60}; }),
      where + "outputs[0]: the bytes of "
              "1152921504606846976x1152921504606846976xf32 do not fit "
              "into 64 bits");
  EXPECT_EQ(with([](auto &p) { p.outputs[0].shape.assign(9, 1); }),
            where + "outputs[0]: expected at most 8 dimensions, got 9");
  EXPECT_EQ(with([](auto &p) { p.outputs[0].dtype = schema::DType(77); }),
            where + "outputs[0]: expected an element type below 10, got 77");
  EXPECT_EQ(with([](auto &p) {
              p.inputs[0].binding = Binding(schema::Space::State, 0, 0, 16);
            }),
            where + "inputs[0]: space 1 cannot hold an input");
  EXPECT_EQ(with([](auto &p) {
              p.inputs[0].name = "q.distributions";
              p.inputs[0].dtype = schema::DType::I32;
            }),
            where + "inputs[0]: expected rows of f32 by the name "
                    "\"q.distributions\", got 4xi32");
}

TEST(Artifact, ChecksThatTheEnvelopeIsCovered) {
  auto without = [](const char *name) {
    return messageFor([&](auto &a) {
      std::erase_if(a.programs, [&](auto &p) { return p.name == name; });
    });
  };
  EXPECT_EQ(without("decode_b3_k2"),
            "plans[0]: programs: expected a decode program for every batch up "
            "to 4 and "
            "every k up to 4, got none for batch 3, k 2");
  EXPECT_EQ(without("prefill_c8_m0"), "plans[0]: programs: expected a prefill "
                                      "program for chunk 8 without drafts");
  EXPECT_EQ(without("prefill_c3_m1"), "plans[0]: programs: expected prefill "
                                      "programs for chunk 3 with and without "
                                      "drafts, got one of them");
  EXPECT_EQ(messageFor([](auto &a) { program(a, "decode_b3_k2").k = 5; }),
            "plans[0].programs[16]: batch 3, k 5 is outside the envelope of "
            "batch 4, k "
            "4");
  EXPECT_EQ(messageFor([](auto &a) { program(a, "decode_b3_k2").k = 1; }),
            "plans[0].programs[16]: a second decode program for batch 3, k 1");
  EXPECT_EQ(
      messageFor([](auto &a) {
        a.hasEnvelope = false;
        a.states.clear();
        for (auto &p : a.programs)
          p.commands.clear();
      }),
      "plans[0].programs[0]: expected an envelope for a program that is no "
      "function");
}

// No compiler makes such files.
TEST(Artifact, ChecksTheLimitsOfTheEnvelope) {
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.page = 0; }),
            "envelope.page_tokens: expected 1 to 1024, got 0");
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.maxK = 17; }),
            "envelope.max_k: expected 0 to 16, got 17");
  for (uint32_t nodes : {4u, 65u})
    EXPECT_EQ(messageFor([&](auto &a) { a.envelope.maxNodes = nodes; }),
              "envelope.max_nodes: expected 5 to 64, got " +
                  std::to_string(nodes));
  for (uint32_t rows : {3u, 257u})
    EXPECT_EQ(messageFor([&](auto &a) { a.envelope.maxRows = rows; }),
              "envelope.max_rows: expected 4 to 256, got " +
                  std::to_string(rows));
  using Tree = std::vector<int32_t>;
  auto treeError = [](const Tree &tree) {
    return messageFor([&](auto &a) { a.envelope.tree = tree; });
  };
  EXPECT_EQ(treeError({-1, 0, 0, 1}), "");
  EXPECT_EQ(treeError({-1, 0, 0, 0, 0, 0}),
            "envelope.tree: expected at most 5 nodes, got 6");
  EXPECT_EQ(treeError({0}), "envelope.tree[0]: expected -1 to -1, got 0");
  EXPECT_EQ(treeError({-1, 0, 2}), "envelope.tree[2]: expected 0 to 1, got 2");
  EXPECT_EQ(treeError({-1, -1}), "envelope.tree[1]: expected 0 to 0, got -1");
  // Programs that verify more rows than the budget.
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.maxRows = 20; }), "");
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.maxRows = 19; }),
            "plans[0].programs[23]: expected an output 'places' and the states "
            "'loop' and 'draft_limit' where 19 rows are verified of 20 and "
            "more");
  EXPECT_EQ(messageFor([](auto &a) {
              std::erase_if(a.programs,
                            [](auto &p) { return p.name == "decode_b3_k1"; });
              program(a, "decode_b3_k2").k = 1;
            }),
            "plans[0].programs[15]: output 'picks': expected 2 to 2 rows of a "
            "slot, got 3");
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.maxContext = 1; }),
            "envelope.max_context: expected 2 to 4194304, got 1");
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.chunk = 4097; }),
            "envelope.prefill_chunk: expected 1 to 4096, got 4097");
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.page = 2048; }),
            "envelope.page_tokens: expected 1 to 1024, got 2048");
  EXPECT_EQ(messageFor([](auto &a) { a.envelope.page = 12; }),
            "envelope.page_tokens: expected a power of two, got 12");
}

TEST(Artifact, ChecksWhatTheHostReads) {
  EXPECT_EQ(messageFor([](auto &a) {
              a.states[stateIndex(a, "out_count")].name = "count";
            }),
            "states: expected one named 'out_count'");
  EXPECT_EQ(messageFor([](auto &a) { a.states[7].shape = {4, 6}; }),
            "states[7] 'out_tokens': expected 4x5xi32 (0: any), got 4x6xi32");
  EXPECT_EQ(messageFor([](auto &a) {
              program(a, "decode_b2_k1").outputs[1].name = "choices";
            }),
            "plans[0].programs[10]: expected an output named 'picks'");
  EXPECT_EQ(
      messageFor([](auto &a) {
        auto &port = program(a, "decode_b1_k0").outputs[0];
        port.shape = {64};
      }),
      "plans[0].programs[4]: output 'logits': expected 1x64xf32, got 64xf32");
  EXPECT_EQ(messageFor([](auto &a) { a.eos = {1, 64}; }),
            "generation.eos[1]: token 64 is outside the vocabulary of 64");
  EXPECT_EQ(messageFor([](auto &a) { a.topP = 0; }),
            "generation.top_p: expected a number above 0 and up to 1, got "
            "0.000000");
  EXPECT_EQ(messageFor([](auto &a) { a.temperature = -1; }),
            "generation.temperature: expected 0 or more, got -1.000000");
}

TEST(Artifact, HoldsChatTemplates) {
  EXPECT_EQ(loadFakeModel()->chatTemplate(), nullptr);
  ArtifactBuilder a = makeFakeModel();
  a.chatTemplates = {{"default", "{{ x"}, {"tool_use", "t"}};
  a.chatTokens = {{"bos_token", "<s>"}, {"pad_token", ""}};
  auto model = Model::load(writeFile("templates.bin", a.finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  const ChatSource *chat = (*model)->chatTemplate();
  ASSERT_NE(chat, nullptr);
  EXPECT_EQ(chat->templates, a.chatTemplates);
  EXPECT_EQ(chat->tokens, a.chatTokens);
}

TEST(Artifact, ChecksChatTemplates) {
  auto messageOf =
      [](std::vector<std::pair<std::string, std::string>> templates,
         std::vector<std::pair<std::string, std::string>> tokens) {
        return messageFor([&](auto &a) {
          a.chatTemplates = std::move(templates);
          a.chatTokens = std::move(tokens);
        });
      };
  using Texts = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(messageOf({{"a", std::string(1 << 20, 'x')}},
                      {{"t", std::string(1024, 'x')}}),
            "");
  EXPECT_EQ(messageOf({{"a", "x"}, {"b", ""}}, {}),
            "chat.templates[1]: expected 1 to 1048576 bytes, got 0");
  EXPECT_EQ(messageOf({{"a", std::string((1 << 20) + 1, 'x')}}, {}),
            "chat.templates[0]: expected 1 to 1048576 bytes, got 1048577");
  EXPECT_EQ(messageOf({{"a", "x"}, {"a", "x"}}, {}),
            "chat.templates[1] and chat.templates[0] are both named 'a'");
  EXPECT_EQ(messageOf({{"a b", "x"}}, {}), "chat.templates[0]: expected a "
                                           "visible name of 1 to 1024 bytes");
  Texts many;
  for (int i = 0; i < 65; ++i)
    many.emplace_back(std::to_string(i), "x");
  EXPECT_EQ(messageOf({many.begin(), many.begin() + 17}, {}),
            "chat.templates: expected 1 to 16, got 17");
  EXPECT_EQ(messageOf({{"a", "x"}}, many),
            "chat.tokens: expected 0 to 64, got 65");
  EXPECT_EQ(messageOf({{"a", "x"}}, {{"t", std::string(1025, 'x')}}),
            "chat.tokens[0]: expected 0 to 1024 bytes, got 1025");
}

TEST(Artifact, SaysHowItDraftsAndAccepts) {
  std::shared_ptr<const Model> silent = loadFakeModel();
  EXPECT_EQ(silent->method(), "");
  EXPECT_EQ(silent->rule(), "");
  EXPECT_FALSE(silent->isLossy());
  ArtifactBuilder a = makeFakeModel();
  a.method = "lookup:2,5 before mtp";
  a.rule = "relaxed:4,0.1";
  a.isLossy = true;
  auto model = Model::load(writeFile("drafting.bin", a.finish()));
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  EXPECT_EQ((*model)->method(), *a.method);
  EXPECT_EQ((*model)->rule(), *a.rule);
  EXPECT_TRUE((*model)->isLossy());
  // Tools print these texts unchanged.
  EXPECT_EQ(messageFor([](auto &a) { a.method = "a\nb"; }),
            "method: expected 1 to 256 printable characters, got 3 bytes");
  EXPECT_EQ(messageFor([](auto &a) { a.rule = ""; }),
            "rule: expected 1 to 256 printable characters, got 0 bytes");
  EXPECT_EQ(messageFor([](auto &a) { a.rule = std::string(257, 'x'); }),
            "rule: expected 1 to 256 printable characters, got 257 bytes");
}

TEST(Artifact, ChecksStorage) {
  EXPECT_EQ(messageFor([](auto &a) { a.states[1].offset = 8; }),
            "plans[0].states[1]: offset 8 is no multiple of 64");
  EXPECT_EQ(messageFor([](auto &a) { a.states[1].offset = 0; }),
            "plans[0]: states: two of them share the byte at offset 0");
  ArtifactBuilder fake = makeFakeModel();
  size_t hidden = stateIndex(fake, "hidden");
  EXPECT_EQ(messageFor([&](auto &a) { a.states[hidden].shape = {4, 5, 4096}; }),
            "plans[0].states[" + std::to_string(hidden) + "]: offset " +
                std::to_string(fake.states[hidden].offset) +
                " + 327680 bytes is past the state memory's " +
                std::to_string(fake.stateBytes));
  EXPECT_EQ(messageFor([](auto &a) { a.caches[0].layers = 0; }),
            "caches[0]: expected 1 to 4096 layers, got 0");
  EXPECT_EQ(messageFor([](auto &a) { a.caches[0].layers = 4097; }),
            "caches[0]: expected 1 to 4096 layers, got 4097");
  EXPECT_EQ(
      messageFor([](auto &a) { a.caches[0].entryWidth = (1 << 20) + 1; }),
      "caches[0]: expected an entry of 1 to 1048576 elements, got 1048577");
  // Pages are padded.
  EXPECT_EQ(messageFor([](auto &a) {
              for (auto &cache : a.caches)
                cache.entryWidth = 3;
            }),
            "");
  EXPECT_EQ(messageFor([](auto &a) { a.images[0] = 7; }),
            "plans[0].images[0]: segment 7 is past the 1 segments");
  EXPECT_EQ(messageFor([](auto &a) { a.tokenizer = 0; }),
            "tokenizer: expected a segment of kind Tokenizer, got Image");
  EXPECT_EQ(
      messageFor([](auto &a) { a.arenaBytes = 1ull << 60; }),
      "plans[0]: expected memories of at most 1125899906842624 bytes, got "
      "1152921504606846976");
  EXPECT_EQ(
      messageFor([](auto &a) {
        a.segments[0].offset = 4096;
        a.segments.push_back({});
      }),
      "segments[1]: starts at 0, inside the segment that ends at " +
          std::to_string(4096 + makeFakeModel().segments[0].bytes.size()));
}

TEST(Artifact, ChecksBlobs) {
  auto with = [](ArtifactBuilder::Blob blob) {
    return messageFor([&](auto &a) {
      a.addSegment(schema::SegmentKind::Weights, std::vector<uint8_t>(256, 1));
      a.weights.push_back(blob);
    });
  };
  auto f32 = schema::DType::F32;
  EXPECT_EQ(with({"w", 1, 64, 192, f32, {48}}), "");
  EXPECT_EQ(with({"w", 1, 64, 193, f32, {48}}),
            "plans[0].weights[0]: expected 192 bytes for 48xf32, got 193");
  EXPECT_EQ(
      with({"w", 1, 128, 192, f32, {48}}),
      "plans[0].weights[0]: offset 128 + 192 bytes is past the segment's 256");
  EXPECT_EQ(with({"w", 1, 4, 192, f32, {48}}),
            "plans[0].weights[0]: offset 4 is no multiple of 64");
  EXPECT_EQ(
      with({"w", 0, 0, 192, f32, {48}}),
      "plans[0].weights[0]: expected a segment of kind Weights, got Image");
  EXPECT_EQ(with({"a b", 1, 0, 192, f32, {48}}),
            "plans[0].weights[0]: expected a visible name of 1 to 1024 bytes");
}

/// Returns the message for a model with another weight, or constant.
static std::string messageForBlob(bool isWeight,
                                  const ArtifactBuilder::Blob &blob) {
  return messageFor([&](auto &a) {
    a.addSegment(isWeight ? schema::SegmentKind::Weights
                          : schema::SegmentKind::Constants,
                 std::vector<uint8_t>(4096, 1));
    (isWeight ? a.weights : a.constants).push_back(blob);
  });
}

TEST(Artifact, ChecksTheFormatsOfBlobs) {
  using enum schema::BlobFormat;
  // One panel of 40 inputs in groups of 32: bytes of both formats.
  constexpr uint64_t bytes8 = 2 * 128 + 40 * 32, bytes4 = 2 * 128 + 40 * 16;
  auto with = [](const ArtifactBuilder::Blob &blob) {
    return messageForBlob(/*isWeight=*/true, blob);
  };
  auto i8 = schema::DType::I8;
  EXPECT_EQ(with({"w", 1, 0, bytes8, i8, {1, bytes8}, Int8, 32, 40}), "");
  EXPECT_EQ(with({"w", 1, 0, 2 * bytes4, i8, {2, bytes4}, Int4, 32, 40}), "");
  EXPECT_EQ(with({"w", 1, 0, bytes8, i8, {1, bytes8}, Int4, 32, 40}),
            "plans[0].weights[0]: expected panels of 896 i8 for 40 inputs of "
            "Int4, got "
            "1x1536xi8");
  EXPECT_EQ(with({"w", 1, 0, bytes8, i8, {bytes8}, Int8, 32, 40}),
            "plans[0].weights[0]: expected panels of 1536 i8 for 40 inputs of "
            "Int8, got "
            "1536xi8");
  EXPECT_EQ(
      with({"w", 1, 0, bytes8, schema::DType::U8, {1, bytes8}, Int8, 32, 40}),
      "plans[0].weights[0]: expected panels of 1536 i8 for 40 inputs of Int8, "
      "got "
      "1x1536xui8");
  for (uint32_t group : {0u, 8u, 33u, 160u, 4294967264u})
    EXPECT_EQ(with({"w", 1, 0, bytes8, i8, {1, bytes8}, Int8, group, 40}),
              "plans[0].weights[0]: expected a group that suits elements and "
              "scales, and a number of inputs, got group " +
                  std::to_string(group) + " and 40");
  EXPECT_EQ(with({"w", 1, 0, bytes8, i8, {1, bytes8}, Int8, 32, 0}),
            "plans[0].weights[0]: expected a group that suits elements and "
            "scales, and a number of inputs, got group 32 and 0");
  EXPECT_EQ(with({"w", 1, 0, bytes8, i8, {1, bytes8}, Int8, 32, 4294967295u}),
            "plans[0].weights[0]: expected panels of 154618822656 i8 for "
            "4294967295 inputs of "
            "Int8, got 1x1536xi8");
  EXPECT_EQ(with({"w", 1, 0, 64, i8, {64}, Elements, 32, 0}),
            "plans[0].weights[0]: expected no group, inputs and offset, and "
            "scales of f32 for plain elements, got group 32 and 0");
  int unknown = int(schema::BlobFormat::MAX) + 1;
  EXPECT_EQ(with({"w", 1, 0, 64, i8, {64}, schema::BlobFormat(unknown)}),
            "plans[0].weights[0]: unknown format " + std::to_string(unknown));
  EXPECT_EQ(
      messageForBlob(/*isWeight=*/false,
                     {"c", 1, 0, bytes8, i8, {1, bytes8}, Int8, 32, 40}),
      "plans[0].constants[0]: expected plain elements in a constant, got Int8");
}

TEST(Artifact, ChecksTheFormatsOfTables) {
  using enum schema::BlobFormat;
  // Rows of 41 inputs in groups of 32: a last group of 12 or of 16 integers.
  constexpr uint64_t bytes8 = 2 * 4 + 32 + 12, bytes4 = 2 * 4 + 16 + 8;
  auto with = [](ArtifactBuilder::Blob blob) {
    return messageFor([&](auto &a) {
      a.addSegment(schema::SegmentKind::Weights, std::vector<uint8_t>(4096, 1));
      a.weights.push_back(blob);
    });
  };
  auto i8 = schema::DType::I8;
  EXPECT_EQ(with({"w", 1, 0, 7 * bytes8, i8, {7, bytes8}, Int8Rows, 32, 41}),
            "");
  EXPECT_EQ(with({"w", 1, 0, 7 * bytes4, i8, {7, bytes4}, Int4Rows, 32, 41}),
            "");
  EXPECT_EQ(with({"w", 1, 0, 7 * bytes8, i8, {7, bytes8}, Int4Rows, 32, 41}),
            "plans[0].weights[0]: expected rows of 32 i8 for 41 inputs of "
            "Int4Rows, got "
            "7x52xi8");
  EXPECT_EQ(with({"w", 1, 0, 7 * bytes4, i8, {7, bytes4}, Int8Rows, 32, 41}),
            "plans[0].weights[0]: expected rows of 52 i8 for 41 inputs of "
            "Int8Rows, got "
            "7x32xi8");
  // Rows are not panels.
  EXPECT_EQ(with({"w", 1, 0, 7 * bytes8, i8, {7, bytes8}, Int8, 32, 41}),
            "plans[0].weights[0]: expected panels of 1664 i8 for 41 inputs of "
            "Int8, got "
            "7x52xi8");
  EXPECT_EQ(with({"w", 1, 0, 7 * bytes8, i8, {7, bytes8}, Int8Rows, 33, 41}),
            "plans[0].weights[0]: expected a group that suits elements and "
            "scales, and a number of inputs, got group 33 and 41");
}

TEST(Artifact, ChecksKernels) {
  auto sample = [](ArtifactBuilder &a) -> ArtifactBuilder::Kernel & {
    for (ArtifactBuilder::Kernel &kernel : a.kernels)
      if (kernel.symbol == "mtp.sample")
        return kernel;
    std::abort();
  };
  EXPECT_EQ(messageFor([&](auto &a) { sample(a).symbol = "mtp.dream"; }),
            "plans[0].kernels[4]: no builtin is named 'mtp.dream'");
  EXPECT_EQ(messageFor([&](auto &a) { sample(a).image = 0; }),
            "plans[0].kernels[4]: 'mtp.sample' is a builtin's name");
  EXPECT_EQ(messageFor([&](auto &a) { sample(a).params = 2; }),
            "plans[0].kernels[4]: expected 5 buffers and 3 params for "
            "mtp.sample, got 5 "
            "and 2");
  EXPECT_EQ(messageFor([&](auto &a) { a.kernels[0].image = 3; }),
            "plans[0].kernels[0]: image 3 is past the 1 images");
  EXPECT_EQ(messageFor([&](auto &a) { a.kernels[0].symbol = "target"; }),
            "plans[0].kernels[1] and kernels[0] are both named 'target'");
}

TEST(Artifact, ChecksTheBuiltinsArguments) {
  auto with = [](const char *name, const char *kernel, auto spoil) {
    return messageFor([&](auto &a) {
      for (auto &c : program(a, name).commands)
        if (a.kernels[c.kernel].symbol == kernel)
          spoil(c);
    });
  };
  auto sample = [&](auto spoil) {
    return with("prefill_c8_m0", "mtp.sample", spoil);
  };
  auto parts = [&](auto spoil) {
    return with("decode_b1_k0", "mtp.sample_parts", spoil);
  };
  const Binding small(schema::Space::Arena, 0, 0, 4);
  std::string where = "plans[0].programs[0].commands[4]";
  EXPECT_EQ(sample([](auto &c) { c.params[1] = 65; }),
            where + ".params[1]: expected a vocabulary of at most 64, got 65");
  EXPECT_EQ(sample([](auto &c) { c.params[0] = -1; }),
            where + ".params[0]: expected a row count, got -1");
  EXPECT_EQ(sample([&](auto &c) { c.bindings[0] = small; }),
            where + ".bindings[0]: expected at least 256 bytes, got 4");
  EXPECT_EQ(sample([&](auto &c) { c.bindings[3] = small; }),
            where + ".bindings[3]: expected at least 128 bytes, got 4");
  where = "plans[0].programs[4].commands[4]";
  EXPECT_EQ(parts([](auto &c) { c.params[1] = 65; }),
            where + ".params[1]: expected a vocabulary of at most 64, got 65");
  EXPECT_EQ(parts([](auto &c) { c.params[2] = 65; }),
            where + ".params[2]: expected 1 to 64 parts of the vocabulary, got "
                    "65");
  EXPECT_EQ(parts([](auto &c) { c.params[2] = 0; }),
            where + ".params[2]: expected 1 to 64 parts of the vocabulary, got "
                    "0");
  const uint64_t need[] = {8, 8, 256, 0, 0, 128};
  for (uint32_t i = 0; i < std::size(need); ++i)
    if (need[i])
      EXPECT_EQ(parts([&](auto &c) { c.bindings[i] = small; }),
                where + ".bindings[" + std::to_string(i) +
                    "]: expected at least " + std::to_string(need[i]) +
                    " bytes, got 4");
}

TEST(Artifact, ChecksWhatIsLeftOfStretches) {
  // Two steps instead of mtp.sample_parts; a row is one stretch here.
  auto with = [](const char *kernel, auto spoil) {
    return messageFor([&](auto &a) {
      auto &command = program(a, "decode_b1_k0").commands[4];
      auto &called = a.kernels[command.kernel];
      ASSERT_EQ(called.symbol, "mtp.sample_parts");
      called.symbol = kernel;
      a.arenaBytes = 1 << 16;
      for (auto &p : a.programs) {
        p.arenaBytes = a.arenaBytes;
        for (auto &c : p.commands)
          if (c.kernel == command.kernel) {
            auto &picks = c.bindings.back();
            const Binding buckets(schema::Space::Arena, 0, 0,
                                  uint64_t(c.params[0]) * 2472);
            if (called.symbol == "mtp.sample_scan")
              picks = buckets;
            else
              c.bindings.insert(c.bindings.end() - 1, buckets);
          }
      }
      called.buffers = uint32_t(command.bindings.size());
      spoil(command);
    });
  };
  std::string where = "plans[0].programs[4].commands[4]";
  auto nothing = [](auto &) {};
  EXPECT_EQ(with("mtp.sample_join", nothing), "");
  EXPECT_EQ(with("mtp.sample_scan", nothing), "");
  const Binding small(schema::Space::Arena, 0, 0, 2464);
  for (const char *kernel : {"mtp.sample_scan", "mtp.sample_join"}) {
    EXPECT_EQ(with(kernel, [&](auto &c) { c.bindings[6] = small; }),
              where + ".bindings[6]: expected at least 2472 bytes, got 2464");
    EXPECT_EQ(with(kernel, [](auto &c) { c.params[2] = 0; }),
              where + ".params[2]: expected 1 to 64 parts of the vocabulary, "
                      "got 0");
  }
}
