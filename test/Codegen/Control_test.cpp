//===- Control_test.cpp - Kernels that carry their body -------------------===//
//
// Bodies of mtp.per_slot, outlined, compiled and run: against a reference, with
// arbitrary memory contents, and against equivalent emitters that were written
// by hand.
//
//===----------------------------------------------------------------------===//

#include "harness/ControlBodies.h"
#include "harness/Harness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using Ints = std::vector<int32_t>;

static TargetDesc native() {
  return llvm::cantFail(TargetDesc::parse("native"));
}

static Ints randomInts(size_t count, std::mt19937 &random, int32_t least,
                       int32_t most) {
  std::uniform_int_distribution<int32_t> any(least, most);
  Ints values(count);
  for (int32_t &value : values)
    value = any(random);
  return values;
}

/// Returns distinct slots in random order.
static Ints randomSlots(int count, std::mt19937 &random) {
  Ints slots(kControlSlots);
  for (int i = 0; i < kControlSlots; ++i)
    slots[i] = i;
  std::shuffle(slots.begin(), slots.end(), random);
  slots.resize(count);
  return slots;
}

//===----------------------------------------------------------------------===//
// Against a reference
//===----------------------------------------------------------------------===//

namespace {
/// The computation of `anything`, in C++.
struct Reference {
  static constexpr int columns = 5;

  int32_t grid[3][columns];
  int64_t wide;
  float number;
  const int32_t *shared;

  int32_t all[12], square[6];

  static int64_t at(int64_t index, int64_t count) {
    return std::max<int64_t>(std::min(index, count - 1), 0);
  }
  static int32_t toInt(float f) {
    if (std::isnan(f))
      return 0;
    return f >= 2147483520.0f ? 2147483520
                              : (f <= -2147483648.0f ? INT32_MIN : int32_t(f));
  }
  static uint32_t toUnsigned(float f) {
    if (std::isnan(f) || f <= 0)
      return 0;
    return f >= 4294967040.0f ? 4294967040u : uint32_t(f);
  }
  void loop(const int32_t *in, int32_t step);
  void run(const int32_t *in);

  int32_t a[4], b[4], turns;
};
} // namespace

void Reference::loop(const int32_t *in, int32_t step) {
  std::memcpy(a, in, sizeof(a));
  std::memset(b, 0, sizeof(b));
  turns = 0;
  for (int64_t j = std::max(in[1], -9); j < std::min<int64_t>(in[3], 9);
       j += 2) {
    int32_t changed[4], kept[4];
    for (int i = 0; i < 4; ++i)
      changed[i] = int32_t(uint32_t(a[i]) + uint32_t(b[i]));
    changed[at(j, 4)] = int32_t(j);
    bool stop = turns < 5;
    if (stop)
      grid[at(j, 3)][at(in[0], columns)] = int32_t(j);
    std::memcpy(kept, stop ? changed : a, sizeof(kept));
    std::memcpy(a, b, sizeof(a));
    std::memcpy(b, kept, sizeof(b));
    turns = int32_t(uint32_t(turns) + uint32_t(step));
  }
}

void Reference::run(const int32_t *in) {
  int32_t x = in[0], y = in[1], z = in[2], w = in[3];
  int32_t g = grid[at(x, 3)][at(y, columns)];
  auto divisor = [](int32_t a, int32_t b) {
    return b == 0 || (b == -1 && a == INT32_MIN) ? 1 : b;
  };
  int32_t div = x / divisor(x, y);
  int32_t rem = int32_t(uint32_t(x) % (z == 0 ? 1 : uint32_t(z)));
  int64_t safe = divisor(x, w);
  int32_t up = int32_t(x / safe + (x % safe != 0 && (x < 0) == (safe < 0)));
  int32_t table[2][2] = {{1, -2}, {3, 4}};
  int32_t entry = table[at(x, 2)][at(y, 2)];
  loop(in, g);
  grid[at(y, 3)][at(x, columns)] = entry;
  int32_t values[] = {g,
                      shared[at(x, 5)],
                      in[at(wide, 4)],
                      div,
                      rem,
                      up,
                      int32_t(uint32_t(x) << (y & 31)),
                      z >> (w & 31),
                      toInt(number),
                      int32_t(toUnsigned(number)),
                      turns,
                      entry};
  std::memcpy(all, values, sizeof(all));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      square[i * 3 + j] = int32_t(uint32_t(a[i]) - uint32_t(b[j]));
  wide = int64_t(uint64_t(wide) * uint64_t(wide));
}

namespace {
/// Buffers of `anything` for some slots.
struct Problem {
  Problem(int batch, std::mt19937 &random, bool small)
      : slots(randomSlots(batch, random)),
        input(randomInts(batch * 4, random, small ? -3 : INT32_MIN,
                         small ? 9 : INT32_MAX)),
        shared(randomInts(5, random, INT32_MIN, INT32_MAX)),
        grid(randomInts(kControlSlots * 15, random, small ? 0 : INT32_MIN,
                        small ? 3 : INT32_MAX)),
        wide(kControlSlots), number(kControlSlots), all(batch * 12),
        square(batch * 6), product(batch), root(batch) {
    for (int i = 0; i < kControlSlots; ++i) {
      wide[i] = int64_t(random()) << (random() % 33);
      number[i] = small ? float(random() % 100) / 7 - 5 : 3e38f;
    }
    if (!small) {
      number[0] = NAN;
      number[1] = -INFINITY;
    }
  }
  void run(const Kernel &kernel, int begin, int count, Split split) {
    Guarded<int32_t> some(
        Ints(slots.data() + begin, slots.data() + begin + count));
    Guarded<int32_t> in(
        Ints(input.data() + begin * 4, input.data() + (begin + count) * 4));
    Guarded<int32_t> allOut(count * 12), squareOut(count * 6);
    Guarded<int64_t> productOut(count);
    Guarded<float> rootOut(count);
    kernel.run({some.data(), in.data(), shared.data(), grid.data(), wide.data(),
                number.data(), allOut.data(), squareOut.data(),
                productOut.data(), rootOut.data()},
               {count}, split);
    std::copy_n(allOut.data(), count * 12, all.data() + begin * 12);
    std::copy_n(squareOut.data(), count * 6, square.data() + begin * 6);
    std::copy_n(productOut.data(), count, product.data() + begin);
    std::copy_n(rootOut.data(), count, root.data() + begin);
  }

  Guarded<int32_t> slots, input, shared, grid;
  Guarded<int64_t> wide;
  Guarded<float> number;
  Guarded<int32_t> all, square;
  Guarded<int64_t> product;
  Guarded<float> root;
};
} // namespace

TEST(Control, ComputesWhatItsBodySays) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, anything().text());
    for (int turn = 0; turn < 30; ++turn) {
      std::mt19937 random(100 + turn);
      int batch = 1 + turn % kControlSlots;
      Problem problem(batch, random, /*small=*/turn % 3 != 0);
      std::vector<Reference> want(batch);
      for (int i = 0; i < batch; ++i) {
        int slot = problem.slots[i];
        std::memcpy(want[i].grid, problem.grid.data() + slot * 15, 60);
        want[i].wide = problem.wide[slot];
        want[i].number = problem.number[slot];
        want[i].shared = problem.shared.data();
        want[i].run(problem.input.data() + i * 4);
      }
      problem.run(kernel, 0, batch, Split::Whole);
      for (int i = 0; i < batch; ++i) {
        int slot = problem.slots[i];
        for (int j = 0; j < 12; ++j)
          EXPECT_EQ(problem.all[i * 12 + j], want[i].all[j]) << j;
        for (int j = 0; j < 6; ++j)
          EXPECT_EQ(problem.square[i * 6 + j], want[i].square[j]) << j;
        EXPECT_EQ(problem.wide[slot], want[i].wide);
        EXPECT_EQ(problem.product[i], want[i].wide);
        EXPECT_EQ(
            std::memcmp(problem.grid.data() + slot * 15, want[i].grid, 60), 0);
        float root = std::exp(std::sqrt(std::fabs(want[i].number)));
        if (std::isfinite(root))
          EXPECT_NEAR(problem.root[i], root, 1e-5f * root);
      }
    }
  }
}

// The results and state of a slot do not depend on other slots in the batch.
TEST(Control, DoesNotDependOnTheBatch) {
  Kernel kernel(native(), anything().text());
  for (int turn = 0; turn < 10; ++turn) {
    std::mt19937 first(turn), second(turn);
    Problem together(kControlSlots, first, turn % 2 == 0);
    Problem alone(kControlSlots, second, turn % 2 == 0);
    together.run(kernel, 0, kControlSlots, Split::Whole);
    for (int i = kControlSlots - 1; i >= 0; --i)
      alone.run(kernel, i, 1, Split::Single);
    EXPECT_EQ(together.all.values(), alone.all.values());
    EXPECT_EQ(together.square.values(), alone.square.values());
    EXPECT_EQ(together.grid.values(), alone.grid.values());
    EXPECT_EQ(together.wide.values(), alone.wide.values());
    EXPECT_EQ(std::memcmp(together.root.data(), alone.root.data(),
                          kControlSlots * sizeof(float)),
              0);
  }
}

//===----------------------------------------------------------------------===//
// Loops with iterations in any order
//===----------------------------------------------------------------------===//

namespace {
/// Result of `search`.
struct Found {
  int64_t score = -1;
  int32_t times = 1, first = kSearched;

  Found(const int32_t *tokens, int32_t length) {
    auto at = [&](int64_t index) {
      return tokens[std::clamp<int64_t>(index, 0, kSearched - 1)];
    };
    for (int64_t p = 0; p < length; ++p) {
      if (at(p) != at(length))
        continue;
      int64_t size = 1;
      for (; size < 3 && at(p - size) == at(int64_t(length) - size); ++size)
        ;
      score = std::max(score, size << 32 | p);
      times += 1;
      first = std::min<int64_t>(first, p);
    }
  }
};

/// Buffers of `search`, for all slots.
struct Search {
  Search(std::mt19937 &random, const Ints &lengths, int32_t most)
      : slots(randomSlots(kControlSlots, random)), lengths(lengths),
        tokens(randomInts(size_t(kControlSlots) * kSearched, random, 0, most)),
        score(kControlSlots), times(kControlSlots), first(kControlSlots) {}

  void run(const Kernel &kernel) {
    kernel.run({slots.data(), tokens.data(), lengths.data(), score.data(),
                times.data(), first.data()},
               {kControlSlots}, Split::Random);
  }
  void expectFound(const Ints &was) {
    for (int i = 0; i < kControlSlots; ++i) {
      int slot = slots[i];
      SCOPED_TRACE(was[slot]);
      Found want(tokens.data() + size_t(slot) * kSearched, was[slot]);
      EXPECT_EQ(score[i], want.score);
      EXPECT_EQ(times[i], want.times);
      EXPECT_EQ(first[i], want.first);
      EXPECT_EQ(lengths[slot], want.first);
    }
  }

  Guarded<int32_t> slots, lengths, tokens;
  Guarded<int64_t> score;
  Guarded<int32_t> times, first;
};
} // namespace

TEST(Control, SearchesByLanesAsByOneThread) {
  const Ints all[] = {{0, 1, 2, 3},
                      {63, 64, 65, 2047},
                      {2048, 2049, 32767, 5},
                      {32768, 33000, -7, INT32_MIN}};
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, search(/*byLanes=*/true).text());
    for (const Ints &lengths : all)
      for (int32_t most : {0, 3, 1000}) {
        std::mt19937 random(most + 1);
        Search problem(random, lengths, most);
        problem.run(kernel);
        problem.expectFound(lengths);
      }
  }
}

// A module may contain loops that are marked for lanes, but cannot run by
// lanes.
TEST(Control, TakesOnlyWhatIsForLanesByLanes) {
  auto module = [](const std::string &body) {
    return "exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 1> "
           "{\n^bb0(%i: index, %x: memref<?x4xi32>, %y: memref<?xi32>):\n"
           "  %c0 = arith.constant 0 : index\n"
           "  %c1 = arith.constant 1 : index\n"
           "  %c4 = arith.constant 4 : index\n"
           "  %zero = arith.constant 0 : i32\n"
           "  %own = memref.alloca() : memref<4xi32>\n"
           "  scf.for %j = %c0 to %c4 step %c1 {\n"
           "    %v = memref.load %x[%i, %j] : memref<?x4xi32>\n"
           "    memref.store %v, %own[%j] : memref<4xi32>\n  }\n"
           "  %r = scf.for %j = %c0 to %c4 step %c1 iter_args(%s = %zero) "
           "-> (i32) {\n"
           "    %v = memref.load %x[%i, %j] : memref<?x4xi32>\n" +
           body +
           "    scf.yield %t : i32\n  } {exec.lanes}\n"
           "  memref.store %r, %y[%i] : memref<?xi32>\n}\n";
  };
  const std::pair<std::string, Ints> bodies[] = {
      // Another order has another result.
      {"    %t = arith.subi %v, %s : i32\n", {4 - 3 + 2 - 1, 8 - 7 + 6 - 5}},
      // The carried value is used twice.
      {"    %d = arith.addi %s, %v : i32\n    %t = arith.addi %d, %s : i32\n",
       {((1 * 2 + 2) * 2 + 3) * 2 + 4, ((5 * 2 + 6) * 2 + 7) * 2 + 8}},
      // A local buffer of the first thread.
      {"    %o = memref.load %own[%j] : memref<4xi32>\n"
       "    %t = arith.addi %s, %o : i32\n",
       {10, 26}},
      // A store.
      {"    memref.store %v, %own[%c0] : memref<4xi32>\n"
       "    %t = arith.addi %s, %v : i32\n",
       {10, 26}},
      // This loop can run by lanes.
      {"    %t = arith.addi %v, %s : i32\n", {10, 26}}};
  for (const auto &[name, target] : allTargets())
    for (const auto &[body, want] : bodies) {
      SCOPED_TRACE(name + ":\n" + body);
      Kernel kernel(target, module(body));
      Guarded<int32_t> x(Ints{1, 2, 3, 4, 5, 6, 7, 8}), y(2);
      kernel.run({x.data(), y.data()}, {2}, Split::Whole);
      EXPECT_EQ(y.values(), want);
    }
}

namespace {
/// Result of the kernel below for a task with `turns` turns.
struct Turns {
  Ints row = Ints(8);
  int32_t last;

  explicit Turns(int32_t turns) {
    int32_t a = 1, b = 2;
    for (int32_t j = 0; j < turns; ++j) {
      int32_t sum = a;
      for (int32_t p = 0; p < j; ++p)
        sum += row[size_t(p)] + b;
      row[size_t(j)] = sum;
      a = b;
      b = sum + j;
    }
    last = b;
    for (int32_t p = 0; p < 8; ++p)
      last = std::max(last, row[size_t(p)] - a);
  }
};
} // namespace

/// Returns a kernel that repeats a loop for lanes. `around` begins a loop
/// around it, and `end` ends that loop.
static std::string repeatedLanes(const std::string &around,
                                 const std::string &end) {
  return R"(
exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 2> {
^bb0(%i: index, %x: memref<?xi32>, %row: memref<?x8xi32>, %last: memref<?xi32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  scf.for %p = %c0 to %c8 step %c1 {
    memref.store %zero, %row[%i, %p] : memref<?x8xi32>
  }
  %read = memref.load %x[%i] : memref<?xi32>
  %turns = arith.index_cast %read : i32 to index
)" + around +
         R"(
  %a, %b = scf.for %j = %c0 to %turns step %c1
      iter_args(%f = %one, %g = %two) -> (i32, i32) {
    %sum = scf.for %p = %c0 to %j step %c1 iter_args(%so_far = %f) -> (i32) {
      %q = arith.minsi %p, %c7 : index
      %v = memref.load %row[%i, %q] : memref<?x8xi32>
      %w = arith.addi %v, %g : i32
      %t = arith.addi %so_far, %w : i32
      scf.yield %t : i32
    } {exec.lanes}
    %at = arith.minsi %j, %c7 : index
    memref.store %sum, %row[%i, %at] : memref<?x8xi32>
    %number = arith.index_cast %j : index to i32
    %next = arith.addi %sum, %number : i32
    scf.yield %g, %next : i32, i32
  }
  %most = scf.for %p = %c0 to %c8 step %c1 iter_args(%so_far = %b) -> (i32) {
    %v = memref.load %row[%i, %p] : memref<?x8xi32>
    %w = arith.subi %v, %a : i32
    %t = arith.maxsi %so_far, %w : i32
    scf.yield %t : i32
  } {exec.lanes}
  memref.store %most, %last[%i] : memref<?xi32>
)" + end +
         "}\n";
}

// The first thread alone knows the number of turns and what they carry. Lanes
// read what earlier turns stored.
TEST(Control, RepeatsLoopsForLanes) {
  const std::pair<std::string, std::string> loops[] = {
      {"", ""},
      // A loop around both runs in one thread.
      {"scf.for %once = %c0 to %c1 step %c1 {\n", "}\n"}};
  for (const auto &[name, target] : allTargets())
    for (const auto &[around, end] : loops) {
      SCOPED_TRACE(name + around);
      Kernel kernel(target, repeatedLanes(around, end));
      Guarded<int32_t> turns(Ints{0, 1, 5, 8}), row(4 * 8), last(4);
      kernel.run({turns.data(), row.data(), last.data()}, {4}, Split::Whole);
      for (size_t i = 0; i < 4; ++i) {
        Turns want(turns[i]);
        EXPECT_EQ(Ints(row.data() + 8 * i, row.data() + 8 * (i + 1)), want.row);
        EXPECT_EQ(last[i], want.last);
      }
    }
}

#ifdef MTP_HAS_GPUSIM
extern "C" uint64_t mtp_sim_load_batches();

TEST(Control, WaitsForFewLoadsByLanes) {
  Ints lengths(kControlSlots, kSearched - 1);
  auto batches = [&](bool byLanes) {
    std::mt19937 random(1);
    Search problem(random, lengths, 1000);
    Kernel kernel(allTargets().back().second, search(byLanes).text());
    problem.run(kernel);
    problem.expectFound(lengths);
    return mtp_sim_load_batches();
  };
  EXPECT_LE(batches(/*byLanes=*/true), 128u);
  EXPECT_GT(batches(/*byLanes=*/false), uint64_t(kSearched));
}
#endif

//===----------------------------------------------------------------------===//
// Arbitrary contents of memory
//===----------------------------------------------------------------------===//

TEST(Control, StaysInItsBuffers) {
  // Not on the simulated GPU, where equal slots are a race.
  for (const auto &[name, target] : hostTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, anything().text());
    std::mt19937 random(3);
    for (int turn = 0; turn < 24; ++turn) {
      constexpr uint32_t words[] = {
          0,          1,          5,          0xffffffff, 0x7fffffff,
          0x80000000, 0x7f800000, 0xff800001, 1u << 20,   0xfffffffe};
      std::vector<std::unique_ptr<Guarded<uint8_t>>> buffers;
      std::vector<void *> pointers;
      for (int64_t bytes : kernel.contractBytes({3})) {
        buffers.push_back(std::make_unique<Guarded<uint8_t>>(bytes));
        for (int64_t at = 0; at + 4 <= bytes; at += 4) {
          uint32_t word = turn < 10 ? words[turn] : random();
          std::memcpy(buffers.back()->data() + at, &word, 4);
        }
        pointers.push_back(buffers.back()->data());
      }
      kernel.run(pointers, {3}, Split::Random);
    }
  }
}

// Rows of a slot may be anywhere among the rows of all slots. A padding row
// reads as zeros, whatever is in memory, and an invalid place leads to the
// nearest slot.
TEST(Control, ReadsRowsWhereTheyArePacked) {
  constexpr int batch = 3, each = 2, width = 5, size = each * width;
  std::string module = R"(
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4,
    max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @p function {
  %slots = exec.input "slots" : tensor<3xi32>
  %l = exec.input "l" : tensor<7x5xf32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %more = exec.input "more" : tensor<1xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<6xi32>
  %prompts = mtp.make_rows %more, %more : tensor<1xi32>
  %p, %t, %places, %theirs = mtp.pack %rows, %tokens prompts %prompts, %more
      : tensor<6xi32>, tensor<1xi32> -> tensor<7xi32>
  %own = mtp.unpack %l, %places
         : tensor<7x5xf32>, tensor<6xi32> -> tensor<6x5xf32>
  %groups = mtp.reshape %own : tensor<6x5xf32> -> tensor<3x2x5xf32>
  %y = mtp.per_slot %slots(%groups) {
  ^bb0(%index: index, %slot: i32, %x: tensor<2x5xf32>):
    mtp.yield %x : tensor<2x5xf32>
  } : (tensor<3xi32>, tensor<3x2x5xf32>) -> tensor<3x2x5xf32>
  exec.output "y" %y : tensor<3x2x5xf32>
}
})";
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, module);
    std::vector<float> packed(batch * size);
    for (size_t i = 0; i < packed.size(); ++i)
      packed[i] = i / width == 3 ? NAN : float(i); // of no slot
    for (Ints places :
         {Ints{5, -1, 0, 4, 2, 1}, Ints{-1, INT32_MIN, 2, 6, 7, INT32_MAX}}) {
      Guarded<int32_t> slots(Ints{2, 0, 1}), where(places);
      Guarded<float> x(packed), y(batch * size);
      kernel.run({slots.data(), where.data(), x.data(), y.data()}, {batch},
                 Split::Random);
      for (int row = 0; row < batch * each; ++row) {
        int place = places[row];
        int nearest = std::min(place / each, batch - 1) * each + place % each;
        for (int column = 0; column < width; ++column)
          EXPECT_EQ(y[row * width + column],
                    place < 0 ? 0 : packed[nearest * width + column])
              << row << " " << column;
      }
    }
  }
}

// A module may contain kernels of its own. If the body does not prove that an
// index is in range, the kernel gets no code.
TEST(Control, IsRefusedWhereAnIndexMayBeAnything) {
  auto kernel = [](const std::string &index, const std::string &row = "%i") {
    return "exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 1> "
           "{\n^bb0(%i: index, %x: memref<?x4xi32>, %y: memref<?xi32>):\n"
           "  %c0 = arith.constant 0 : index\n"
           "  %c3 = arith.constant 3 : index\n"
           "  %c4 = arith.constant 4 : index\n" +
           index + "  %v = memref.load %x[" + row +
           ", %j] : memref<?x4xi32>\n"
           "  memref.store %v, %y[%i] : memref<?xi32>\n}\n";
  };
  std::string error = "'memref.load' op expected indices that are in range "
                      "whatever memory holds, which those into "
                      "'memref<?x4xi32>' may not be";
  EXPECT_EQ(controlKernelError(kernel("  %j = arith.minsi %i, %c3 : index\n")),
            error);
  EXPECT_EQ(controlKernelError(kernel("  %j = arith.constant 4 : index\n")),
            error);
  std::string good = "  %l = arith.minsi %i, %c3 : index\n"
                     "  %j = arith.maxsi %l, %c0 : index\n";
  EXPECT_EQ(controlKernelError(kernel(good)), "");
  EXPECT_EQ(controlKernelError(kernel(good, "%c0")), error);
  // A task may read elements of other tasks, but not write them.
  std::string near = good + "  %n = exec.clamp_task %l : index\n";
  EXPECT_EQ(controlKernelError(kernel(near, "%n")), "");
  std::string written = kernel(near, "%n");
  written.replace(written.find("%y[%i]"), 6, "%y[%n]");
  EXPECT_EQ(controlKernelError(written),
            "'memref.store' op expected indices that are in range whatever "
            "memory holds, which those into 'memref<?xi32>' may not be");
}
