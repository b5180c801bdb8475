//===- AttentionSplitKv_test.cpp - Attention over splits of contexts ------===//

#include "harness/AttentionRows.h"

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using namespace mtp::codegen::test::attention;

namespace {
class AttentionSplitKvOf : public testing::TestWithParam<Shape> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionSplitKvOf,
                         testing::ValuesIn(splitShapes), NamedByConfig());

TEST_P(AttentionSplitKvOf, MatchReference) {
  expectExactRows(GetParam(), boundaryRows);
}

//===----------------------------------------------------------------------===//
// Positions divided among workers
//===----------------------------------------------------------------------===//

namespace {

/// Kernels for attention that leaves its splits, and for joining them.
struct Divided {
  Divided(const TestTarget &target, const Shape &s, int tasksPerTile)
      : s(s), splits(target, "attention_split_kv",
                     s.config() + divisionConfig() +
                         ", tasks_per_tile = " + std::to_string(tasksPerTile)),
        join(target, "attention_combine",
             "q_heads = " + std::to_string(s.qHeads) +
                 ", kv_heads = " + std::to_string(s.kvHeads) +
                 ", dv = " + std::to_string(s.dv) + ", dtype = " + s.dtype() +
                 ", split = " + std::to_string(s.split) +
                 ", window = " + std::to_string(s.window) + divisionConfig()) {}

  int count() const { return (maxPages * s.page + s.split - 1) / s.split; }
  /// Returns a split stride that is large enough for any division into tiles.
  int stride() const { return s.qHeads * (32 + (s.dv + 15) / 16 * 16); }
  std::string divisionConfig() const {
    return ", splits = " + std::to_string(count()) +
           ", split_stride = " + std::to_string(stride());
  }

  std::vector<float> run(const Cache &cache, const Rows &rows, int first,
                         int count, Split split) const {
    // Splits that no row sees are not written, and must not be read.
    size_t width = size_t(this->count()) * stride();
    Guarded<float> between(std::vector<float>(count * width, NAN));
    Inputs inputs(cache, rows, first, count);
    std::vector<void *> buffers = inputs.buffers();
    buffers.push_back(between.data());
    splits.run(buffers, {count, maxPages}, split);
    Guarded<float> y(size_t(count) * s.qHeads * s.dv);
    join.run({inputs.place.data(), between.data(), y.data()}, {count}, split);
    return y.values();
  }

  const Shape &s;
  Kernel splits, join;
};

} // namespace

TEST_P(AttentionSplitKvOf, HaveTheSameBitsHoweverTheyAreDealtOut) {
  const Shape &s = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel plain(target, "attention", s.config());
    Cache cache(s);
    for (int tasksPerTile : {1, 3, 24}) {
      if (target.isGpu && tasksPerTile > 1)
        break; // A GPU ignores this number.
      SCOPED_TRACE("tasks per tile " + std::to_string(tasksPerTile));
      Divided divided(target, s, tasksPerTile);
      for (const Rows &rows : {boundaryRows(s), slotRuns(s)})
        for (Split split : {Split::Whole, Split::Random}) {
          int count = rows.count();
          EXPECT_EQ(runRows(plain, cache, rows, 0, count, Split::Whole),
                    divided.run(cache, rows, 0, count, split));
          EXPECT_EQ(runRows(plain, cache, rows, count - 3, 3, Split::Whole),
                    divided.run(cache, rows, count - 3, 3, split));
        }
    }
  }
}

namespace {

/// Amount that each of several workers writes of the splits of all rows.
struct Shares {
  /// Number of floats that each worker wrote, and that all wrote.
  std::vector<size_t> sizes;
  size_t all = 0;

  Shares(const Divided &divided, const Cache &cache, const Rows &rows,
         int workers) {
    int count = rows.count();
    size_t floats = size_t(count) * divided.count() * divided.stride();
    Inputs inputs(cache, rows, 0, count);
    std::vector<void *> buffers = inputs.buffers();
    buffers.push_back(nullptr);
    std::vector<int64_t> params{count, maxPages};
    Guarded<uint8_t> scratch(divided.splits.scratchBytes());
    int64_t tasks = divided.splits.tasks(count);
    std::vector<bool> written(floats);
    for (int worker = 0; worker < workers; ++worker) {
      Guarded<float> left(std::vector<float>(floats, NAN));
      buffers.back() = left.data();
      divided.splits.entry()(buffers.data(), params.data(),
                             tasks * worker / workers,
                             tasks * (worker + 1) / workers, scratch.data());
      size_t size = 0;
      for (size_t i = 0; i < floats; ++i)
        if (!std::isnan(left[i])) {
          EXPECT_FALSE(written[i]) << "worker " << worker;
          written[i] = true;
          ++size;
        }
      sizes.push_back(size);
      all += size;
    }
  }
};

} // namespace

TEST(AttentionSplitKv, WorkersShareThePositionsOfGroupsEvenly) {
  // Both have two tiles of heads. The heads of the second tile read the same
  // keys.
  constexpr int workers = 16, tiles = 2, rowsPerGroup = 8;
  for (const Shape &s : {splitShapes[1], splitShapes[3]}) {
    Cache cache(s);
    Divided divided(hostTargets().front().second, s, workers / tiles);
    for (int groups = 1; groups * tiles < workers; ++groups) {
      SCOPED_TRACE(s.config() + ": groups " + std::to_string(groups));
      Rows rows;
      for (int i = 0; i < groups * rowsPerGroup; ++i)
        addRow(s, rows, i % slots, maxPages * s.page - 1 - i);
      addQueries(s, rows);
      Shares shares(divided, cache, rows, workers);
      // The number of tasks is the number of workers that can share a group's
      // positions.
      int tasksPerTile =
          std::min(divided.count(), std::max(workers / (groups * tiles), 2));
      int splitsPerWorker = (divided.count() + tasksPerTile - 1) / tasksPerTile;
      size_t ofSplit = shares.all / (groups * tiles * divided.count());
      // With more tasks than workers, some workers have two tasks. If the two
      // tiles read the same keys, these two tasks are a pair, and every worker
      // at work has a pair.
      int tasks = groups * tiles * tasksPerTile;
      bool inPairs = tasks > workers && s.kvHeads == 1;
      EXPECT_EQ(*std::ranges::max_element(shares.sizes),
                ofSplit * splitsPerWorker * (tasks > workers ? 2 : 1));
      EXPECT_EQ(
          std::ranges::count_if(shares.sizes, [](size_t size) { return size; }),
          inPairs ? tasks / 2 : std::min(tasks, workers));
    }
  }
}
