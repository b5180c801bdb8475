//===- Vocabulary_test.cpp - Work over rows of logits ---------------------===//
//
// Compares numbers, columns and distributions of rows with double precision,
// filters with a sort by the sampler's weights, and picks with integers.
// Distributions and picks have the same bits on every target.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"
#include "runtime/device/SamplingRow.h"
#include "runtime/device/cpu/SampleMath.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::codegen::test;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

static constexpr float kInf = INFINITY;

static void forTargets(const std::function<void(const TestTarget &)> &body) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    body(target);
  }
}

static std::string widthOf(int width) {
  return "width = " + std::to_string(width);
}

static Floats rowsOf(const Floats &x, int width, int first, int count) {
  return {x.begin() + size_t(first) * width,
          x.begin() + size_t(first + count) * width};
}

/// Returns rows of logits. The last rows contain infinities and NaN.
static Floats logitRows(int rows, int width) {
  Floats x = randomFloats(size_t(rows) * width, 7, 6.0f);
  std::fill_n(&x[(rows - 1) * width], width, NAN);
  std::fill_n(&x[(rows - 2) * width], width, -kInf);
  x[(rows - 3) * width + width / 2] = kInf;
  x[(rows - 4) * width + width - 1] = NAN;
  x[(rows - 4) * width] = -kInf;
  return x;
}

//===----------------------------------------------------------------------===//
// Numbers of a row
//===----------------------------------------------------------------------===//

namespace {
struct Sums {
  double logSum = -INFINITY, entropy = 0;
};
} // namespace

static Sums sumsOf(const float *x, int width) {
  double best = -INFINITY, sum = 0, moment = 0;
  for (int i = 0; i < width; ++i)
    best = std::max(best, std::isnan(x[i]) ? -INFINITY : double(x[i]));
  if (std::isinf(best))
    return {best, 0};
  for (int i = 0; i < width; ++i)
    if (!std::isnan(x[i]) && std::isfinite(x[i])) {
      double y = x[i] - best;
      sum += std::exp(y);
      moment += std::exp(y) * y;
    }
  return {best + std::log(sum), std::log(sum) - moment / sum};
}

static void expectClose(double got, double want) {
  if (std::isinf(want))
    EXPECT_EQ(got, want);
  else
    EXPECT_NEAR(got, want, 2e-6 * std::max(1.0, std::fabs(want)));
}

namespace {
/// A width, and whether the number is the entropy.
using Number = std::tuple<int, bool>;
class RowNumbersOf : public testing::TestWithParam<Number> {};
} // namespace

static std::string nameOfNumber(const testing::TestParamInfo<Number> &info) {
  auto [width, isEntropy] = info.param;
  return (isEntropy ? "entropy_" : "log_sum_exp_") + std::to_string(width);
}

INSTANTIATE_TEST_SUITE_P(Widths, RowNumbersOf,
                         testing::Combine(testing::Values(1, 37, 300, 1031),
                                          testing::Bool()),
                         nameOfNumber);

TEST_P(RowNumbersOf, AreThoseOfDoublePrecision) {
  auto [width, isEntropy] = GetParam();
  forTargets([&](const TestTarget &target) {
    const int rows = 6;
    Floats x = logitRows(rows, width);
    Kernel kernel(target, isEntropy ? "entropy" : "log_sum_exp",
                  widthOf(width));
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(rowsOf(x, width, first, count)), out(count);
      kernel.run({in.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(rows, 1, run);
    Floats y = run(0, rows, Split::Random);
    for (int row = 0; row < rows; ++row) {
      SCOPED_TRACE(testing::Message() << "row " << row);
      Sums want = sumsOf(&x[row * width], width);
      expectClose(y[row], isEntropy ? want.entropy : want.logSum);
    }
  });
}

TEST(LogSoftmax, IsElementsLessTheSum) {
  forTargets([](const TestTarget &target) {
    for (int width : {1, 37, 300, 1031}) {
      const int rows = 6;
      Floats x = logitRows(rows, width);
      Kernel kernel(target, "log_softmax", widthOf(width));
      auto run = [&](int first, int count, Split split) {
        Guarded<float> in(rowsOf(x, width, first, count));
        Guarded<float> out(size_t(count) * width);
        kernel.run({in.data(), out.data()}, {count}, split);
        return out.values();
      };
      expectRowInvariant(rows, width, run, target.isGpu ? 5 : 1);
      Floats y = run(0, rows, Split::Random);
      for (int i = 0; i < rows * width; ++i) {
        double sum = sumsOf(&x[i / width * width], width).logSum;
        double want = !(x[i] > -kInf) ? -INFINITY
                      : x[i] == sum   ? 0
                                      : x[i] - sum;
        expectClose(y[i], want);
      }
    }
  });
}

TEST(GatherColumns, TakesTheNearestWhereThereIsNone) {
  forTargets([](const TestTarget &target) {
    const int width = 37, rows = 3;
    Kernel kernel(target, "gather_columns", "width = 37, count = 2");
    Floats x = randomFloats(rows * width, 1);
    Ints columns{0, 36, 37, -1, INT32_MAX, INT32_MIN};
    Guarded<float> in(x), out(rows * 2);
    Guarded<int32_t> at(columns);
    kernel.run({in.data(), at.data(), out.data()}, {rows, rows}, Split::Random);
    for (int i = 0; i < rows * 2; ++i)
      EXPECT_EQ(out[i], x[i / 2 * width + std::clamp(columns[i], 0, 36)]);
  });
}

TEST(GatherColumns, ReadsPackedRowsByTheirPlaces) {
  forTargets([](const TestTarget &target) {
    const int width = 37, rows = 4, packed = 3;
    Kernel kernel(target, "gather_columns",
                  "width = 37, count = 2, packed = true");
    Floats x = randomFloats(packed * width, 1);
    Ints columns{0, 36, 5, 6, 7, 8, 9, 10}, places{2, -1, 0, INT32_MAX};
    Guarded<float> in(x), out(rows * 2);
    Guarded<int32_t> at(columns), where(places);
    kernel.run({in.data(), where.data(), at.data(), out.data()}, {rows, packed},
               Split::Random);
    for (int i = 0; i < rows * 2; ++i) {
      int place = std::min(places[i / 2], packed - 1);
      EXPECT_EQ(out[i], place < 0 ? 0 : x[place * width + columns[i]]) << i;
    }
  });
}

TEST(MaskColumns, TakesOutWhatItsSlotsRowForbids) {
  forTargets([](const TestTarget &target) {
    for (int width : {1, 31, 32, 37, 64, 300, 1031}) {
      const int rows = 6, slots = 2, rowsOfSlot = 3, words = (width + 31) / 32;
      Kernel kernel(target, "mask_columns",
                    widthOf(width) + ", rows = 3, chosen = true, slots = 2");
      Floats x = logitRows(rows, width);
      Ints bits(slots * rowsOfSlot * words);
      for (size_t i = 0; i < bits.size(); ++i)
        bits[i] = int32_t(uint32_t(i + 1) * 2654435761u);
      // An index beyond the states means the nearest one.
      Ints slot{0, 1, 0, 2, -1, INT32_MAX}, at{0, 2, 1, 3, -5, INT32_MIN};
      auto run = [&](int first, int count, Split split) {
        Guarded<float> in(rowsOf(x, width, first, count));
        Guarded<float> out(size_t(count) * width);
        Guarded<int32_t> of(Ints(&slot[first], &slot[first] + count));
        Guarded<int32_t> row(Ints(&at[first], &at[first] + count));
        Guarded<int32_t> state(bits);
        kernel.run({in.data(), of.data(), row.data(), state.data(), out.data()},
                   {count}, split);
        return out.values();
      };
      expectRowInvariant(rows, width, run);
      Floats y = run(0, rows, Split::Random);
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < width; ++column) {
          int own = std::clamp(slot[row], 0, slots - 1) * rowsOfSlot +
                    std::clamp(at[row], 0, rowsOfSlot - 1);
          bool isIn = bits[own * words + column / 32] >> column % 32 & 1;
          float want = isIn ? x[row * width + column] : -kInf;
          ASSERT_EQ(std::bit_cast<uint32_t>(y[row * width + column]),
                    std::bit_cast<uint32_t>(want))
              << width << " " << row << " " << column;
        }
    }
  });
}

/// Returns the order of columns: the larger value first, then the lower column.
static Ints sortedColumns(const float *x, int width) {
  Ints columns;
  for (int i = 0; i < width; ++i)
    if (x[i] > -kInf)
      columns.push_back(i);
  std::stable_sort(columns.begin(), columns.end(),
                   [&](int a, int b) { return x[a] > x[b]; });
  return columns;
}

namespace {
/// A width, and the number of chosen columns.
using WidthAndK = std::pair<int, int>;
class TopKOf : public testing::TestWithParam<WidthAndK> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Widths, TopKOf,
                         testing::Values(WidthAndK(5, 5), WidthAndK(37, 3),
                                         WidthAndK(600, 64)),
                         [](const testing::TestParamInfo<WidthAndK> &info) {
                           return std::to_string(info.param.first) + "_k" +
                                  std::to_string(info.param.second);
                         });

TEST_P(TopKOf, HasTheBestInOrder) {
  int width = GetParam().first, k = GetParam().second;
  forTargets([&](const TestTarget &target) {
    const int rows = 6;
    Kernel kernel(target, "top_k",
                  widthOf(width) + ", k = " + std::to_string(k));
    Floats x = logitRows(rows, width);
    // Ties everywhere, and both zeros.
    for (int i = 0; i < width; ++i)
      x[i] = i % 3 ? float(i % 2) : -0.0f;
    Guarded<float> in(x), logs(rows * k);
    Guarded<int32_t> columns(rows * k);
    kernel.run({in.data(), columns.data(), logs.data()}, {rows}, Split::Random);
    for (int row = 0; row < rows; ++row) {
      SCOPED_TRACE(testing::Message() << "row " << row);
      Ints want = sortedColumns(&x[row * width], width);
      double sum = sumsOf(&x[row * width], width).logSum;
      for (int i = 0; i < k; ++i) {
        bool isThere = i < int(want.size());
        EXPECT_EQ(columns[row * k + i], isThere ? want[i] : -1) << i;
        double log = -INFINITY;
        if (isThere) {
          double own = x[row * width + want[i]];
          log = own == sum ? 0 : own - sum;
        }
        expectClose(logs[row * k + i], log);
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

namespace {
/// Sampling parameters of each slot. The rows of a test differ by them.
const SamplingRow laws[] = {
    {1, 2, 1.0f, 0, 1.0f, 0.0f, 0, 0},  {1, 2, 0.0f, 3, 0.5f, 0.0f, 0, 0},
    {1, 2, 0.7f, 5, 1.0f, 0.0f, 0, 0},  {1, 2, 1.5f, 0, 0.8f, 0.0f, 0, 0},
    {1, 2, 1.0f, 9, 0.6f, 0.05f, 0, 0}, {1, 2, 3.0f, 0, 1.0f, 0.1f, 0, 0},
    {1, 2, 0.1f, 1, 0.9f, 0.0f, 0, 0},  {1, 2, 1.0f, 0, 0.0f, 0.0f, 0, 0},
};
constexpr int lawCount = std::size(laws);
} // namespace

/// Returns the distribution after the filters, as FORMAT.md defines it, column
/// by column.
static std::vector<double> distributionOf(const float *x, int width,
                                          const SamplingRow &law) {
  std::vector<double> p(width, 0.0);
  Ints order = sortedColumns(x, width);
  if (order.empty())
    return p;
  float best = x[order[0]];
  if (!(law.temperature > 0) || best == kInf) {
    p[order[0]] = 1;
    return p;
  }
  auto distance = [&](int i) { return (best - x[i]) * (1 / law.temperature); };
  auto weight = [&](int i) { return double(weightOf(distance(i))); };
  std::erase_if(order, [&](int i) { return !(distance(i) < kFarDistance); });
  if (law.topK > 0 && size_t(law.topK) < order.size())
    order.resize(law.topK);
  if (law.topP < 1) {
    double all = 0, sum = 0;
    for (int i : order)
      all += weight(i);
    size_t kept = 0;
    while (kept < order.size() &&
           (kept == 0 || sum < std::ceil(all * double(law.topP))))
      sum += weight(order[kept++]);
    order.resize(kept);
  }
  double total = 0;
  for (int i : order)
    if (weight(i) >= double(law.minP) * double(kFullWeight)) {
      p[i] = std::exp(-double(distance(i)));
      total += p[i];
    }
  for (double &value : p)
    value /= total;
  return p;
}

static void expectDistribution(const float *got, const float *x, int width,
                               const SamplingRow &law) {
  std::vector<double> want = distributionOf(x, width, law);
  for (int i = 0; i < width; ++i) {
    EXPECT_EQ(got[i] > 0, want[i] > 0) << i << " " << x[i];
    EXPECT_NEAR(got[i], want[i], 3e-6 * want[i]) << i;
  }
}

namespace {
class ProbabilitiesOf : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Widths, ProbabilitiesOf,
                         testing::Values(1, 37, 300, 1031),
                         testing::PrintToStringParamName());

TEST_P(ProbabilitiesOf, AreOfWhatSamplingKeeps) {
  int width = GetParam();
  Floats first;
  forTargets([&](const TestTarget &target) {
    // The simulator is slow.
    if (target.isGpu && width == 1031)
      return;
    const int rows = 2 * lawCount;
    Kernel kernel(target, "probabilities", widthOf(width) + ", slots = 8");
    Floats x = logitRows(rows, width);
    // Ties at every boundary, and at both zeros.
    for (int row = 0; row < rows; row += 3)
      for (int i = 0; i < width; ++i)
        x[row * width + i] = i % 7 == 3 ? -0.0f : float(i % 4);
    // Two rows of each slot, in another order than the slots.
    auto run = [&](int begin, int count, Split split) {
      Ints slots;
      for (int row = begin; row < begin + count; ++row)
        slots.push_back(lawCount - 1 - row / 2);
      Guarded<float> in(rowsOf(x, width, begin, count)), out(count * width);
      Guarded<int32_t> of(slots);
      Guarded<SamplingRow> sampling(
          std::vector<SamplingRow>(laws, laws + lawCount));
      kernel.run({in.data(), of.data(), sampling.data(), out.data()},
                 {count, count}, split);
      return out.values();
    };
    expectRowInvariant(rows, width, run, target.isGpu ? 11 : 5);
    Floats p = run(0, rows, Split::Random);
    for (int row = 0; row < rows; ++row) {
      SCOPED_TRACE(testing::Message() << "row " << row);
      expectDistribution(&p[row * width], &x[row * width], width,
                         laws[lawCount - 1 - row / 2]);
    }
    first = first.empty() ? p : first;
    EXPECT_EQ(std::memcmp(first.data(), p.data(), p.size() * 4), 0);
  });
}

TEST(Probabilities, TakeTheRowsOfASlotTogether) {
  forTargets([](const TestTarget &target) {
    const int width = 37, slots = 3, each = 4;
    Kernel kernel(target, "probabilities", "width = 37, slots = 8");
    Floats x = randomFloats(slots * each * width, 3, 5.0f);
    Ints numbers{5, 0, 99};
    Guarded<float> in(x), out(slots * each * width);
    Guarded<int32_t> of(numbers);
    Guarded<SamplingRow> sampling(
        std::vector<SamplingRow>(laws, laws + lawCount));
    kernel.run({in.data(), of.data(), sampling.data(), out.data()},
               {slots * each, slots}, Split::Random);
    for (int row = 0; row < slots * each; ++row)
      expectDistribution(&out[row * width], &x[row * width], width,
                         laws[std::min(numbers[row / each], 7)]);
  });
}

//===----------------------------------------------------------------------===//
// Picks
//===----------------------------------------------------------------------===//

/// Returns the pick of a uniform number from max(p - q, 0), or from p if there
/// is no q.
static int32_t pickOf(const float *p, const float *q, int width,
                      float uniform) {
  std::vector<__int128> units(width);
  __int128 total = 0;
  for (int i = 0; i < width; ++i) {
    float more = p[i] - (q ? q[i] : 0.0f);
    units[i] = more > 0 ? int64_t(std::min(more, 1.0f) * 0x1p38f) : 0;
    total += units[i];
  }
  if (total == 0)
    return q ? pickOf(p, nullptr, width, uniform) : -1;
  __int128 goal = total * int64_t(uniform * 0x1p24f) >> 24, sum = 0;
  for (int i = 0; i < width; ++i) {
    sum += units[i];
    if (sum > goal)
      return i;
  }
  return width - 1;
}

static Floats randomDistributions(int rows, int width, uint32_t seed) {
  Floats p = randomFloats(size_t(rows) * width, seed, 4.0f);
  for (int row = 0; row < rows; ++row) {
    float *own = &p[row * width], sum = 0;
    for (int i = 0; i < width; ++i)
      sum += own[i] = i % 5 == 2 ? 0 : std::exp(own[i]);
    for (int i = 0; i < width; ++i)
      own[i] /= sum;
  }
  return p;
}

namespace {
/// A width, and whether a distribution is subtracted.
using Residual = std::tuple<int, bool>;
class SampleResidualOf : public testing::TestWithParam<Residual> {};
} // namespace

static std::string
nameOfResidual(const testing::TestParamInfo<Residual> &info) {
  auto [width, less] = info.param;
  return std::to_string(width) + (less ? "_less" : "");
}

INSTANTIATE_TEST_SUITE_P(Widths, SampleResidualOf,
                         testing::Combine(testing::Values(1, 2, 37, 256, 1031),
                                          testing::Bool()),
                         nameOfResidual);

TEST_P(SampleResidualOf, IsThatOfExactSums) {
  auto [width, less] = GetParam();
  const Floats uniforms{0, 0.25f, 0.5f, 1 - 0x1p-24f, 0.75f, 0x1p-24f, 0.9f};
  const int picks = uniforms.size();
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "sample_residual",
                  widthOf(width) + (less ? ", less = true" : ""));
    Floats p = randomDistributions(picks, width, 1);
    Floats q = randomDistributions(picks, width, 2);
    // One row has an empty residual, and another row is zero.
    std::copy_n(&p[4 * width], width, &q[4 * width]);
    std::fill_n(&p[6 * width], width, 0.0f);
    auto run = [&](int first, int count, Split split) {
      Guarded<float> a(rowsOf(p, width, first, count)),
          b(rowsOf(q, width, first, count)),
          u(rowsOf(uniforms, 1, first, count));
      Guarded<int32_t> out(count);
      std::vector<void *> buffers{a.data()};
      if (less)
        buffers.push_back(b.data());
      buffers.insert(buffers.end(), {u.data(), out.data()});
      kernel.run(buffers, {count, count, count}, split);
      return Floats(out.data(), out.data() + count);
    };
    expectRowInvariant(picks, 1, run);
    Floats got = run(0, picks, Split::Random);
    for (int i = 0; i < picks; ++i)
      EXPECT_EQ(got[i], pickOf(&p[i * width], less ? &q[i * width] : nullptr,
                               width, uniforms[i]))
          << i;
  });
}

TEST(SampleResidual, ChoosesARowOfItsGroup) {
  forTargets([](const TestTarget &target) {
    const int width = 37, picks = 5, rowsOfP = 3, rowsOfQ = 2;
    Kernel kernel(target, "sample_residual",
                  "width = 37, less = true, chosen = true");
    Floats p = randomDistributions(picks * rowsOfP, width, 1);
    Floats q = randomDistributions(picks * rowsOfQ, width, 2);
    Floats uniforms{0.1f, 0.3f, 0.5f, 0.7f, 0.9f};
    Ints rows{0, 1, 2, -1, INT32_MAX};
    Guarded<float> a(p), b(q), u(uniforms);
    Guarded<int32_t> at(rows), out(picks);
    kernel.run({a.data(), b.data(), at.data(), u.data(), out.data()},
               {picks, picks * rowsOfP, picks * rowsOfQ}, Split::Random);
    for (int i = 0; i < picks; ++i) {
      const float *own = &p[(i * rowsOfP + std::clamp(rows[i], 0, 2)) * width];
      bool hasLess = rows[i] >= 0 && rows[i] < rowsOfQ;
      const float *less =
          hasLess ? &q[(i * rowsOfQ + rows[i]) * width] : nullptr;
      EXPECT_EQ(out[i], pickOf(own, less, width, uniforms[i])) << i;
    }
  });
}

// The rows of p are packed in any order.
TEST(SampleResidual, ReadsPackedRowsByTheirPlaces) {
  forTargets([](const TestTarget &target) {
    const int width = 37, picks = 5, each = 3, rowsOfP = 9, rowsOfQ = 2;
    Kernel kernel(target, "sample_residual",
                  "width = 37, less = true, chosen = true, packed = 3");
    Floats p = randomDistributions(rowsOfP, width, 1);
    Floats q = randomDistributions(picks * rowsOfQ, width, 2);
    // A row without a place is unwritten.
    std::fill_n(&p[2 * width], width, NAN);
    Floats uniforms{0.1f, 0.3f, 0.5f, 0.7f, 0.9f};
    Ints rows{0, 1, 2, -1, INT32_MAX};
    Ints places{8,       -1, 7,  /*1*/ 0,  6,  -1, /*2*/ 1, 3, -1,
                /*3*/ 5, -1, -1, /*4*/ -1, -1, 4};
    Guarded<float> a(p), b(q), u(uniforms);
    Guarded<int32_t> where(places), at(rows), out(picks);
    kernel.run(
        {a.data(), where.data(), b.data(), at.data(), u.data(), out.data()},
        {picks, rowsOfP, picks * rowsOfQ}, Split::Random);
    for (int i = 0; i < picks; ++i) {
      int place = places[i * each + std::clamp(rows[i], 0, each - 1)];
      bool hasLess = rows[i] >= 0 && rows[i] < rowsOfQ;
      const float *less =
          hasLess ? &q[(i * rowsOfQ + rows[i]) * width] : nullptr;
      int want =
          place < 0 ? -1 : pickOf(&p[place * width], less, width, uniforms[i]);
      EXPECT_EQ(out[i], want) << i;
    }
    // Arbitrary places lead to the nearest row.
    Guarded<int32_t> far(Ints(picks * each, INT32_MAX));
    kernel.run(
        {a.data(), far.data(), b.data(), at.data(), u.data(), out.data()},
        {picks, rowsOfP, picks * rowsOfQ}, Split::Random);
    EXPECT_EQ(out[4], pickOf(&p[8 * width], nullptr, width, uniforms[4]));
  });
}
