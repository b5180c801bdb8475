//===- Sample_test.cpp - Sampling on a GPU against the runtime's ----------===//
//
// Kernels that sample make the picks of the runtime's builtins from equal
// buffers: over vocabularies, filters, seeds, maps, parts and stretches.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"
#include "harness/WholeModels.h"

#ifdef MTP_HAS_GPUSIM
#include "harness/GpuHarness.h"
#endif
#include "runtime/device/SamplingRow.h"
#include "runtime/device/cpu/Builtins.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

using namespace mtp;
using namespace mtp::codegen::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A builtin's variant. A part of 0 logits means that there are no parts.
struct Variant {
  int64_t vocab, part = 0;
  bool isMapped = false;
  bool inStretches = false;

  int64_t parts() const { return part ? (vocab + part - 1) / part : 0; }
  std::string config() const {
    std::string text =
        "vocab = " + std::to_string(vocab) + ", slots = " + std::to_string(6);
    if (part)
      text += ", parts = " + std::to_string(parts());
    return isMapped ? text + ", mapped = true" : text;
  }
  /// Returns the builtin for a step: "", "_scan" or "_join".
  std::string builtin(const std::string &step) const {
    std::string name = "mtp.sample" + step;
    if (part && step.empty())
      name += "_parts";
    return isMapped ? name + "_mapped" : name;
  }
};

constexpr size_t kSlots = 6;

/// Rows of logits, and their other inputs.
struct Batch {
  Batch(const Variant &variant, size_t rows)
      : rows(rows), logits(rows * size_t(variant.vocab)),
        values(rows * size_t(variant.parts())),
        indices(rows * size_t(variant.parts())),
        tokens(variant.isMapped ? size_t(variant.vocab) : 0), slots(rows),
        positions(rows), sampling(kSlots) {}

  /// Finds the best of each part, as a head leaves them.
  void findParts(const Variant &variant);
  std::vector<void *> inputs();

  size_t rows;
  Guarded<float> logits, values;
  Guarded<int32_t> indices, tokens, slots, positions;
  Guarded<SamplingRow> sampling;
};

using Picks = std::vector<int32_t>;
/// Results of scans: the buckets of each stretch, six words each.
using Found = std::vector<uint32_t>;

/// Kernels of a variant on the simulated GPU.
class Sampler {
public:
  explicit Sampler(const Variant &variant);

  /// Runs the kernels. With stretches, also returns the results of scans in
  /// `found`.
  Picks run(Batch &batch, Found *found = nullptr) const;
  Picks runBuiltin(Batch &batch, Found *found = nullptr) const;

private:
  Variant variant;
  std::unique_ptr<Kernel> whole, scan, join;
};

} // namespace

void Batch::findParts(const Variant &variant) {
  size_t parts = size_t(variant.parts()), vocab = size_t(variant.vocab);
  for (size_t i = 0; i < rows * parts; ++i) {
    size_t first = i % parts * size_t(variant.part);
    values[i] = -kInf;
    indices[i] = int32_t(first);
    for (size_t j = first; j < std::min(first + size_t(variant.part), vocab);
         ++j) {
      float logit = logits[i / parts * vocab + j];
      if (logit > values[i]) {
        values[i] = logit;
        indices[i] = int32_t(j);
      }
    }
  }
}

std::vector<void *> Batch::inputs() {
  std::vector<void *> all;
  if (values.size())
    all = {values.data(), indices.data()};
  all.push_back(logits.data());
  if (tokens.size())
    all.push_back(tokens.data());
  all.insert(all.end(), {slots.data(), positions.data(), sampling.data()});
  return all;
}

static TestTarget simulatedGpu() {
  TestTarget gpu;
  gpu.isGpu = true;
  return gpu;
}

Sampler::Sampler(const Variant &variant) : variant(variant) {
  auto make = [&](const char *kind) {
    return std::make_unique<Kernel>(simulatedGpu(), kind, variant.config());
  };
  if (!variant.inStretches) {
    whole = make("sample");
    return;
  }
  scan = make("sample_scan");
  join = make("sample_join");
}

static std::vector<void *> with(std::vector<void *> buffers, void *buffer) {
  buffers.push_back(buffer);
  return buffers;
}

/// Contents of the buckets before a scan.
static constexpr uint32_t kUnwritten = 0xdeadbeef;

static size_t bucketWords(const Variant &variant, size_t rows) {
  return rows * size_t(sampleStretches(variant.vocab) * kSampleStretchWords);
}

Picks Sampler::run(Batch &batch, Found *left) const {
  Guarded<int32_t> picks(batch.rows);
  std::fill_n(picks.data(), batch.rows, -9);
  std::vector<int64_t> params = {int64_t(batch.rows)};
  if (!variant.inStretches) {
    whole->run(with(batch.inputs(), picks.data()), params);
    return picks.values();
  }
  Guarded<uint32_t> found(bucketWords(variant, batch.rows));
  std::fill_n(found.data(), found.size(), kUnwritten);
  std::vector<void *> buffers = with(batch.inputs(), found.data());
  scan->run(buffers, params);
  if (left)
    *left = found.values();
  join->run(with(buffers, picks.data()), params);
  return picks.values();
}

Picks Sampler::runBuiltin(Batch &batch, Found *left) const {
  Picks picks(batch.rows, -9);
  std::vector<uint64_t> scratch(size_t(variant.vocab));
  auto call = [&](const std::string &step, std::vector<void *> buffers,
                  int64_t tasks) {
    const int64_t params[] = {int64_t(batch.rows), variant.vocab,
                              std::max<int64_t>(variant.parts(), 1), kSlots};
    auto code = findBuiltinCode(variant.builtin(step));
    ASSERT_TRUE(code.isOk());
    (*code)(buffers.data(), params, 0, tasks, scratch.data());
  };
  if (!variant.inStretches) {
    call("", with(batch.inputs(), picks.data()), int64_t(batch.rows));
    return picks;
  }
  Guarded<uint32_t> found(bucketWords(variant, batch.rows));
  std::fill_n(found.data(), found.size(), kUnwritten);
  std::vector<void *> buffers = with(batch.inputs(), found.data());
  call("_scan", buffers, int64_t(batch.rows) * sampleStretches(variant.vocab));
  if (left)
    *left = found.values();
  call("_join", with(buffers, picks.data()), int64_t(batch.rows));
  return picks;
}

namespace {
/// Draws batches of all shapes.
class Draw {
public:
  explicit Draw(uint32_t seed) : random(seed) {}

  void fill(Batch &batch, const Variant &variant);

private:
  float among(std::initializer_list<float> values) {
    return values.begin()[random() % values.size()];
  }
  void fillRow(float *logits, size_t vocab);
  SamplingRow sampling(size_t vocab);

  std::mt19937 random;
};
} // namespace

void Draw::fillRow(float *logits, size_t vocab) {
  std::normal_distribution<float> normal;
  float spread = among({0, 1e-3f, 0.3f, 1, 5, 30}), grain = among({0, 0.5f});
  float odd = among({0, 0, 0.1f, 1});
  for (size_t i = 0; i < vocab; ++i) {
    float x = among({0, 0, 0, 20}) * odd + spread * normal(random);
    x = grain > 0 ? std::round(x / grain) * grain : x;
    if (odd > 0 && random() % 16 == 0)
      x = among({kNaN, -kInf, 0.0f, -0.0f, -1e30f});
    logits[i] = x;
  }
  if (random() % 12 == 0)
    std::fill_n(logits, vocab, among({kNaN, -kInf, -0.0f, 3}));
  if (random() % 16 == 0)
    logits[random() % vocab] = kInf;
}

SamplingRow Draw::sampling(size_t vocab) {
  SamplingRow row = {};
  row.seedLow = uint32_t(random());
  row.seedHigh = uint32_t(random());
  row.temperature = among({0, 1e-40f, 0.1f, 0.5f, 1, 1, 2, 5, 1e30f, kNaN});
  int half = vocab / 2;
  row.topK = int32_t(among({0, 0, -3, 1, 2, 40, float(half), 1e9f}));
  row.topP = among({1, 1, 2, 0, -1, 1e-12f, 0.3f, 0.9f, 0.95f, 0.999999f});
  row.minP = among({0, 0, 0, -1, 1e-13f, 0.05f, 0.5f, 1, 7});
  row.skipLogits = random() % 8 == 0;
  return row;
}

void Draw::fill(Batch &batch, const Variant &variant) {
  size_t vocab = size_t(variant.vocab);
  for (size_t row = 0; row < batch.rows; ++row) {
    fillRow(batch.logits.data() + row * vocab, vocab);
    batch.slots[row] =
        random() % 16 ? int32_t(random() % kSlots) : int32_t(random());
    batch.positions[row] = random() % 16 ? int32_t(random() >> 1) : -1;
  }
  for (size_t slot = 0; slot < kSlots; ++slot)
    batch.sampling[slot] = sampling(vocab);
  int32_t token = 0;
  for (size_t i = 0; i < batch.tokens.size(); ++i)
    batch.tokens[i] = token += 1 + int32_t(random() % 7);
  if (random() % 2)
    std::shuffle(batch.tokens.data(), batch.tokens.data() + batch.tokens.size(),
                 random);
  batch.findParts(variant);
}

static void expectTheBuiltinsPicks(const Variant &variant, int batches,
                                   size_t rows, uint32_t seed) {
  SCOPED_TRACE(variant.config() + (variant.inStretches ? ", stretches" : ""));
  Sampler sampler(variant);
  Draw draw(seed);
  for (int i = 0; i < batches; ++i) {
    Batch batch(variant, rows);
    draw.fill(batch, variant);
    Picks picks = sampler.run(batch), wanted = sampler.runBuiltin(batch);
    for (size_t row = 0; row < rows; ++row) {
      const SamplingRow &law = batch.sampling[size_t(
          std::clamp<int64_t>(batch.slots[row], 0, kSlots - 1))];
      ASSERT_EQ(picks[row], wanted[row])
          << "batch " << i << ", row " << row << ", T " << law.temperature
          << ", top-k " << law.topK << ", top-p " << law.topP << ", min-p "
          << law.minP;
    }
  }
}

#ifdef MTP_HAS_GPUSIM

namespace {
class GpuSampleOf : public testing::TestWithParam<Variant> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Vocabularies, GpuSampleOf,
                         testing::Values(Variant{1}, Variant{2}, Variant{5},
                                         Variant{31}, Variant{128},
                                         Variant{300}, Variant{1027},
                                         Variant{2052}, Variant{4099}),
                         NamedByConfig());
INSTANTIATE_TEST_SUITE_P(
    PartsAndMaps, GpuSampleOf,
    testing::Values(Variant{.vocab = 300, .part = 32},
                    Variant{.vocab = 301, .isMapped = true},
                    Variant{.vocab = 2500, .part = 16},
                    Variant{.vocab = 517, .part = 32, .isMapped = true}),
    NamedByConfig());

TEST_P(GpuSampleOf, PicksWhatTheRuntimePicks) {
  int64_t vocab = GetParam().vocab;
  expectTheBuiltinsPicks(GetParam(), vocab < 1000 ? 8 : 3, 16, uint32_t(vocab));
}

namespace {
/// A variant that takes long, with fewer rows.
struct LargeVariant {
  Variant variant;
  int batches;
  size_t rows;
  uint32_t seed;

  std::string config() const { return variant.config(); }
};

class GpuSampleOfLarge : public testing::TestWithParam<LargeVariant> {};
class GpuSampleOfWholeModels : public GpuSampleOfLarge {};
} // namespace

static std::vector<LargeVariant> wholeModelVariants() {
  std::vector<LargeVariant> variants;
  for (const ModelKernel &kernel : kernelsOfWholeModels("sample_scan"))
    variants.push_back(
        {{.vocab = kernel.number("vocab"), .part = 32, .inStretches = true},
         1,
         4,
         uint32_t(250 + variants.size())});
  return variants;
}

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, GpuSampleOfLarge,
    testing::Values(
        LargeVariant{{32000}, 1, 8, 200},
        LargeVariant{
            {.vocab = 32000, .part = 32, .inStretches = true}, 2, 8, 201},
        LargeVariant{
            {.vocab = 16390, .part = 64, .isMapped = true, .inStretches = true},
            1,
            8,
            202}),
    NamedByConfig());
INSTANTIATE_TEST_SUITE_P(WholeModels, GpuSampleOfWholeModels,
                         testing::ValuesIn(wholeModelVariants()),
                         NamedByConfig());

TEST_P(GpuSampleOfLarge, PicksWhatTheRuntimePicks) {
  const auto &[variant, batches, rows, seed] = GetParam();
  expectTheBuiltinsPicks(variant, batches, rows, seed);
}

TEST_P(GpuSampleOfWholeModels, PicksWhatTheRuntimePicks) {
  if (std::getenv("MTP_RECORD_KERNELS"))
    GTEST_SKIP() << "buffers of whole models are not recorded";
  const auto &[variant, batches, rows, seed] = GetParam();
  expectTheBuiltinsPicks(variant, batches, rows, seed);
}

TEST(GpuSample, TheListHasWhatIsSampled) {
  for (const char *kind : {"sample_scan", "sample_join"}) {
    EXPECT_EQ(kernelsOfWholeModels(kind).size(), 2u);
    for (const ModelKernel &kernel : kernelsOfWholeModels(kind))
      EXPECT_EQ((Variant{.vocab = kernel.number("vocab"), .part = 32}.parts()),
                kernel.number("parts"));
  }
}

namespace {
class GpuSampleScansOf : public testing::TestWithParam<Variant> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, GpuSampleScansOf,
    testing::Values(Variant{.vocab = 2, .part = 32, .inStretches = true},
                    Variant{.vocab = 3, .part = 32, .inStretches = true},
                    Variant{.vocab = 700, .part = 32, .inStretches = true},
                    Variant{.vocab = 16390, .part = 32, .inStretches = true}),
    NamedByConfig());

// A pick rarely shows a wrong bit of noise or weight. Scans leave the bits
// themselves: for rows without filters that compare tokens, the winner's key;
// for other rows, counts and sums of weights. In short rows any noise wins.
TEST_P(GpuSampleScansOf, LeaveTheRuntimesBits) {
  size_t keys = 0, sums = 0;
  const Variant &variant = GetParam();
  int64_t vocab = variant.vocab;
  Sampler sampler(variant);
  Draw draw(uint32_t(300 + vocab));
  for (int i = 0; i < (vocab < 10 ? 8 : 2); ++i) {
    Batch batch(variant, vocab < 1000 ? 200 : 8);
    draw.fill(batch, variant);
    Found mine, theirs;
    EXPECT_EQ(sampler.run(batch, &mine), sampler.runBuiltin(batch, &theirs));
    ASSERT_EQ(mine.size(), theirs.size());
    for (size_t word = 0; word < mine.size(); ++word) {
      // Picks that lose against the best token's pick may be missing, and
      // tokens that are far may be counted or not.
      size_t at = word % kSampleStretchWords, first = word - at;
      bool hasSums = theirs[first] != kUnwritten;
      bool isPick = at % 6 > 3, isFar = at / 6 == kSampleStretchWords / 6 - 1;
      if (hasSums && (isPick || isFar))
        continue;
      ASSERT_EQ(mine[word], theirs[word])
          << "row " << word / bucketWords(variant, 1) << ", word " << at;
      keys += !hasSums && isPick && theirs[word] != kUnwritten;
      sums += hasSums && at % 6 < 2 && theirs[word] != 0;
    }
  }
  // With many tokens no token wins by its key alone.
  if (vocab < 10)
    EXPECT_GT(keys, 100u);
  EXPECT_GT(sums, 100u);
}

namespace {
struct SampleKernel {
  std::string kind, keys;

  std::string config() const { return kind + ", " + keys; }
};

class GpuSamplePtx : public testing::TestWithParam<SampleKernel> {};
} // namespace

static std::vector<SampleKernel> sampleKernels() {
  const std::string whole = "vocab = 128256, slots = 8",
                    parts = whole + ", parts = 4008";
  return {{"sample", "vocab = 1000, slots = 8"},
          {"sample", whole},
          {"sample", whole + ", mapped = true"},
          {"sample", "vocab = 129281, parts = 4041, slots = 8"},
          {"sample_scan", parts},
          {"sample_scan", parts + ", mapped = true"},
          {"sample_join", parts},
          {"sample_join", parts + ", mapped = true"}};
}

INSTANTIATE_TEST_SUITE_P(Kernels, GpuSamplePtx,
                         testing::ValuesIn(sampleKernels()), NamedByConfig());

TEST_P(GpuSamplePtx, AssemblesWithoutSpills) {
  AssembledKernel kernel = assembleKernel(GetParam().kind, GetParam().keys);
  // Keys and weights have the bits of separate operations.
  for (const char *none : {".local", "fma.rn", "div.approx", "div.full", ".ftz",
                           "atom.global", "red.global", "call"})
    EXPECT_EQ(kernel.ptx.find(none), std::string::npos) << none;
  EXPECT_LT(kernel.ptx.find("griddepcontrol.wait"),
            kernel.ptx.find("ld.global"));
  expectHalfOfProcessor(kernel);
  if (!kernel.absence.empty()) {
    EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << kernel.absence;
    GTEST_SKIP() << kernel.absence;
  }
}

#endif // MTP_HAS_GPUSIM
