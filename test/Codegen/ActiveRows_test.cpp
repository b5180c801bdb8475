//===- ActiveRows_test.cpp - Kernels with a number of active rows ---------===//
//
// A GPU kernel that takes the number of active rows leaves the same bytes in
// all buffers as a launch with that number of rows. Padding rows are neither
// computed nor read, and active rows have the same bits.
//
//===----------------------------------------------------------------------===//

#include "harness/GpuHarness.h"
#include "harness/Harness.h"

#include "dialects/Exec/IR/KernelContract.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/schema/KvPage.h"
#include <climits>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using namespace mlir::exec;

namespace {

struct Case {
  std::string kind, keys;
  std::vector<int64_t> params;
  /// Buffers of numbers 0, 1, 2, ..: no two rows have one place.
  std::vector<size_t> numbers = {};

  std::string config() const { return kind + "," + keys; }
};

const std::string cached = "page = 64, dtype = bf16, slots = 48, ";
const std::string attention =
    cached + "q_heads = 4, kv_heads = 2, dk = 64, dv = 64, entry_width = 256, "
             "v_offset = 128, cache_heads = 2, scale = 0.3 : f32";
const std::string lanes =
    cached + "q_heads = 4, kv_heads = 2, dk = 9, dv = 7, entry_width = 32, "
             "v_offset = 18, scale = 0.3 : f32";
const std::string append =
    "k_heads = 2, rotation = <dim = 4>, head_stride = 6, v_width = 5, "
    "k_offset = 1, v_offset = 13, entry_width = 19, page = 64, dtype = f32, "
    "slots = 48, positions = 64";
const std::string parts = ", split = 64, splits = 2, split_stride = 264";
const std::string fragments = ", fragments = true";

/// Every kind that may have padding rows, in each of its forms.
const Case cases[] = {
    {"embed", "width = 21, vocab = 50, format = <bf16>", {7}, {1}},
    {"mask_first", "width = 21", {7}, {0, 1}},
    {"rms_norm", "width = 7, groups = 3, eps = 1.0e-6 : f32", {7}},
    {"round_rows", "width = 1500", {7}},
    {"linear", "k = 40, n = 37, format = <bf16>, residual = true", {19}},
    {"linear", "k = 70, n = 33, format = <int8, group = 64>", {17}},
    {"linear",
     "k = 128, n = 48, format = <bf16>, norm = true, eps = 1.0e-6 : f32" +
         fragments,
     {72}},
    {"linear",
     "k = 128, n = 96, format = <bf16>, activation = swiglu, norm = true, "
     "eps = 1.0e-6 : f32" +
         fragments,
     {72}},
    {"linear",
     "k = 128, n = 96, format = <int4, group = 64>, activation = swiglu" +
         fragments,
     {40}},
    {"linear_argmax",
     "k = 64, n = 70, format = <bf16>, logits = true, slots = 48" + fragments,
     {40},
     {2}},
    {"linear_argmax", "k = 24, n = 37, format = <f32>", {11}},
    {"head_linear",
     "heads = 3, k = 8, n = 5, format = <f32>, x_head_stride = 16, "
     "keep_width = 6, keep_offset = 9, rotation = <dim = 4, offset = 1>, "
     "y_head_stride = 12, positions = 64",
     {11},
     {3}},
    {"head_linear",
     "heads = 2, k = 64, n = 32, format = <bf16>, x_head_stride = 96, "
     "keep_width = 16, keep_offset = 64, rotation = <dim = 16>, "
     "y_head_stride = 48, positions = 64" +
         fragments,
     {40},
     {3}},
    {"rope", "heads = 5, rotation = <dim = 4>, positions = 64", {7}, {2}},
    {"kv_append",
     "width = 21, page = 64, entry_width = 50, dtype = bf16, slots = 48",
     {9, 2},
     {1, 2}},
    {"rope_kv_append", append, {9, 2}, {2, 3}},
    {"rope_qkv_append", append + ", q_heads = 3", {9, 2}, {2, 3}},
    {"rope_kv_append",
     "k_heads = 2, rotation = <dim = 4>, head_stride = 6, v_width = 6, "
     "v_offset = 12, entry_width = 40, cache_heads = 2, page = 64, "
     "dtype = i8, slots = 48, positions = 64",
     {9, 2},
     {2, 3}},
    {"attention", lanes, {11, 1}, {2}},
    {"attention", attention, {11, 1}, {2}},
    {"attention", attention + ", split = 64", {5, 1}, {2}},
    {"attention_tree", attention, {11, 1}, {2, 5}},
    {"attention_tree", lanes, {11, 1}, {2, 5}},
    {"attention_split_kv",
     attention + ", tasks_per_tile = 2" + parts,
     {11, 1},
     {2}},
    {"attention_split_kv",
     lanes + ", tasks_per_tile = 2, split = 64, splits = 2, split_stride = 36",
     {11, 1},
     {2}},
    {"attention_combine",
     "q_heads = 4, kv_heads = 2, dv = 64, dtype = bf16" + parts,
     {7},
     {0}},
    {"moe_route", "experts = 8, top_k = 3, scoring = softmax", {7}},
    {"moe_plan", "experts = 5, top_k = 2", {9}, {0, 1}},
    {"moe_gate_up",
     "experts = 3, k = 64, inter = 40, format = <bf16>, top_k = 2" + fragments,
     {40},
     {2, 3}},
    {"moe_down",
     "experts = 3, k = 40, n = 37, format = <bf16>, top_k = 2",
     {9},
     {2, 3}},
    {"moe_combine", "width = 2100, top_k = 2, residual = true", {7}},
    {"add", "width = 1500", {7}},
    {"swiglu", "width = 21", {7}},
    {"geglu_tanh", "width = 21", {7}},
    {"concat", "a_width = 5, b_width = 9", {7}},
    {"gather_rows", "width = 5", {7, 40}, {1}},
    {"argmax", "width = 37", {7}},
    {"argmax_parts", "parts = 5", {7}},
    {"log_sum_exp", "width = 37", {7}},
    {"top_k", "width = 37, k = 5", {7}},
    {"sample", "vocab = 37, slots = 48", {7}, {1, 2}},
    {"sample_scan", "vocab = 16397, parts = 3, slots = 48", {4}, {3, 4}},
    {"sample_join", "vocab = 16397, parts = 3, slots = 48", {4}, {3, 4}}};

using Buffers = std::vector<std::unique_ptr<Guarded<uint8_t>>>;

class ActiveRowsOf : public testing::TestWithParam<Case> {
protected:
  Buffers makeBuffers() {
    const Case &c = GetParam();
    auto contract = kernelContract(parseKernel(c.kind, c.keys, context));
    EXPECT_EQ(contract->error, "");
    EXPECT_EQ(contract->params.size(), c.params.size());
    Buffers buffers;
    std::mt19937 random(3);
    for (auto [i, buffer] : llvm::enumerate(contract->buffers)) {
      size_t bytes = size_t(*buffer.bytes.evaluate(c.params));
      if (buffer.entries) // Page 0 is the only page.
        bytes = mtp::pageStride(
            buffer.entries->page, buffer.entries->width,
            buffer.entries->element.getIntOrFloatBitWidth() / 8);
      buffers.push_back(std::make_unique<Guarded<uint8_t>>(bytes));
      for (size_t at = 0; at + 4 <= bytes; at += 4) {
        // Two elements of bf16 around 1, and so one of f32.
        uint32_t word = (random() & 0x80ff80ff) | 0x3f003f00;
        if (buffer.isPageTable)
          word = 0;
        else if (llvm::is_contained(c.numbers, i))
          word = uint32_t(at / 4);
        std::memcpy(buffers.back()->data() + at, &word, 4);
      }
    }
    return buffers;
  }
  static std::vector<void *> pointersOf(const Buffers &buffers) {
    std::vector<void *> pointers;
    for (const auto &buffer : buffers)
      pointers.push_back(buffer->data());
    return pointers;
  }
  static void expectEqual(const Buffers &a, const Buffers &b) {
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(a[i]->values(), b[i]->values()) << "buffer " << i;
  }

  mlir::MLIRContext context;
};

} // namespace

static TestTarget simulator(bool takesActive) {
  TestTarget target;
  target.isGpu = true;
  target.takesActive = takesActive;
  return target;
}

TEST_P(ActiveRowsOf, AreAllThatIsComputed) {
  const Case &c = GetParam();
  Kernel plain(simulator(false), c.kind, c.keys);
  Kernel live(simulator(true), c.kind, c.keys);
  int32_t all = int32_t(c.params[0]);
  for (int32_t number : {-7, 0, 1, all / 2, all - 1, all, INT_MAX}) {
    SCOPED_TRACE(number);
    Buffers expected = makeBuffers(), got = makeBuffers();
    std::vector<int64_t> params = c.params;
    params[0] = std::clamp(number, 0, all);
    if (params[0] > 0)
      plain.run(pointersOf(expected), params);
    live.runActive(pointersOf(got), c.params, number);
    expectEqual(got, expected);
  }
  // Without a number all rows are active.
  Buffers expected = makeBuffers(), got = makeBuffers();
  plain.run(pointersOf(expected), c.params);
  live.run(pointersOf(got), c.params);
  expectEqual(got, expected);
}

/// Returns the registers that are copies of an argument, in the order of the
/// text.
static std::set<std::string> copiesOf(const std::string &ptx, int64_t index) {
  std::set<std::string> copies;
  std::string name = "_param_" + std::to_string(index) + "]";
  static const std::regex copy(
      R"(\s*(?:mov|cvta\.to\.global)\.\w+\s+(%\w+), (%\w+);)");
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.find(name) != std::string::npos)
      copies.insert(
          line.substr(line.find('%'), line.find(',') - line.find('%')));
    else if (std::regex_match(line, found, copy) && copies.count(found[2]))
      copies.insert(found[1]);
  }
  return copies;
}

// The number is loaded after the wait and weights before it. All blocks let the
// successor in, and the pointer costs no spills.
TEST_P(ActiveRowsOf, AreReadBehindTheWait) {
  const Case &c = GetParam();
  AssembledKernel kernel = assembleKernel(c.kind, c.keys, /*takesActive=*/true);
  int64_t buffers =
      kernelSignature(parseKernel(c.kind, c.keys, context)).buffers;
  std::set<std::string> number = copiesOf(kernel.ptx, buffers);
  ASSERT_FALSE(number.empty());
  // A product of several forms has a wait in each, and loads after it: before
  // the next form's wait there are two.
  size_t loads = 0, waits = 0, allWaits = 0;
  const std::string wait = "griddepcontrol.wait";
  for (size_t at = 0; (at = kernel.ptx.find(wait, at)) != std::string::npos;
       ++at)
    ++allWaits;
  std::istringstream lines(kernel.ptx);
  for (std::string line; std::getline(lines, line);) {
    waits += line.find(wait) != std::string::npos;
    if (line.find("ld.global") == std::string::npos)
      continue;
    size_t begin = line.find('[') + 1;
    if (!number.count(line.substr(begin, line.find(']') - begin)))
      continue;
    ++loads;
    EXPECT_GE(waits, std::min((loads + 1) / 2, allWaits)) << line;
  }
  EXPECT_GE(loads, allWaits);
  EXPECT_GE(allWaits, 1u);
  expectHalfOfProcessor(kernel);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ActiveRowsOf, testing::ValuesIn(cases),
                         NamedByConfig());
