//===- Pack_test.cpp - Active rows and their places -----------------------===//
//
// Packing copies: every number must keep its bits and get its place, and
// padding rows must follow the active rows.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"

#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

/// Packs rows with one number and one mask each, and compares. There is room
/// for `room` rows, or for all.
static void expectPacked(const Kernel &kernel, const Ints &positions,
                         size_t room = 0) {
  size_t rows = positions.size();
  if (room == 0)
    room = rows;
  Ints tokens, wantPositions(room, -1), wantTokens(room, -1), wantPlaces;
  Longs masks, wantMasks(room, 0);
  int32_t live = 0;
  for (size_t row = 0; row < rows; ++row) {
    tokens.push_back(int32_t(row * 77 - 5));
    masks.push_back(int64_t(row + 1) << 33 | 5);
    bool lives = positions[row] >= 0 && size_t(live) < room;
    wantPlaces.push_back(lives ? live : -1);
    if (!lives)
      continue;
    wantPositions[live] = positions[row];
    wantTokens[live] = tokens[row];
    wantMasks[live++] = masks[row];
  }
  Guarded<int32_t> p(positions), t(tokens), packedPositions(room),
      packedTokens(room), places(rows), count(1);
  Guarded<int64_t> m(masks), packedMasks(room);
  kernel.run({p.data(), t.data(), m.data(), packedPositions.data(),
              packedTokens.data(), packedMasks.data(), places.data(),
              count.data()},
             {int64_t(rows), int64_t(room)}, Split::Random);
  EXPECT_EQ(packedPositions.values(), wantPositions);
  EXPECT_EQ(packedTokens.values(), wantTokens);
  EXPECT_EQ(packedMasks.values(), wantMasks);
  EXPECT_EQ(places.values(), wantPlaces);
  EXPECT_EQ(count.values(), Ints{live});
}

TEST(PackRows, PutsActiveRowsInFront) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "pack_rows", "numbers = 1, masks = 1");
    EXPECT_EQ(kernel.tasks(7), 1);
    expectPacked(kernel, {3, 4, 5, 0, 1, 2, INT32_MAX});
    expectPacked(kernel, {3, -1, 5, -1, INT32_MIN, 2, 0});
    expectPacked(kernel, {-1, -1, 9});
    expectPacked(kernel, {-1, -1, -1});
    expectPacked(kernel, {0});
    // More rows than a block has threads.
    Ints many;
    for (int32_t row = 0; row < 600; ++row)
      many.push_back(row * row % 7 < 3 ? row : -row);
    expectPacked(kernel, many);
    // Room for fewer rows than are active, for exactly that number, and for
    // more.
    for (size_t room : {1, 2, 3, 4})
      expectPacked(kernel, {3, -1, 5, -1, INT32_MIN, 2, 0, -1}, room);
    for (size_t room : {1, 100, 257, 300, 599})
      expectPacked(kernel, many, room);
  }
}

/// Packs rows and rows of prompts, with one number and one mask each. There is
/// room for `room` of the former, or for all.
static void expectPackedWithPrompts(const Kernel &kernel, const Ints &positions,
                                    const Ints &prompts, size_t room = 0) {
  size_t count = positions.size(), more = prompts.size();
  if (room == 0)
    room = count;
  size_t all = room + more;
  Ints tokens, texts, wantPositions(all, -1), wantTokens(all, -1);
  Longs masks, bits, wantMasks(all, 0);
  int32_t live = 0;
  auto pack = [&](const Ints &from, Ints &numbers, Longs &wide, size_t end) {
    Ints places;
    for (size_t row = 0; row < from.size(); ++row) {
      numbers.push_back(int32_t(row * 77 + from.size()));
      wide.push_back(int64_t(row + 1) << 33 | int64_t(from.size()));
      bool lives = from[row] >= 0 && size_t(live) < end;
      places.push_back(lives ? live : -1);
      if (!lives)
        continue;
      wantPositions[live] = from[row];
      wantTokens[live] = numbers[row];
      wantMasks[live++] = wide[row];
    }
    return places;
  };
  Ints wantPlaces = pack(positions, tokens, masks, room);
  Ints wantTheirs = pack(prompts, texts, bits, all);
  Guarded<int32_t> p(positions), t(tokens), q(prompts), u(texts);
  Guarded<int32_t> packedPositions(all), packedTokens(all), places(count),
      theirs(more), number(1);
  Guarded<int64_t> m(masks), b(bits), packedMasks(all);
  kernel.run({p.data(), t.data(), m.data(), q.data(), u.data(), b.data(),
              packedPositions.data(), packedTokens.data(), packedMasks.data(),
              places.data(), theirs.data(), number.data()},
             {int64_t(count), int64_t(more), int64_t(room)}, Split::Random);
  EXPECT_EQ(packedPositions.values(), wantPositions);
  EXPECT_EQ(packedTokens.values(), wantTokens);
  EXPECT_EQ(packedMasks.values(), wantMasks);
  EXPECT_EQ(places.values(), wantPlaces);
  EXPECT_EQ(theirs.values(), wantTheirs);
  EXPECT_EQ(number.values(), Ints{live});
}

TEST(PackPrompts, PutsTheirRowsBehindTheOthers) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "pack_prompts", "numbers = 1, masks = 1");
    EXPECT_EQ(kernel.tasks(7), 1);
    expectPackedWithPrompts(kernel, {3, -1, 5, 0}, {8, 9, 10, -1, -1});
    expectPackedWithPrompts(kernel, {3, 4}, {-1, INT32_MIN, 7});
    expectPackedWithPrompts(kernel, {-1, -1, -1}, {1, 2});
    expectPackedWithPrompts(kernel, {-1}, {-1});
    Ints many, more;
    for (int32_t row = 0; row < 600; ++row) {
      many.push_back(row * row % 7 < 3 ? row : -row);
      more.push_back(row < 500 ? row : -1);
    }
    expectPackedWithPrompts(kernel, many, more);
    expectPackedWithPrompts(kernel, {3, -1, 5, 0}, {8, 9, -1}, /*room=*/2);
    expectPackedWithPrompts(kernel, {3, 4}, {7, 8, 9}, /*room=*/1);
    for (size_t room : {1, 100, 257, 300, 599})
      expectPackedWithPrompts(kernel, many, more, room);
  }
}

TEST(UnpackRows, PutsThemBackAndLeavesGapsEmpty) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    const int width = 21, xRows = 4;
    // The last two places mean the last row, and no row.
    const Ints places{2, -1, 0, 3, 99, INT32_MIN};
    const int rows = int(places.size());
    std::vector<float> x = randomFloats(xRows * width, 1), want;
    for (int32_t place : places)
      for (int i = 0; i < width; ++i)
        want.push_back(place < 0 ? 0.0f
                                 : x[std::min(place, xRows - 1) * width + i]);
    Kernel kernel(target, "unpack_rows", "width = 21");
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(x), out(count * width);
      Guarded<int32_t> at(Ints(&places[first], &places[first] + count));
      kernel.run({in.data(), at.data(), out.data()}, {count, xRows}, split);
      return out.values();
    };
    EXPECT_EQ(run(0, rows, Split::Random), want);
    expectRowInvariant(rows, width, run);

    Kernel numbers(target, "unpack_rows", "width = 1, is_numbers = true");
    Guarded<int32_t> in(Ints{7, 8, -9, 0x7fc00001}), at(places), out(rows);
    numbers.run({in.data(), at.data(), out.data()}, {rows, xRows},
                Split::Random);
    EXPECT_EQ(out.values(), (Ints{-9, -1, 7, 0x7fc00001, 0x7fc00001, -1}));
  }
}
