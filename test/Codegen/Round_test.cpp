//===- Round_test.cpp - Rows and state of rounds and prefill --------------===//
//
// Integer kernels; they are the same code for every target, so the tests run
// on the machine's own.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using Ints = std::vector<int32_t>;

static TargetDesc native() {
  return llvm::cantFail(TargetDesc::parse("native"));
}

namespace {

/// Three slots; slots 2 and 0 are active. Slot 2 has n = 9, a = 1; slot 0 was
/// only just filled: n = 1, a = 0.
struct State {
  Guarded<int32_t> active{Ints{2, 0}}, length{Ints{1, 50, 9}},
      accepted{Ints{0, 3, 1}};
  // Kmax = 3.
  Guarded<int32_t> window{Ints{10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}};
  Guarded<int32_t> drafts{Ints{100, 101, 102, 200, 201, 202}};
  Guarded<int32_t> tokens{Ints(10, -9)}, slots{Ints(10, -9)},
      positions{Ints(10, -9)};
};

} // namespace

static Ints head(Guarded<int32_t> &values, int count) {
  return {values.data(), values.data() + count};
}

TEST(Round, RefreshRows) {
  Kernel kernel(native(), "refresh_rows", "kmax1 = 4, slots = 3");
  for (int d : {1, 2}) {
    State s;
    Guarded<int32_t> last(2);
    int k = 2, rows = k + d;
    kernel.run({s.active.data(), s.length.data(), s.accepted.data(),
                s.window.data(), s.drafts.data(), s.tokens.data(),
                s.slots.data(), s.positions.data(), last.data()},
               {2, k, d}, Split::Single);
    // Slot 2: p0 = 7. Slot 0: p0 = 0.
    if (d == 1) {
      EXPECT_EQ(head(s.tokens, 6), (Ints{30, 31, 0, 10, 0, 0}));
      EXPECT_EQ(head(s.positions, 6), (Ints{7, 8, -1, 0, -1, -1}));
      EXPECT_EQ(last.values(), (Ints{1, 3}));
    } else {
      EXPECT_EQ(head(s.tokens, 8), (Ints{30, 31, 100, 0, 0, 200, 0, 0}));
      EXPECT_EQ(head(s.positions, 8), (Ints{6, 7, 8, -1, -1, 0, -1, -1}));
      EXPECT_EQ(last.values(), (Ints{2, 5}));
    }
    for (int r = 0; r < 2 * rows; ++r)
      EXPECT_EQ(s.slots[r], r < rows ? 2 : 0);
    EXPECT_EQ(s.tokens[2 * rows], -9);
  }
}

TEST(Round, RefreshHidden) {
  Kernel kernel(native(), "refresh_hidden", "width = 21, kmax1 = 4, slots = 3");
  auto hidden = randomFloats(3 * 4 * 21, 1);
  State s;
  Guarded<float> in(hidden), out(2 * 3 * 21);
  kernel.run({s.active.data(), in.data(), out.data()}, {2, 2}, Split::Single);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3 * 21; ++j)
      EXPECT_EQ(out[i * 3 * 21 + j], hidden[s.active[i] * 4 * 21 + j]);
}

TEST(Round, ShiftHiddenHandsOnTheAnchorsRow) {
  const int width = 19, k = 2, d = 2, rows = k + d;
  State s;
  auto carry = randomFloats(3 * width, 1),
       prev = randomFloats(2 * 3 * width, 2);
  Guarded<float> kept(carry), in(prev), out(2 * rows * width);
  Kernel(native(), "shift_hidden", "width = 19, slots = 3")
      .run({s.active.data(), s.accepted.data(), kept.data(), in.data(),
            out.data()},
           {2, k, d}, Split::Single);
  for (int i = 0; i < 2; ++i)
    for (int c = 0; c < width; ++c) {
      int slot = s.active[i], a = s.accepted[slot];
      EXPECT_EQ(out[i * rows * width + c], carry[slot * width + c]);
      for (int j = 0; j < rows - 1; ++j)
        EXPECT_EQ(out[(i * rows + j + 1) * width + c],
                  prev[(i * 3 + j) * width + c]);
      EXPECT_EQ(kept[slot * width + c], prev[(i * 3 + a) * width + c]);
      EXPECT_EQ(kept[1 * width + c], carry[1 * width + c]);
    }
}

TEST(Round, TreeRowsSplitPlaceAndDepth) {
  Ints positions{5, 6, 7, 8, -1, -1, -1, -1}, depths{0, 1, 1, 2};
  Guarded<int32_t> in(positions), tree(depths), rotary(8), base(8), place(8);
  Kernel(native(), "tree_rows", "")
      .run({in.data(), tree.data(), rotary.data(), base.data(), place.data()},
           {8, 4});
  EXPECT_EQ(rotary.values(), (Ints{5, 6, 6, 7, -1, -1, -1, -1}));
  EXPECT_EQ(base.values(), (Ints{5, 5, 5, 5, -1, -1, -1, -1}));
  EXPECT_EQ(place.values(), positions);
}

TEST(Round, DraftRowsStandWhereTheDraftWillBeVerified) {
  Kernel kernel(native(), "draft_rows", "slots = 3");
  for (int d : {1, 3}) {
    State s;
    kernel.run({s.active.data(), s.length.data(), s.slots.data(),
                s.positions.data()},
               {2, d}, Split::Single);
    EXPECT_EQ(head(s.slots, 3), (Ints{2, 0, -9}));
    EXPECT_EQ(head(s.positions, 3), (Ints{9 + d - 1, 1 + d - 1, -9}));
  }
}

TEST(Round, PutDraftsAndChainRows) {
  State s;
  Guarded<int32_t> picked(Ints{71, 72});
  Kernel(native(), "put_drafts", "kmax = 3")
      .run({picked.data(), s.drafts.data()}, {2, 1});
  EXPECT_EQ(s.drafts.values(), (Ints{100, 71, 102, 200, 72, 202}));
  Kernel(native(), "chain_rows", "kmax = 3, slots = 3")
      .run({s.active.data(), s.length.data(), s.drafts.data(), s.tokens.data(),
            s.slots.data(), s.positions.data()},
           {2, 1, 2}, Split::Single);
  EXPECT_EQ(head(s.tokens, 3), (Ints{71, 72, -9}));
  EXPECT_EQ(head(s.slots, 3), (Ints{2, 0, -9}));
  EXPECT_EQ(head(s.positions, 3), (Ints{10, 2, -9}));
}

TEST(Round, VerifyRows) {
  State s;
  Kernel(native(), "verify_rows", "kmax1 = 4, kmax = 3, slots = 3")
      .run({s.active.data(), s.length.data(), s.accepted.data(),
            s.window.data(), s.drafts.data(), s.tokens.data(), s.slots.data(),
            s.positions.data()},
           {2, 2}, Split::Single);
  EXPECT_EQ(head(s.tokens, 7), (Ints{31, 100, 101, 10, 200, 201, -9}));
  EXPECT_EQ(head(s.slots, 7), (Ints{2, 2, 2, 0, 0, 0, -9}));
  EXPECT_EQ(head(s.positions, 7), (Ints{9, 10, 11, 1, 2, 3, -9}));
}

TEST(Round, AcceptCommit) {
  const int width = 18, k = 2;
  State s;
  // Slot 2 agrees on one of two drafts, slot 0 on both.
  Guarded<int32_t> picks(Ints{100, 7, 8, 200, 201, 9});
  auto target = randomFloats(2 * 3 * width, 1);
  auto before = randomFloats(3 * 4 * width, 2);
  Guarded<float> from(target), hidden(before);
  Guarded<int32_t> out(Ints(12, -9)), count(Ints(3, -9));
  Kernel(native(), "accept_commit",
         "width = 18, kmax1 = 4, kmax = 3, slots = 3")
      .run({s.active.data(), picks.data(), s.drafts.data(), from.data(),
            s.length.data(), s.accepted.data(), s.window.data(), hidden.data(),
            out.data(), count.data()},
           {2, k}, Split::Single);
  EXPECT_EQ(s.length.values(), (Ints{4, 50, 11}));
  EXPECT_EQ(s.accepted.values(), (Ints{2, 3, 1}));
  EXPECT_EQ(s.window.values(),
            (Ints{200, 201, 9, 13, 20, 21, 22, 23, 100, 7, 8, 33}));
  EXPECT_EQ(out.values(),
            (Ints{200, 201, 9, -9, -9, -9, -9, -9, 100, 7, 8, -9}));
  EXPECT_EQ(count.values(), (Ints{3, -9, 2}));
  for (int slot = 0; slot < 3; ++slot)
    for (int j = 0; j < 4; ++j)
      for (int c = 0; c < width; ++c) {
        float want = before[(slot * 4 + j) * width + c];
        if (slot != 1 && j <= k)
          want = target[((slot == 2 ? 0 : 3) + j) * width + c];
        EXPECT_EQ(hidden[(slot * 4 + j) * width + c], want);
      }
}

TEST(Accept, LongestPrefix) {
  Guarded<int32_t> drafts(Ints{1, 2, 3, 4, 5, 6, 7, 8, 9});
  Guarded<int32_t> picks(Ints{1, 0, 3, 20, 0, 5, 6, 21, 7, 8, 9, 22});
  Guarded<int32_t> count(3), next(3);
  Kernel kernel(native(), "accept", "");
  kernel.run({drafts.data(), picks.data(), count.data(), next.data()}, {3, 3},
             Split::Single);
  EXPECT_EQ(count.values(), (Ints{1, 0, 3}));
  EXPECT_EQ(next.values(), (Ints{0, 0, 22}));
  // Without drafts the pick is the next token.
  kernel.run({nullptr, picks.data(), count.data(), next.data()}, {3, 0});
  EXPECT_EQ(count.values(), (Ints{0, 0, 0}));
  EXPECT_EQ(next.values(), (Ints{1, 0, 3}));
}

TEST(Accept, WalksTheTree) {
  //        0
  //      1   2
  //     3 4   5
  Guarded<int32_t> parents(Ints{-1, 0, 0, 1, 1, 2});
  Guarded<int32_t> tokens(
      Ints{50, 7, 8, 9, 9, 6, 50, 7, 8, 9, 10, 6, 50, 7, 8, 9, 10, 6});
  // Equal tokens: the lower node. A pick that no child has. A whole path.
  Guarded<int32_t> picks(
      Ints{7, 9, 0, 40, 41, 42, 3, 0, 0, 0, 0, 0, 8, 0, 6, 0, 0, 43});
  Guarded<int32_t> path(18), count(3), next(3);
  Kernel(native(), "accept_tree", "")
      .run({parents.data(), tokens.data(), picks.data(), path.data(),
            count.data(), next.data()},
           {3, 6}, Split::Single);
  EXPECT_EQ(path.values(), (Ints{0, 1, 3, -1, -1, -1, 0, -1, -1, -1, -1, -1, 0,
                                 2, 5, -1, -1, -1}));
  EXPECT_EQ(count.values(), (Ints{2, 0, 2}));
  EXPECT_EQ(next.values(), (Ints{40, 3, 43}));
}

TEST(Prefill, Rows) {
  Kernel kernel(native(), "prefill_rows", "");
  Guarded<int32_t> prompt(Ints{60, 61, 62, 63, 64, 65});
  struct {
    Ints info;
    int d;
    Ints tokens, positions;
  } cases[] = {{{1, 8, 4, 20}, 0, {60, 61, 62, 63}, {8, 9, 10, 11}},
               {{1, 8, 4, 20}, 2, {62, 63, 64, 65}, {8, 9, 10, 11}},
               {{1, 8, 3, 11}, 0, {60, 61, 62, 0}, {8, 9, 10, -1}},
               {{1, 8, 3, 11}, 1, {61, 62, 0, 0}, {8, 9, -1, -1}},
               {{1, 8, 4, 13}, 2, {62, 63, 64, 0}, {8, 9, 10, -1}},
               {{1, 8, 1, 9}, 2, {0, 0, 0, 0}, {-1, -1, -1, -1}}};
  for (const auto &c : cases) {
    Guarded<int32_t> info(c.info), tokens(4), slots(4), positions(4), last(1);
    kernel.run({info.data(), prompt.data(), tokens.data(), slots.data(),
                positions.data(), last.data()},
               {4, c.d});
    EXPECT_EQ(tokens.values(), c.tokens);
    EXPECT_EQ(positions.values(), c.positions);
    EXPECT_EQ(slots.values(), (Ints{1, 1, 1, 1}));
    EXPECT_EQ(last[0], c.info[2] - 1);
  }
}

TEST(Prefill, CarryAndCommit) {
  const int width = 20;
  auto out = randomFloats(4 * width, 1), old = randomFloats(2 * width, 2);
  auto state = randomFloats(2 * 3 * width, 3);
  Kernel carryKernel(native(), "prefill_carry", "width = 20, slots = 2");
  Kernel commit(native(), "prefill_commit", "width = 20, kmax1 = 3, slots = 2");
  // Position total - d = 11 - 2 is row 1 of this chunk, and in no other.
  for (Ints chunk : {Ints{1, 8, 3, 11}, Ints{1, 4, 4, 11}}) {
    bool lastChunk = chunk[1] == 8;
    Guarded<int32_t> info(chunk);
    Guarded<float> from(out), carry(old), hidden(state);
    carryKernel.run({info.data(), from.data(), carry.data()}, {4, 2});
    Guarded<int32_t> pick(Ints{77}), length(Ints{5, 5}), accepted(Ints{2, 2}),
        window(Ints(6, -9)), tokens(Ints(6, -9)), count(Ints{0, 0});
    commit.run({info.data(), pick.data(), from.data(), length.data(),
                accepted.data(), window.data(), hidden.data(), tokens.data(),
                count.data()},
               {4});
    EXPECT_EQ(length.values(), (lastChunk ? Ints{5, 11} : Ints{5, 5}));
    EXPECT_EQ(accepted.values(), (lastChunk ? Ints{2, 0} : Ints{2, 2}));
    EXPECT_EQ(window[3], lastChunk ? 77 : -9);
    EXPECT_EQ(tokens[3], lastChunk ? 77 : -9);
    EXPECT_EQ(count.values(), (lastChunk ? Ints{0, 1} : Ints{0, 0}));
    for (int i = 0; i < width; ++i) {
      EXPECT_EQ(carry[i], old[i]);
      EXPECT_EQ(carry[width + i], lastChunk ? out[width + i] : old[width + i]);
      EXPECT_EQ(hidden[3 * width + i],
                lastChunk ? out[2 * width + i] : state[3 * width + i]);
    }
  }
}
