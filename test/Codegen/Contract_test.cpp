//===- Contract_test.cpp - Memory that kernels may access -----------------===//
//
// Every kernel of the catalogue runs with buffers of the exact size that its
// contract allows. Each buffer ends at a protected page and has arbitrary
// contents. Numbers that a kernel reads and uses as indices (tokens, slots,
// positions, experts, pairs) must not lead out of a buffer.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/schema/KvPage.h"
#include <gtest/gtest.h>
#include <set>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using namespace mlir::exec;

namespace {

struct Case {
  std::string kind, keys;
  std::vector<int64_t> params;

  /// Returns the whole configuration, for a test's name.
  std::string config() const {
    std::string text = kind + "," + keys + ",of";
    for (int64_t param : params)
      text += "," + std::to_string(param);
    return text;
  }
};

const std::string attention =
    "q_heads = 4, kv_heads = 2, dk = 9, dv = 7, page = 4, entry_width = 32, "
    "v_offset = 18, dtype = bf16, slots = 3";
const std::string parts = ", split = 64, splits = 2, split_stride = 192";
const std::string append =
    "k_heads = 2, rotation = <dim = 4>, head_stride = 6, v_width = 5, k_offset "
    "= 1, "
    "v_offset = 13, entry_width = 19, page = 4, dtype = f32, slots = 3, "
    "positions = 8";

const std::string integers =
    "k_heads = 2, rotation = <dim = 4>, head_stride = 6, v_width = 6, k_offset "
    "= 0, v_offset = 12, entry_width = 40, cache_heads = 2, page = 4, "
    "dtype = i8, slots = 3, positions = 8";
const std::string ofIntegers =
    "q_heads = 4, kv_heads = 2, dk = 9, dv = 7, page = 4, entry_width = 48, "
    "v_offset = 18, cache_heads = 2, dtype = i8, slots = 3";
const std::string ofLatents =
    "q_heads = 4, kv_heads = 1, dk = 13, dv = 6, page = 4, entry_width = 24, "
    "dtype = i8, slots = 3";

/// At least one case of each kind. Each optional buffer occurs in some case.
const Case cases[] = {
    {"embed", "width = 21, vocab = 5, format = <bf16>", {3}},
    {"embed", "width = 21, vocab = 5, format = <bf16>, scale = 2.5 : f32", {3}},
    {"embed", "width = 70, vocab = 5, format = <int8, group = 64>", {3}},
    {"embed", "width = 70, vocab = 5, format = <int4, group = 32>", {3}},
    {"embed",
     "width = 330, vocab = 37, panels = true, format = <int6, group = 16, "
     "scales = f16x8>",
     {3}},
    {"embed",
     "width = 330, vocab = 37, panels = true, format = <int5, group = 32, "
     "scales = f16x6, offset = true>",
     {3}},
    {"mask_first", "width = 21", {3}},
    {"rms_norm",
     "width = 7, groups = 3, eps = 1.0e-6 : f32, x_stride = 25, y_stride = 22",
     {3}},
    {"linear",
     "k = 21, n = 37, format = <bf16>, norm = true, eps = 1.0e-6 : f32, "
     "bias = true, residual = true, x_stride = 23, y_stride = 40",
     {9}},
    {"linear", "k = 33, n = 74, format = <f32>, activation = swiglu", {2}},
    {"linear", "k = 33, n = 74, format = <f32>, activation = geglu_tanh", {2}},
    {"linear", "k = 70, n = 33, format = <int8, group = 64>", {17}},
    {"linear", "k = 70, n = 33, format = <int4, group = 32>", {5}},
    {"linear",
     "k = 70, n = 33, format = <int4, group = 32, scales = f16, offset = true>",
     {5}},
    {"linear",
     "k = 330, n = 33, format = <int5, group = 32, scales = f16x6, offset = "
     "true>",
     {3}},
    {"linear",
     "k = 330, n = 33, format = <int6, group = 16, scales = f16x8>",
     {9}},
    {"linear",
     "k = 330, n = 33, format = <e2m1, group = 32, scales = e8m0>",
     {9}},
    {"linear", "k = 70, n = 33, format = <nl4, group = 32, scales = f16>", {9}},
    {"embed",
     "width = 70, vocab = 37, panels = true, format = <e2m1, group = 16, "
     "scales = e4m3>",
     {3}},
    {"embed",
     "width = 70, vocab = 37, panels = true, format = <nl4, group = 32, "
     "scales = f16>",
     {3}},
    {"linear_argmax",
     "k = 21, n = 37, format = <bf16>, bias = true, logits = true, slots = 2",
     {3}},
    {"linear_argmax", "k = 64, n = 37, format = <f32>", {3}},
    {"gemm", "k = 32, n = 40, workspace = 64", {3}},
    {"unpack",
     "k = 64, n = 80, format = <bf16>, fragments = true, gated = true",
     {80}},
    {"linear",
     "k = 160, n = 40, format = <int4, group = 64>, fragments = true, "
     "prepared = true",
     {3}},
    {"linear_argmax",
     "k = 64, n = 40, format = <bf16>, fragments = true, prepared = true",
     {9}},
    {"prepare_rows",
     "k = 64, format = <bf16>, norm = true, eps = 1.0e-6 : f32, "
     "x_stride = 68",
     {3}},
    {"prepare_rows", "k = 160, format = <int8, group = 64>", {3}},
    {"round_rows",
     "width = 21, x_stride = 23, norm = true, eps = 1.0e-6 : f32",
     {3}},
    {"add_bias", "width = 21, x_stride = 23, y_stride = 25", {3}},
    {"head_linear",
     "heads = 3, k = 8, n = 5, format = <f32>, x_head_stride = 16, "
     "keep_width = 6, keep_offset = 9, rotation = <dim = 4, offset = 1>, "
     "y_head_stride = 12, positions = 7",
     {3}},
    {"head_linear",
     "heads = 2, k = 40, n = 33, format = <bf16>, x_offset = 3, "
     "x_stride = 100, y_offset = 2, y_stride = 70",
     {2}},
    {"rope",
     "heads = 2, rotation = <dim = 4, offset = 1>, head_stride = 7, copy_width "
     "= 6, "
     "x_stride = 20, positions = 9",
     {3}},
    {"kv_append",
     "width = 21, page = 8, entry_width = 50, entry_offset = 9, "
     "dtype = bf16, slots = 3",
     {5, 2}},
    {"kv_append",
     "width = 42, page = 8, entry_width = 96, cache_heads = 2, dtype = i8, "
     "slots = 3",
     {5, 2}},
    {"rope_kv_append", append, {5, 2}},
    {"rope_kv_append", integers, {5, 2}},
    {"rope_qkv_append", append + ", q_heads = 3", {5, 2}},
    {"attention", attention + ", scale = 0.3 : f32", {11, 3}},
    {"attention", attention + ", scale = 0.3 : f32, window = 5", {11, 3}},
    {"attention_tree", attention + ", scale = 0.3 : f32", {11, 3}},
    {"attention_tree", attention + ", scale = 0.3 : f32, window = 5", {9, 40}},
    {"attention", ofIntegers + ", scale = 0.3 : f32, window = 5", {11, 3}},
    {"attention", ofLatents + ", scale = 0.3 : f32", {11, 3}},
    {"attention_tree", ofIntegers + ", scale = 0.3 : f32", {11, 3}},
    {"attention_split_kv",
     attention + ", scale = 0.3 : f32, tasks_per_tile = 2" + parts,
     {11, 40}},
    {"attention_combine",
     "q_heads = 4, kv_heads = 2, dv = 7, dtype = bf16" + parts,
     {3}},
    {"moe_route",
     "experts = 8, top_k = 3, scoring = sigmoid, bias = true, "
     "n_group = 4, topk_group = 2",
     {3}},
    {"moe_plan", "experts = 5, top_k = 2", {4}},
    {"moe_gate_up",
     "experts = 3, k = 21, inter = 37, format = <bf16>, top_k = 2, "
     "x_stride = 23",
     {4}},
    {"moe_down",
     "experts = 3, k = 64, n = 37, format = <int8, group = 32>, top_k = 2",
     {4}},
    // One pair, so that no two rows have one place.
    {"moe_gate_up",
     "experts = 1, k = 21, inter = 37, format = <int4, group = 32>, "
     "top_k = 1",
     {1}},
    {"moe_down",
     "experts = 1, k = 64, n = 37, format = <bf16>, top_k = 1",
     {1}},
    {"moe_combine",
     "width = 21, top_k = 2, residual = true, shared = true",
     {3}},
    {"add", "width = 5, a_stride = 7, b_stride = 6, y_stride = 9", {3}},
    {"swiglu", "width = 21", {3}},
    {"geglu_tanh", "width = 21", {3}},
    {"silu", "width = 21, x_stride = 23, y_stride = 25", {3}},
    {"concat", "a_width = 5, b_width = 9, a_stride = 6, y_stride = 20", {3}},
    {"copy_cols",
     "width = 5, x_stride = 9, y_stride = 8, x_offset = 2, y_offset = 3",
     {3}},
    {"gather_rows", "width = 5, x_stride = 7", {6, 3}},
    {"pack_rows", "numbers = 2, masks = 1", {7, 4}},
    {"pack_rows", "", {3, 3}},
    {"pack_prompts", "numbers = 2, masks = 1", {7, 5, 7}},
    {"pack_prompts", "", {3, 9, 2}},
    {"unpack_rows", "width = 37", {6, 3}},
    {"unpack_rows", "width = 1, is_numbers = true", {6, 3}},
    {"argmax", "width = 37, x_stride = 40", {3}},
    {"argmax_parts", "parts = 5", {3}},
    {"mask_tokens", "width = 37", {3}},
    {"log_sum_exp", "width = 37, x_stride = 40", {3}},
    {"entropy", "width = 37, x_stride = 40", {3}},
    {"gather_columns", "width = 37, count = 3, x_stride = 40", {3, 3}},
    {"gather_columns", "width = 37, count = 3, packed = true", {3, 5}},
    {"top_k", "width = 37, k = 5, x_stride = 40", {3}},
    {"top_k", "width = 37, k = 5, summed = true", {3}},
    {"log_softmax", "width = 37, x_stride = 40", {3}},
    {"sample_keys", "width = 37, slots = 2", {3}},
    {"sample_keys",
     "width = 37, mapped = true, numbered = true, slots = 2",
     {3}},
    {"mask_columns",
     "width = 69, rows = 3, chosen = true, x_stride = 72, slots = 2",
     {3}},
    {"mask_columns", "width = 21, slots = 2", {3}},
    {"process_logits", "width = 37, slots = 2", {3}},
    {"process_logits", "width = 37, masks = 3, slots = 2", {3}},
    {"process_logits", "width = 37, vocab = 90, slots = 2", {3}},
    {"process_logits",
     "width = 37, parts = 2, nodes = 4, depth = 3, placed = true, masks = 5, "
     "slots = 2",
     {3}},
    {"probabilities", "width = 37, slots = 2", {6, 3}},
    {"probabilities", "width = 300, slots = 2", {1, 3}},
    {"sample_residual", "width = 37, less = true, chosen = true", {2, 7, 3}},
    {"sample_residual", "width = 37, chosen = true, packed = 3", {2, 7, 1}},
    {"sample_residual", "width = 300", {3, 3, 1}},
    {"sample", "vocab = 37, slots = 2", {3}},
    {"sample", "vocab = 40, parts = 3, mapped = true, slots = 2", {3}},
    {"sample_scan", "vocab = 16397, parts = 3, slots = 2", {2}},
    {"sample_scan", "vocab = 16388, parts = 3, mapped = true, slots = 2", {1}},
    {"sample_join", "vocab = 16388, parts = 3, slots = 2", {2}},
    {"sample_join", "vocab = 16397, parts = 3, mapped = true, slots = 2", {1}},
    {"read_state", "width = 9, rows = 4, slots = 5", {3, 4}},
    {"read_state", "width = 9, rows = 4, slots = 5", {3, 1}},
    {"write_state", "width = 9, rows = 4, slots = 5", {3, 2}},
    {"write_state_at", "width = 9, rows = 4, slots = 5", {3, 1, 7}},
    {"write_state_at", "width = 9, rows = 4, slots = 5", {3, 4, 2}},
    {"concat_rows", "width = 9", {3, 1, 4}},
    {"sigmoid", "width = 21, x_stride = 23, y_stride = 25", {3}},
    {"sigmoid_gate",
     "width = 21, gates = 3, x_stride = 22, gate_stride = 4, y_stride = 23",
     {3}},
    {"l2_norm",
     "width = 7, groups = 3, eps = 1.0e-6 : f32, x_stride = 22, y_stride = 23",
     {3}},
    {"decay", "width = 21, x_stride = 23, y_stride = 25", {3}},
    {"causal_conv",
     "width = 21, window = 4, kept = 3, slots = 2, x_stride = 23, "
     "y_stride = 25",
     {6}},
    {"delta_rule",
     "heads = 4, key_heads = 2, dk = 5, dv = 9, kept = 3, slots = 2, "
     "scale = 0.5 : f32, q_stride = 11, k_stride = 12, v_stride = 37, "
     "y_stride = 38",
     {6}},
    {"delta_rule",
     "heads = 4, key_heads = 2, dk = 5, dv = 9, kept = 3, slots = 2, "
     "scale = 0.5 : f32, decays = 5",
     {6}},
    {"kv_move",
     "page = 8, entry_width = 50, dtype = bf16, slots = 3",
     {3, 2, 5}},
    {"kv_move",
     "page = 4, entry_width = 42, cache_heads = 2, dtype = f32, "
     "slots = 3",
     {2, 3, 4}}};

/// Returns the words that fill all buffers except the page table.
std::vector<std::vector<uint32_t>> fillings() {
  std::mt19937 random(5);
  std::vector<uint32_t> any(97), small(89);
  for (uint32_t &word : any)
    word = random();
  for (uint32_t &word : small)
    word = random() % 9 - 2;
  return {{0},          {1},          {3},    {0xffffffff}, {0x7fffffff},
          {0x80000000}, {1u << 20},   any,    small,        {0, 0x7fffffff},
          {1, 2, 1, 2}, {0x40000000}, {5, 0}, {0xfffffff0}};
}

class ContractTest : public testing::Test {
protected:
  KernelContract contractOf(const Case &c) {
    KernelAttrInterface kernel = parseKernel(c.kind, c.keys, context);
    EXPECT_TRUE(kernel) << c.kind;
    auto contract = kernelContract(kernel);
    EXPECT_EQ(contract->error, "");
    return *contract;
  }
  void run(const Kernel &kernel, const Case &c,
           const std::vector<uint32_t> &words);

  mlir::MLIRContext context;
};

} // namespace

void ContractTest::run(const Kernel &kernel, const Case &c,
                       const std::vector<uint32_t> &words) {
  KernelContract contract = contractOf(c);
  std::vector<std::unique_ptr<Guarded<uint8_t>>> buffers;
  std::vector<void *> pointers;
  for (const BufferContract &buffer : contract.buffers) {
    int64_t bytes = *buffer.bytes.evaluate(c.params);
    if (buffer.entries) // Page 0 is the only page.
      bytes =
          mtp::pageStride(buffer.entries->page, buffer.entries->width,
                          buffer.entries->element.getIntOrFloatBitWidth() / 8);
    buffers.push_back(std::make_unique<Guarded<uint8_t>>(bytes));
    for (int64_t at = 0; at + 4 <= bytes; at += 4) {
      uint32_t word = buffer.isPageTable ? 0 : words[at / 4 % words.size()];
      std::memcpy(buffers.back()->data() + at, &word, 4);
    }
    pointers.push_back(buffers.back()->data());
  }
  kernel.run(pointers, c.params, Split::Random);
}

/// Returns true if a target has code for a case, and the simulator can run it
/// with arbitrary buffer contents. If numbers may send two rows to one place,
/// the simulator reports a race. The CPU leaves sampling to the runtime, and
/// has no kernels for fragments.
static bool runsOn(const TestTarget &target, const Case &c) {
  llvm::StringRef kind = c.kind;
  bool samples = kind.starts_with("sample");
  // A library has the kernel.
  if (kind == GemmKernelAttr::kKind)
    return false;
  bool isOfFragments = kind == "unpack" || kind == "prepare_rows" ||
                       llvm::StringRef(c.keys).contains("prepared");
  if (!target.isGpu)
    return !samples && !isOfFragments;
  if (llvm::StringRef(c.keys).contains("scales = "))
    return false;
  if (kind.starts_with("moe_"))
    return c.params[0] == 1;
  return samples || isOfFragments || kind == "pack_rows" ||
         kind.contains("linear") || kind.starts_with("attention");
}

namespace {
class ContractOf : public ContractTest,
                   public testing::WithParamInterface<Case> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Kernels, ContractOf, testing::ValuesIn(cases),
                         NamedByConfig());

TEST_P(ContractOf, HoldsWhateverBuffersHold) {
  const Case &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (!runsOn(target, c))
      continue;
    SCOPED_TRACE(name);
    Kernel kernel(target, c.kind, c.keys);
    for (const std::vector<uint32_t> &words : fillings())
      run(kernel, c, words);
  }
}

TEST_F(ContractTest, IsThereForEveryKind) {
  std::set<std::string> covered;
  for (const Case &c : cases) {
    covered.insert(c.kind);
    KernelContract contract = contractOf(c);
    ASSERT_EQ(contract.params.size(), c.params.size()) << c.kind;
    for (size_t i = 0; i < c.params.size(); ++i) {
      EXPECT_GE(c.params[i], contract.params[i].least) << c.kind;
      EXPECT_LE(c.params[i], contract.params[i].most) << c.kind;
    }
    EXPECT_TRUE(llvm::any_of(contract.buffers, [](const auto &b) {
      return b.isWritten;
    })) << c.kind;
  }
  for (llvm::StringRef kind : allKernelKinds())
    if (kind != ControlKernelAttr::kKind)
      EXPECT_TRUE(covered.count(kind.str())) << kind.str();
}

TEST_F(ContractTest, IsThereForEveryFormat) {
  for (const char *kind : {"linear", "embed"}) {
    std::set<WeightElements> covered;
    for (const Case &c : cases)
      if (c.kind == kind) {
        auto kernel = parseKernel(c.kind, c.keys, context);
        auto linear = mlir::dyn_cast<LinearKernelAttr>(kernel);
        covered.insert(linear ? linear.getFormat().getElements()
                              : mlir::cast<EmbedKernelAttr>(kernel)
                                    .getFormat()
                                    .getElements());
      }
    for (const mtp::WeightElementsInfo &info : mtp::kWeightFormats)
      if (info.isQuantized)
        EXPECT_TRUE(covered.count(WeightElements(info.elements)))
            << kind << " of " << std::string(info.name);
  }
}

// The runtime does not use MLIR, so the enumeration exists twice.
TEST(WeightElements, HaveOneNameInModulesAndFiles) {
  for (const mtp::WeightElementsInfo &info : mtp::kWeightFormats)
    EXPECT_EQ(stringifyWeightElements(WeightElements(info.elements)),
              llvm::StringRef(info.name));
  for (size_t i = 0; i < std::size(mtp::kWeightScales); ++i)
    EXPECT_EQ(stringifyWeightScales(WeightScales(i)),
              llvm::StringRef(mtp::kWeightScales[i]));
}

TEST_F(ContractTest, NamesWhatIsMissing) {
  auto error = [&](const std::string &kind, const std::string &config) {
    return kernelContract(parseKernel(kind, config, context))->error;
  };
  EXPECT_EQ(error("read_state", "width = 9, rows = 4"),
            "expected slots of at least 1 for kind 'read_state'");
  EXPECT_EQ(error("rope", "heads = 1, rotation = <dim = 4>"),
            "expected positions of at least 1 for kind 'rope'");
  EXPECT_EQ(error("kv_move", "page = 4, entry_width = 8, dtype = f32"),
            "expected slots of at least 1 for kind 'kv_move'");
  EXPECT_EQ(error("sample", "vocab = 9"),
            "expected slots of at least 1 for kind 'sample'");
  EXPECT_EQ(error("gather_rows", "width = 9223372036854775807"),
            "the bytes of buffer 0 do not fit 64 bits for kind 'gather_rows'");
  EXPECT_FALSE(kernelContract(BuiltinKernelAttr::get(&context, "mtp.sample")));
}

TEST(Extent, AddsAndMultiplies) {
  Extent b = Extent::param(0), k = Extent::param(1);
  Extent rows = b * (k + 1) - 2;
  EXPECT_EQ(rows.evaluate({3, 4}), 13);
  EXPECT_EQ((rows * 4 + b).evaluate({3, 4}), 55);
  EXPECT_EQ((k * b).terms().size(), 1u);
  EXPECT_EQ(Extent(0).evaluate({}), 0);
  EXPECT_EQ((b * k).evaluate({int64_t(1) << 40, int64_t(1) << 40}),
            std::nullopt);
  EXPECT_TRUE((Extent(INT64_MAX) * 2).hasOverflowed());
}
