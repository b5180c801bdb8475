//===- automaton_test.cpp - Sets of characters and automata ---------------===//

#include "runtime/grammar/automaton/AutomatonBuilder.h"
#include "runtime/grammar/automaton/Utf8Ranges.h"
#include "runtime/utf8/Utf8.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::grammar;

namespace {

bool isInSequences(const std::vector<ByteSequence> &sequences,
                   std::string_view text) {
  int found = 0;
  for (const ByteSequence &sequence : sequences) {
    bool fits = sequence.size == text.size();
    for (size_t i = 0; fits && i < text.size(); ++i) {
      auto byte = static_cast<uint8_t>(text[i]);
      fits =
          sequence.ranges[i].first <= byte && byte <= sequence.ranges[i].last;
    }
    found += fits;
  }
  EXPECT_LE(found, 1) << "sequences overlap";
  return found == 1;
}

} // namespace

TEST(CodePoints, AddJoinsRanges) {
  CodePoints set = {{5, 7}, {1, 2}, {8, 9}, {3, 3}};
  ASSERT_EQ(set.ranges().size(), 2u);
  EXPECT_EQ(set.ranges()[0], (CodePointRange{1, 3}));
  EXPECT_EQ(set.ranges()[1], (CodePointRange{5, 9}));
  set.add(9, 4);
  EXPECT_EQ(set.ranges().size(), 2u);
}

TEST(CodePoints, HasNoSurrogates) {
  CodePoints all = CodePoints::all();
  EXPECT_FALSE(all.contains(0xD800));
  EXPECT_FALSE(all.contains(0xDFFF));
  EXPECT_TRUE(all.contains(0xD7FF));
  EXPECT_TRUE(all.contains(0xE000));
  EXPECT_TRUE(all.complement().empty());
}

TEST(CodePoints, ComplementAndIntersection) {
  CodePoints set = {{'b', 'd'}, {0xE000, 0xE001}};
  CodePoints rest = set.complement();
  for (uint32_t c : {0u, 'a' + 0u, 'e' + 0u, 0xD7FFu, 0xE002u, 0x10FFFFu})
    EXPECT_TRUE(rest.contains(c)) << c;
  for (uint32_t c : {'b' + 0u, 'd' + 0u, 0xD800u, 0xE000u, 0xE001u})
    EXPECT_FALSE(rest.contains(c)) << c;
  EXPECT_TRUE(set.intersection(rest).empty());
  EXPECT_EQ(set.intersection({{'c', 'z'}}).ranges()[0],
            (CodePointRange{'c', 'd'}));
}

TEST(Utf8Ranges, EveryCharacterHasOneSequence) {
  auto sequences = utf8Sequences(CodePoints::all());
  for (uint32_t c = 0; c <= CodePoints::kLast; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF)
      continue;
    std::string text;
    appendUtf8(text, c);
    ASSERT_TRUE(isInSequences(sequences, text)) << c;
  }
  for (const char *text : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                           "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF"})
    EXPECT_FALSE(isInSequences(sequences, text));
}

TEST(Utf8Ranges, RangesAreExact) {
  for (auto [first, last] : {std::pair<uint32_t, uint32_t>{0x41, 0x900},
                             {0x7FF, 0x801},
                             {0xFFF0, 0x10010},
                             {0x3B1, 0x3C9},
                             {0xD000, 0xE123}}) {
    auto sequences = utf8Sequences({{first, last}});
    for (uint32_t c = first - 40; c <= last + 40; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF)
        continue;
      std::string text;
      appendUtf8(text, c);
      ASSERT_EQ(isInSequences(sequences, text), c >= first && c <= last) << c;
    }
  }
}

TEST(AutomatonBuilder, RemovesEdgesThatLeadNowhere) {
  AutomatonBuilder builder{Limits()};
  RuleId root = builder.addRule("root"), never = builder.addRule("never");
  StateId dead = builder.addState();
  builder.addBytes(builder.startOf(root), 'a', 'a', builder.endOf(root));
  builder.addBytes(builder.startOf(root), 'b', 'b', dead);
  builder.addCall(builder.startOf(root), never, builder.endOf(root));
  StateId start = builder.startOf(root);
  auto automaton = std::move(builder).finish(root);
  ASSERT_TRUE(automaton.isOk());
  ASSERT_EQ(automaton->byteEdges[start].size(), 1u);
  EXPECT_EQ(automaton->byteEdges[start][0].first, 'a');
  EXPECT_TRUE(automaton->callEdges[start].empty());
}

TEST(AutomatonBuilder, RefusesARootWithoutTexts) {
  AutomatonBuilder builder{Limits()};
  RuleId root = builder.addRule("root");
  StateId after = builder.addState();
  builder.addBytes(builder.startOf(root), 'a', 'a', after);
  builder.addCall(after, root, builder.endOf(root));
  Status status = std::move(builder).finish(root).status();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("'root'"), std::string::npos);
}

TEST(AutomatonBuilder, RefusesMoreThanItsLimits) {
  Limits limits;
  limits.states = 10;
  AutomatonBuilder builder(limits);
  RuleId root = builder.addRule("root");
  builder.addText(builder.startOf(root), "0123456789", builder.endOf(root));
  EXPECT_TRUE(builder.isFull());
  EXPECT_EQ(std::move(builder).finish(root).status().code(),
            StatusCode::ResourceExhausted);
}

TEST(AutomatonBuilder, ClassesSeparateBytesWithDifferentEdges) {
  AutomatonBuilder builder{Limits()};
  RuleId root = builder.addRule("root");
  builder.addBytes(builder.startOf(root), 'b', 'y', builder.endOf(root));
  builder.addBytes(builder.startOf(root), 'm', 'z', builder.endOf(root));
  auto automaton = std::move(builder).finish(root);
  ASSERT_TRUE(automaton.isOk());
  const auto &classes = automaton->classOfByte;
  EXPECT_EQ(automaton->numClasses, 5u);
  EXPECT_EQ(classes['a'], classes[0]);
  EXPECT_EQ(classes['b'], classes['l']);
  EXPECT_NE(classes['l'], classes['m']);
  EXPECT_EQ(classes['m'], classes['y']);
  EXPECT_NE(classes['y'], classes['z']);
  EXPECT_NE(classes['z'], classes['{']);
}
