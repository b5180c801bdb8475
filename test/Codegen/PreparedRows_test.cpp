//===- PreparedRows_test.cpp - Rows that are prepared once ----------------===//
//
// `prepare_rows` writes the layout of PreparedRows.h, and products that read it
// have the bits of products that prepare their rows themselves.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"
#include "harness/Quantized.h"

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/Exec/IR/PreparedRows.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mtp::codegen::test;
using mlir::exec::PreparedRows;

static const std::string kNorm = "norm = true, eps = 1.0e-5 : f32, offset = 1";

static TestTarget simulator(bool takesActive = false) {
  TestTarget target;
  target.isGpu = true;
  target.takesActive = takesActive;
  return target;
}

using Bytes = std::vector<uint8_t>;

template <typename T>
static Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Returns rows of values of many magnitudes, which also differ between rows.
static std::vector<float> drawRows(int rows, int stride) {
  std::vector<float> x = randomFloats(size_t(rows) * stride, 11);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] *= float(1 << (i / stride % 7)) * (i % 5 == 0 ? 8.0f : 0.5f);
  return x;
}

/// Runs a kernel whose last buffers, of `sizes` bytes, are the results. Returns
/// the results, one after another. If `live` is not negative, it is the number
/// of active rows.
static Bytes runKernel(Kernel &kernel, const std::vector<Bytes> &inputs,
                       const std::vector<size_t> &sizes, int rows,
                       int live = -1) {
  std::vector<std::unique_ptr<Guarded<uint8_t>>> buffers;
  std::vector<void *> pointers;
  auto add = [&](const Bytes &values) {
    buffers.push_back(std::make_unique<Guarded<uint8_t>>(values));
    pointers.push_back(buffers.back()->data());
  };
  for (const Bytes &input : inputs)
    add(input);
  for (size_t bytes : sizes)
    add(Bytes(bytes, 0x5a));
  if (live < 0)
    kernel.run(pointers, {rows});
  else
    kernel.runActive(pointers, {rows}, live);
  Bytes all;
  for (size_t i = inputs.size(); i < buffers.size(); ++i) {
    Bytes result = buffers[i]->values();
    all.insert(all.end(), result.begin(), result.end());
  }
  return all;
}

/// Returns the rows without the padding after the last one.
static Bytes rowBytes(const std::vector<float> &x, int rows, int k,
                      int stride) {
  return bytesOf(
      std::vector<float>(x.begin(), x.begin() + (rows - 1) * stride + k));
}

//===----------------------------------------------------------------------===//
// Prepared rows
//===----------------------------------------------------------------------===//

namespace {
struct Rows {
  int k;
  std::string format;
  bool norm;

  std::string config() const {
    return "k = " + std::to_string(k) + ", format = " + format +
           ", x_stride = " + std::to_string(stride()) +
           (norm ? ", " + kNorm : "");
  }
  int stride() const { return k + 8; }
  PreparedRows layout() const {
    mlir::MLIRContext context;
    auto kernel = mlir::cast<mlir::exec::PrepareRowsKernelAttr>(
        parseKernel("prepare_rows", config(), context));
    return {kernel.getFormat().getFormat(), k};
  }
};

class PrepareRows : public testing::TestWithParam<Rows> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(
    Formats, PrepareRows,
    testing::Values(Rows{32, "<bf16>", false}, Rows{1056, "<bf16>", false},
                    Rows{2080, "<bf16>", true}, Rows{9248, "<bf16>", true},
                    Rows{96, "<int8, group = 32>", false},
                    Rows{1120, "<int8, group = 64>", false},
                    Rows{1120, "<int8, group = 64>", true},
                    Rows{4192, "<int8, group = 128>", true},
                    Rows{160, "<int8, group = 128>", false}),
    NamedByConfig());

/// Returns the place of input i of a row in its piece, in inputs.
static int64_t placeInPiece(const PreparedRows &layout, int64_t i) {
  int64_t unit = i / 32, lane = i % 32 / 8;
  return (lane * (layout.pieceInputs() / 32) + unit) * 8 + i % 8;
}

/// Computes the header's layout of contiguous normed rows in scalar code.
static Bytes prepareInScalars(const PreparedRows &layout,
                              const std::vector<float> &x, int rows) {
  int k = int(layout.k), group = int(layout.format.group);
  Bytes bytes(size_t(rows * layout.rowBytes()), 0x5a);
  QuantizedMatrix integers;
  if (layout.isInteger())
    integers = quantizeRows(x, rows, k, k, group);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < int(layout.inputs()); ++i) {
      int64_t piece = i / layout.pieceInputs();
      int64_t at = (piece * rows + row) * layout.pieceInputs() +
                   placeInPiece(layout, i % layout.pieceInputs());
      size_t from = size_t(row) * k + i;
      if (layout.isInteger()) {
        bytes[size_t(at)] = i < k ? uint8_t(integers.values[from]) : 0;
        continue;
      }
      uint16_t bits = bf16Bits(x[from]);
      std::memcpy(&bytes[size_t(at) * 2], &bits, 2);
    }
  // Scales are read in pairs: a last row without a partner has its scale twice.
  for (int g = 0; g < int(layout.groups()); ++g)
    for (int row = 0; row < (rows + 1) / 2 * 2; ++row) {
      size_t at = size_t(rows * layout.inputs()) +
                  4 * (size_t(g) * ((rows + 1) / 2 * 2) + row);
      size_t from = size_t(std::min(row, rows - 1)) * integers.groups() + g;
      std::memcpy(&bytes[at], &integers.scales[from], 4);
    }
  return bytes;
}

TEST_P(PrepareRows, WritesFragments) {
  const Rows &c = GetParam();
  PreparedRows layout = c.layout();
  Kernel prepare(simulator(), "prepare_rows", c.config());
  for (int rows : {1, 3, 8, 19}) {
    SCOPED_TRACE(rows);
    std::vector<float> x = drawRows(rows, c.stride());
    std::vector<float> norm = randomFloats(size_t(c.k), 3);
    std::vector<Bytes> inputs{rowBytes(x, rows, c.k, c.stride())};
    std::vector<float> normed;
    for (int row = 0; row < rows; ++row)
      normed.insert(normed.end(), &x[size_t(row) * c.stride()],
                    &x[size_t(row) * c.stride()] + c.k);
    if (c.norm) {
      // As a norm alone computes it.
      inputs.push_back(bytesOf(norm));
      Kernel alone(simulator(), "rms_norm",
                   "width = " + std::to_string(c.k) +
                       ", eps = 1.0e-5 : f32, offset = 1");
      Bytes result = runKernel(alone, {bytesOf(normed), bytesOf(norm)},
                               {normed.size() * 4}, rows);
      std::memcpy(normed.data(), result.data(), result.size());
    }
    EXPECT_TRUE(runKernel(prepare, inputs, {size_t(rows * layout.rowBytes())},
                          rows) == prepareInScalars(layout, normed, rows));
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
struct Product {
  std::string kind;
  int k, n;
  std::string format;
  bool norm = false, residual = false, gated = false;

  std::string base() const {
    return "k = " + std::to_string(k) + ", n = " + std::to_string(n) +
           ", format = " + format + ", fragments = true" +
           (residual ? ", residual = true" : "") +
           (gated ? ", activation = swiglu" : "");
  }
  std::string whole() const { return base() + (norm ? ", " + kNorm : ""); }
  std::string config() const { return kind + ", " + whole(); }
  std::string rows() const {
    std::string name = format;
    if (size_t at = name.find("int4"); at != std::string::npos)
      name.replace(at, 4, "int8");
    return "k = " + std::to_string(k) + ", format = " + name +
           (norm ? ", " + kNorm : "");
  }
};

class PreparedProduct : public testing::TestWithParam<Product> {
protected:
  /// Returns random bits, around 1 for floats.
  static Bytes drawWeights(size_t bytes) {
    std::mt19937 random(3);
    std::vector<uint32_t> words(bytes / 4);
    for (uint32_t &word : words)
      word = (random() & 0x80ff80ff) | 0x3f003f00;
    return bytesOf(words);
  }
  /// Compares the output of the product that prepares its rows with the output
  /// of the other one, for `rows` rows or `live` active rows.
  void compare(bool takesActive, int rows, int live);
};
} // namespace

void PreparedProduct::compare(bool takesActive, int rows, int live) {
  const Product &c = GetParam();
  TestTarget target = simulator(takesActive);
  Kernel whole(target, c.kind, c.whole());
  Kernel prepare(target, "prepare_rows", c.rows());
  Kernel product(target, c.kind, c.base() + ", prepared = true");
  std::vector<int64_t> sizes = whole.contractBytes({rows});
  std::vector<Bytes> inputs{bytesOf(drawRows(rows, c.k))};
  if (c.norm)
    inputs.push_back(bytesOf(randomFloats(size_t(c.k), 3)));
  Bytes prepared =
      runKernel(prepare, inputs, {size_t(prepare.contractBytes({rows}).back())},
                rows, live);
  std::vector<Bytes> others{drawWeights(size_t(sizes[inputs.size()]))};
  size_t results = sizes.size() - (c.kind == "linear_argmax" ? 2 : 1);
  while (inputs.size() + others.size() < results)
    others.push_back(bytesOf(
        randomFloats(size_t(sizes[inputs.size() + others.size()]) / 4, 7)));
  auto run = [&](Kernel &kernel, std::vector<Bytes> buffers) {
    buffers.insert(buffers.end(), others.begin(), others.end());
    return runKernel(kernel, buffers,
                     {sizes.begin() + long(results), sizes.end()}, rows, live);
  };
  Bytes want = run(whole, inputs), got = run(product, {prepared});
  EXPECT_TRUE(got == want);
  EXPECT_EQ(live == 0, want == Bytes(want.size(), 0x5a));
}

INSTANTIATE_TEST_SUITE_P(
    Products, PreparedProduct,
    testing::Values(
        Product{"linear", 96, 40, "<bf16>"},
        Product{"linear", 1056, 48, "<bf16>", true},
        Product{"linear", 544, 32, "<bf16>", false, true},
        Product{"linear", 288, 96, "<bf16>", true, false, true},
        Product{"linear", 512, 96, "<bf16>", true, false, true},
        Product{"linear", 544, 64, "<bf16>", false, false, true},
        Product{"linear_argmax", 544, 70, "<bf16>", true},
        Product{"linear_argmax", 1024, 70, "<bf16>"},
        Product{"linear", 96, 40, "<int8, group = 32>", true},
        Product{"linear", 608, 48, "<int8, group = 64>", false, true},
        Product{"linear", 1184, 96, "<int8, group = 128>", true, false, true},
        Product{"linear", 640, 48, "<int4, group = 64>", true},
        Product{"linear", 224, 64, "<int4, group = 128>", false, false, true},
        Product{"linear_argmax", 160, 70, "<int4, group = 32>"}),
    NamedByConfig());

TEST_P(PreparedProduct, HasTheSameBits) {
  for (int rows : {1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 45}) {
    SCOPED_TRACE(rows);
    compare(/*takesActive=*/false, rows, -1);
  }
}

TEST_P(PreparedProduct, HasThemOfActiveRows) {
  for (auto [rows, live] : {std::pair(7, 3),
                            {16, 9},
                            {19, 0},
                            {32, 1},
                            {31, 17},
                            {45, 33},
                            {40, 40}}) {
    SCOPED_TRACE(std::to_string(live) + " of " + std::to_string(rows));
    compare(/*takesActive=*/true, rows, live);
  }
}
