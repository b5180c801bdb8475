//===- StateRows_test.cpp - Copies between states, rows and entries -------===//
//
// Kernels that copy without computing: every element must keep its bits and get
// its place, and nothing else may change. Indices come from memory. An index
// out of range means the nearest element, or the copy is skipped.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

/// Runs `body` for every target of this machine.
static void forTargets(const std::function<void(const TestTarget &)> &body) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    body(target);
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
constexpr int slotCount = 3, stateRows = 4, width = 21;
constexpr int stateSize = stateRows * width;
const std::string stateKeys = "width = 21, rows = 4, slots = 3";

/// Slots, some of them out of range.
const Ints slots{2, 0, 99, -5};
} // namespace

static int clamped(int32_t value, int count) {
  return std::clamp(value, 0, count - 1);
}

TEST(ReadState, CopiesTheFirstRowsOfEverySlot) {
  forTargets([](const TestTarget &target) {
    Kernel kernel(target, "read_state", stateKeys);
    const int count = 3;
    Floats state = randomFloats(slotCount * stateSize, 1);
    auto run = [&](int first, int b, Split split) {
      Guarded<int32_t> of(
          Ints(slots.begin() + first, slots.begin() + first + b));
      Guarded<float> from(state), out(b * count * width);
      kernel.run({of.data(), from.data(), out.data()}, {b, count}, split);
      EXPECT_EQ(from.values(), state);
      return out.values();
    };
    Floats all = run(0, slots.size(), Split::Random);
    for (size_t i = 0; i < slots.size(); ++i) {
      Floats own(&all[i * count * width],
                 &all[i * count * width] + count * width);
      const float *want = &state[clamped(slots[i], slotCount) * stateSize];
      EXPECT_EQ(own, Floats(want, want + count * width));
      EXPECT_EQ(run(i, 1, Split::Whole), own);
    }
  });
}

TEST(WriteState, LeavesTheRowsBehindAsTheyAre) {
  forTargets([](const TestTarget &target) {
    Kernel kernel(target, "write_state", stateKeys);
    const int count = 2;
    Floats x = randomFloats(2 * count * width, 1);
    Floats before = randomFloats(slotCount * stateSize, 2), want = before;
    for (auto [i, slot] : {std::pair(0, 2), std::pair(1, 0)})
      std::copy_n(&x[i * count * width], count * width,
                  &want[slot * stateSize]);
    for (Ints of : {Ints{2, 0}, Ints{99, -1}}) {
      Guarded<float> in(x), state(before);
      Guarded<int32_t> s(of);
      kernel.run({in.data(), s.data(), state.data()}, {2, count},
                 Split::Random);
      EXPECT_EQ(state.values(), want);
      // Slot by slot gives the same result.
      Guarded<float> alone(before);
      for (int i = 0; i < 2; ++i) {
        Guarded<float> own(Floats(&x[i * count * width],
                                  &x[i * count * width] + count * width));
        Guarded<int32_t> one(Ints{of[i]});
        kernel.run({own.data(), one.data(), alone.data()}, {1, count});
      }
      EXPECT_EQ(alone.values(), want);
    }
  });
}

TEST(WriteStateAt, GathersRowsAndSkipsNegativeOnes) {
  forTargets([](const TestTarget &target) {
    Kernel kernel(target, "write_state_at", stateKeys);
    const int count = 3, xRows = 5;
    Floats x = randomFloats(xRows * width, 1);
    Floats before = randomFloats(slotCount * stateSize, 2), want = before;
    // The second row of slot 2 stays. 77 is beyond the rows, and so means the
    // last one.
    Ints index{4, -1, 0, 77, 2, INT32_MIN};
    Ints of{2, 1};
    for (int i = 0; i < 2; ++i)
      for (int row = 0; row < count; ++row)
        if (int32_t from = index[i * count + row]; from >= 0)
          std::copy_n(&x[clamped(from, xRows) * width], width,
                      &want[of[i] * stateSize + row * width]);
    Guarded<float> in(x), state(before), alone(before);
    Guarded<int32_t> at(index), s(of);
    kernel.run({in.data(), at.data(), s.data(), state.data()},
               {2, count, xRows}, Split::Random);
    EXPECT_EQ(state.values(), want);
    for (int i = 0; i < 2; ++i) {
      Guarded<int32_t> own(Ints(&index[i * count], &index[i * count] + count)),
          one(Ints{of[i]});
      kernel.run({in.data(), own.data(), one.data(), alone.data()},
                 {1, count, xRows});
    }
    EXPECT_EQ(alone.values(), want);
  });
}

namespace {
/// Rows of a slot before, and after.
using HeadAndTail = std::pair<int, int>;
class ConcatRowsOf : public testing::TestWithParam<HeadAndTail> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Rows, ConcatRowsOf,
                         testing::Values(HeadAndTail(1, 3), HeadAndTail(2, 1)),
                         [](const testing::TestParamInfo<HeadAndTail> &info) {
                           return std::to_string(info.param.first) + "_" +
                                  std::to_string(info.param.second);
                         });

TEST_P(ConcatRowsOf, PutsTheRowsOfASlotTogether) {
  int heads = GetParam().first, tails = GetParam().second;
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "concat_rows", "width = 21");
    const int b = 3;
    Floats x = randomFloats(b * heads * width, 1),
           y = randomFloats(b * tails * width, 2), want;
    for (int i = 0; i < b; ++i) {
      want.insert(want.end(), &x[i * heads * width],
                  &x[i * heads * width] + heads * width);
      want.insert(want.end(), &y[i * tails * width],
                  &y[i * tails * width] + tails * width);
    }
    auto run = [&](int first, int count) {
      Guarded<float> head(
          Floats(&x[first * heads * width],
                 &x[first * heads * width] + count * heads * width)),
          tail(Floats(&y[first * tails * width],
                      &y[first * tails * width] + count * tails * width)),
          out(count * (heads + tails) * width);
      kernel.run({head.data(), tail.data(), out.data()}, {count, heads, tails},
                 Split::Random);
      return out.values();
    };
    EXPECT_EQ(run(0, b), want);
    int size = (heads + tails) * width;
    for (int i = 0; i < b; ++i)
      EXPECT_EQ(run(i, 1), Floats(&want[i * size], &want[i * size] + size));
  });
}

TEST(Exclude, TakesOneTokenOfARowOut) {
  forTargets([](const TestTarget &target) {
    const int vocab = 37;
    Kernel kernel(target, "mask_tokens", "width = 37");
    Ints tokens{0, 36, 20, -1, 37, INT32_MIN, INT32_MAX};
    const int rows = tokens.size();
    Floats x = randomFloats(rows * vocab, 1);
    x[20] = NAN;
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(
          Floats(&x[first * vocab], &x[first * vocab] + count * vocab)),
          out(count * vocab);
      Guarded<int32_t> token(Ints(&tokens[first], &tokens[first] + count));
      kernel.run({in.data(), token.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(rows, vocab, run);
    Floats y = run(0, rows, Split::Random);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < vocab; ++i) {
        float want = i == tokens[r] ? -INFINITY : x[r * vocab + i];
        EXPECT_EQ(std::memcmp(&y[r * vocab + i], &want, 4), 0) << r << " " << i;
      }
  });
}

//===----------------------------------------------------------------------===//
// Entries of a cache
//===----------------------------------------------------------------------===//

namespace {
/// A layer of seven pages of two slots, with elements of one, two or four
/// bytes.
struct Layer {
  Layer(int elementBytes, int heads)
      : elementBytes(elementBytes), heads(heads),
        entry(elementBytes == 1 ? 72 : 42),
        stride(mtp::pageStride(page, entry, elementBytes)), bytes(7 * stride) {
    uint16_t number = 0;
    for (size_t at = 0; at < bytes.size(); at += elementBytes) {
      // All are finite except the last, a NaN as conversions write it.
      uint32_t bits = uint32_t(0x3c00 + number++ % 0x4000) << 16;
      if (at + elementBytes == stride)
        bits = 0x7fc00000;
      if (elementBytes == 1)
        bits = uint32_t(number % 251) << 24;
      std::memcpy(&bytes[at],
                  reinterpret_cast<uint8_t *>(&bits) + 4 - elementBytes,
                  elementBytes);
    }
  }

  size_t shareAt(int slot, int position, int head) const {
    int number = table[slot * maxPages + position / page];
    return number * stride + size_t(head * page + position % page) * share();
  }
  size_t share() const { return size_t(entry / heads) * elementBytes; }
  void move(int slot, int from, int to) {
    for (int head = 0; head < heads; ++head)
      std::copy_n(&bytes[shareAt(slot, from, head)], share(),
                  &bytes[shareAt(slot, to, head)]);
  }
  std::string keys() const {
    return "page = 4, slots = 2, entry_width = " + std::to_string(entry) +
           ", cache_heads = " + std::to_string(heads) +
           ", dtype = " + nameOf(elementBytes);
  }
  static std::string nameOf(int elementBytes) {
    return elementBytes == 1 ? "i8" : elementBytes == 2 ? "bf16" : "f32";
  }

  static constexpr int page = 4, maxPages = 3;
  const Ints table{5, 1, 3, 4, 2, 6};
  int elementBytes, heads, entry;
  size_t stride;
  std::vector<uint8_t> bytes;
};
} // namespace

/// Runs kv_move and returns the pages.
static std::vector<uint8_t> moved(const Kernel &kernel, const Layer &layer,
                                  const Ints &of, const Ints &from,
                                  const Ints &to) {
  Guarded<int32_t> s(of), f(from), t(to), table(layer.table);
  Guarded<uint8_t> pages(layer.bytes);
  kernel.run(
      {s.data(), f.data(), t.data(), table.data(), pages.data()},
      {int64_t(of.size()), Layer::maxPages, int64_t(from.size() / of.size())},
      Split::Random);
  return pages.values();
}

namespace {
/// Bytes of an element, and number of heads that have a share of an entry.
using Shares = std::tuple<int, int>;
class KvMoveOf : public testing::TestWithParam<Shares> {};
} // namespace

static std::string nameOfShares(const testing::TestParamInfo<Shares> &info) {
  auto [bytes, heads] = info.param;
  return Layer::nameOf(bytes) + "_heads" + std::to_string(heads);
}

INSTANTIATE_TEST_SUITE_P(Layers, KvMoveOf,
                         testing::Combine(testing::Values(1, 2, 4),
                                          testing::Values(1, 2, 3)),
                         nameOfShares);

TEST_P(KvMoveOf, MovesEntriesInTheirOrder) {
  auto [bytes, heads] = GetParam();
  forTargets([&](const TestTarget &target) {
    const Layer before(bytes, heads);
    Kernel kernel(target, "kv_move", before.keys());
    // Slot 1 moves along a path whose places overlap, and across pages. The
    // moves of slot 0 are outside of its pages, or from nowhere.
    Ints from{5, 7, 8, 11, 12, -1, 3, INT32_MIN};
    Ints to{5, 6, 7, 1, 2, 3, 12, 4};
    Layer want = before;
    want.move(1, 7, 6);
    want.move(1, 8, 7);
    want.move(1, 11, 1);
    EXPECT_EQ(moved(kernel, before, {1, 0}, from, to), want.bytes);
    // One slot alone. A slot number out of range means the last slot.
    Ints ownFrom(from.begin(), from.begin() + 4),
        ownTo(to.begin(), to.begin() + 4);
    for (int slot : {1, 2, INT32_MAX})
      EXPECT_EQ(moved(kernel, before, {slot}, ownFrom, ownTo), want.bytes);
  });
}
