//===- WholeModels_test.cpp - Kernels of whole models ---------------------===//
//
// Runs every kernel of the plans of Llama 1B and 8B and DeepSeek-V3 on the
// simulated GPU, with all inputs and a few outputs. Compares with the CPU's
// kernel or, if that takes long to compile, with sums in scalars.
// Inputs/whole_models.txt lists the kernels, and test/Target/cuda-configs.test
// checks that there are no others.
//
//===----------------------------------------------------------------------===//

#include "harness/WholeModelProblem.h"

#include <set>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Weights are rounded to bf16.
static constexpr double kRounding = 1.0 / 256;

static const std::vector<Role> attentionRoles{Role::Rows,      Role::Slots,
                                              Role::Positions, Role::Pages,
                                              Role::Cache,     Role::Values};
static const std::vector<int64_t> attentionParams{int64_t(slotOf.size()),
                                                  maxPages};

WHOLE_MODELS(AttentionOfModel, kernelsOfWholeModels("attention"));

TEST_P(AttentionOfModel, AgreesWithTheCpu) {
  expectAgreement(kernel, attentionRoles, {attentionParams},
                  size_t(kernel.number("dv")), kRounding);
}

WHOLE_MODELS(AttentionSplitKvOfModel,
             kernelsOfWholeModels("attention_split_kv"));

/// Returns true if `join` joins the parts of `parts`.
static bool isJoinOf(const ModelKernel &join, const ModelKernel &parts) {
  return join.number("dv") == parts.number("dv") &&
         join.number("split_stride") == parts.number("split_stride");
}

TEST_P(AttentionSplitKvOfModel, HaveTheBitsOfAttention) {
  std::vector<ModelKernel> joins = kernelsOfWholeModels("attention_combine");
  auto join = std::ranges::find_if(
      joins, [&](const ModelKernel &join) { return isJoinOf(join, kernel); });
  ASSERT_NE(join, joins.end());
  ModelKernel whole{
      "attention",
      kernel.without({"splits", "split_stride", "tasks_per_tile"}) +
          ", y_stride = " + join->values.at("y_stride"),
      kernel.values};
  std::vector<Buffer> want =
      Problem(whole, attentionRoles, attentionParams)
          .run(Kernel(gpu(), whole.kind, whole.keys), true);
  std::vector<Buffer> left =
      Problem(kernel, attentionRoles, attentionParams)
          .run(Kernel(gpu(), kernel.kind, kernel.keys), true);
  int64_t rows = attentionParams[0];
  Kernel joining(gpu(), join->kind, join->keys);
  Guarded<uint8_t> y(std::vector<uint8_t>(want.back()->size(), 0xff));
  joining.run({left[2]->data(), left.back()->data(), y.data()}, {rows});
  EXPECT_TRUE(y.values() == want.back()->values());
}

TEST(WholeModels, EveryJoinHasItsParts) {
  std::vector<ModelKernel> parts = kernelsOfWholeModels("attention_split_kv");
  std::vector<ModelKernel> joins = kernelsOfWholeModels("attention_combine");
  EXPECT_EQ(joins.size(), parts.size());
  for (const ModelKernel &join : joins)
    EXPECT_EQ(std::ranges::count_if(parts,
                                    [&](const ModelKernel &parts) {
                                      return isJoinOf(join, parts);
                                    }),
              1)
        << join.keys;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// A kind whose kernels are shared by CPU and GPU. Results have the CPU's bits,
/// except for sums over lanes.
struct RowKind {
  std::string kind;
  std::vector<Role> roles;
  std::vector<int64_t> params;
  double most = 0;
};
} // namespace

static std::vector<RowKind> rowKinds() {
  using enum Role;
  return {
      {"add", {Rows, Rows, Values}, {8}},
      {"concat", {Rows, Rows, Values}, {8}},
      {"embed", {Table, Indices, Values}, {8}},
      {"kv_append", {Rows, Slots, Positions, Pages, Entries}, {8, maxPages}},
      {"mask_first", {Rows, Positions, Values}, {8}},
      {"moe_combine", {Positions, Floats, Floats, Floats, Floats, Values}, {8}},
      {"moe_plan", {Positions, Indices, Numbers, Numbers}, {8}},
      {"moe_route", {Rows, Floats, Numbers, Values}, {8}, 1e-6},
      {"read_state", {Slots, Floats, Values}, {4, 3}},
      {"rms_norm", {Rows, Floats, Values}, {8}, 1e-6},
      {"rope", {Rows, Floats, Positions, Values}, {8}},
      {"rope_kv_append",
       {Rows, Rows, Floats, Positions, Slots, Positions, Pages, Entries},
       {8, maxPages}},
      {"rope_qkv_append",
       {Rows, Rows, Rows, Floats, Positions, Slots, Positions, Pages, Entries,
        Values},
       {8, maxPages}},
      {"round_rows", {Rows, State}, {8}},
      {"swiglu", {Rows, Rows, Values}, {8}},
      {"gather_rows", {Rows, Indices, Values}, {3, 8}},
      {"unpack_rows", {Rows, Indices, Values}, {3, 8}},
      {"write_state", {Rows, Slots, State}, {4, 3}},
      {"write_state_at", {Rows, Indices, Slots, State}, {4, 3, 8}},
  };
}

static std::vector<ModelKernel> rowsOfWholeModels() {
  std::vector<ModelKernel> kernels;
  for (const RowKind &row : rowKinds())
    std::ranges::copy(kernelsOfWholeModels(row.kind),
                      std::back_inserter(kernels));
  return kernels;
}

WHOLE_MODELS(RowsOfModel, rowsOfWholeModels());

TEST_P(RowsOfModel, AgreeWithTheCpu) {
  std::vector<RowKind> kinds = rowKinds();
  const RowKind &row = *std::ranges::find(kinds, kernel.kind, &RowKind::kind);
  std::vector<Role> roles = row.roles;
  if (kernel.has("norm", "true"))
    roles.insert(roles.begin() + 1, Role::NormWeights);
  expectAgreement(kernel, roles, {row.params}, 8, row.most);
}

TEST(WholeModels, HaveNoOtherKinds) {
  std::set<std::string> known{"attention", "attention_combine",
                              "attention_split_kv", "head_linear", "linear",
                              "linear_argmax", "moe_down", "moe_gate_up",
                              // Covered by tests other than the row tests.
                              "prepare_rows",
                              // In Sample_test.cpp.
                              "sample_join", "sample_scan", "unpack"};
  for (const RowKind &row : rowKinds())
    known.insert(row.kind);
  std::set<std::string_view> formats;
  for (const ModelKernel &kernel : kernelsOfWholeModels()) {
    EXPECT_TRUE(known.contains(kernel.kind)) << kernel.kind;
    if (kernel.kind == "linear")
      formats.insert(kernel.format().name());
  }
  EXPECT_EQ(formats,
            (std::set<std::string_view>{"bf16", "f32", "int4", "int8"}));
}
